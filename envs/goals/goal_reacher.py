"""Bring the tip of a planar arm with two joints to a goal.

Two links of equal length hang in a plane without gravity. A motor accelerates each joint, which friction slows down:

    d(speed)/dt = acceleration * action - damping * speed

One semi-implicit Euler step integrates the equation: an angle moves with the new speed. The sparse reward and its
threshold follow the reaching tasks of Gymnasium-Robotics; the dynamics are simpler, so that a step is a few operations.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.checks import require_one_of, require_ordered, require_positive
from funcenv.envs.goals.goal_reacher_scene import draw_goal_reacher
from funcenv.envs.trigonometry import sincos
from funcenv.func_env import reward_bounds
from funcenv.goals import GoalEnv
from funcenv.keyboard import motor_keys
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode, field

DT = 0.05  # time between steps [s]
LINK_LENGTH = 0.5  # length of each of the two links [m]
GOAL_RADIUS = 0.9  # radius of the disc of goals, as a part of the arm's reach


class GoalReacherState(PyTreeNode):
    """Angles and speeds of the joints, and the goal."""

    shoulder: Float[Array, ""]  # angle of the first link from the x axis, anticlockwise, not wrapped [rad]
    elbow: Float[Array, ""]  # angle of the second link from the first one [rad]
    shoulder_speed: Float[Array, ""]  # [rad/s]
    elbow_speed: Float[Array, ""]  # [rad/s]
    goal: Float[Array, "2"]  # place that the tip should reach [m]


class GoalReacher(GoalEnv[GoalReacherState]):
    """Goal Reacher.

    Observation: a dictionary of `achieved_goal`, float32 `[2]`, the place of the tip [m]; `desired_goal`, float32
        `[2]`, that of the goal [m]; and `observation`, float32 `[6]`: cosine and sine of the shoulder's angle, those of
        the elbow's, and their speeds [rad/s], which are at most `acceleration / damping`.

    Action: float32 `[2]`: accelerations of shoulder and elbow in `[-1, 1]`, in units of `acceleration`; values beyond
        are clipped.

    Reward: 0 if the tip is within `distance_threshold` of the goal after the step, and -1 otherwise. With
        `reward_type="dense"` it is minus the distance [m].

    Termination: never. `GoalReacher-v0` is truncated after 50 steps.

    Initial state: both angles are uniform in [-pi, pi), and the speeds are 0. The goal is uniform in a disc around the
        shoulder, whose radius is 0.9 times the arm's reach of 1 m.

    Raises:
        ValueError: an acceleration or a threshold that is not above 0, a damping outside of (0, 20], or another
            `reward_type`.

    >>> import funcenv, jax.numpy as jnp
    >>> env = GoalReacher(reward_type="dense")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, jnp.array([1.0, -1.0]), funcenv.key(1))
    >>> distance = jnp.linalg.norm(timestep.observation["achieved_goal"] - timestep.observation["desired_goal"])
    >>> bool(jnp.isclose(timestep.reward, -distance))
    True
    """

    acceleration: float = 8.0  # acceleration of a joint at full action [rad/s^2]
    damping: float = 2.0  # part of its speed that friction takes from a joint [1/s]
    distance_threshold: float = 0.05  # distance from the goal that counts as success [m]
    reward_type: str = field(pytree_node=False, default="sparse")  # "sparse" or "dense"

    differentiable = True
    action_names = ("shoulder", "elbow")
    render_fps = 20  # real time

    def __post_init__(self) -> None:
        require_positive(
            acceleration=self.acceleration, damping=self.damping, distance_threshold=self.distance_threshold
        )
        require_ordered("damping", self.damping, "1 / time step", 1 / DT)
        require_one_of("reward_type", self.reward_type, ("sparse", "dense"))

    def initial(self, key: jax.Array) -> GoalReacherState:
        """Return an arm at rest at random angles, and a random goal."""
        joint_key, goal_key = jax.random.split(key)
        shoulder, elbow = jax.random.uniform(joint_key, (2,), float, -math.pi, math.pi)
        turn, area = jax.random.uniform(goal_key, (2,), float)
        radius = GOAL_RADIUS * 2 * LINK_LENGTH * jnp.sqrt(area)
        sin, cos = sincos(2 * math.pi * turn)
        rest = jnp.zeros((), float)
        return GoalReacherState(shoulder, elbow, rest, rest, goal=radius * jnp.stack([cos, sin]))

    def transition(self, state: GoalReacherState, action: Float[Array, "2"], key: jax.Array) -> GoalReacherState:
        """Accelerate the joints for one semi-implicit Euler step."""
        del key
        push = jnp.clip(action.astype(state.shoulder.dtype), -1.0, 1.0)
        shoulder_speed = self._next_speed(state.shoulder_speed, push[0])
        elbow_speed = self._next_speed(state.elbow_speed, push[1])
        return GoalReacherState(
            shoulder=state.shoulder + DT * shoulder_speed,
            elbow=state.elbow + DT * elbow_speed,
            shoulder_speed=shoulder_speed,
            elbow_speed=elbow_speed,
            goal=state.goal,
        )

    def view(self, state: GoalReacherState, key: jax.Array) -> Float[Array, "6"]:
        """Return the directions and the speeds of the joints."""
        del key
        sin, cos = sincos(state.shoulder)
        elbow_sin, elbow_cos = sincos(state.elbow)
        seen = cos, sin, elbow_cos, elbow_sin, state.shoulder_speed, state.elbow_speed
        return jnp.stack(seen).astype(jnp.float32)

    def achieved_goal(self, state: GoalReacherState) -> Float[Array, "2"]:
        """Return the place of the tip."""
        sin, cos = sincos(state.shoulder)
        tip_sin, tip_cos = sincos(state.shoulder + state.elbow)
        return (LINK_LENGTH * jnp.stack([cos + tip_cos, sin + tip_sin])).astype(jnp.float32)

    def desired_goal(self, state: GoalReacherState) -> Float[Array, "2"]:
        """Return the place of the goal."""
        return state.goal.astype(jnp.float32)

    def is_success(self, achieved_goal: jax.Array, desired_goal: jax.Array) -> Bool[Array, "*batch"]:
        """Return whether the tip is within `distance_threshold` of the goal."""
        squared = _squared_distance(achieved_goal, desired_goal)
        return squared <= jnp.square(jnp.asarray(self.distance_threshold, squared.dtype))

    def compute_reward(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Float[Array, "*batch"]:
        """Return 0 for success and -1 otherwise, or minus the distance."""
        if self.reward_type == "sparse":
            return super().compute_reward(achieved_goal, desired_goal, info)
        squared = _squared_distance(achieved_goal, desired_goal)
        return -jnp.sqrt(jnp.maximum(squared, 1e-12)).astype(float)  # the root has no derivative at 0

    @property
    def goal_space(self) -> Box:
        """The square around the places that the tip can reach."""
        return Box(-2 * LINK_LENGTH, 2 * LINK_LENGTH, (2,))

    @property
    def view_space(self) -> Box:
        """Cosines and sines, and the range of the speeds."""
        speed = self.acceleration / self.damping
        return Box([-1.0] * 4 + [-speed] * 2, [1.0] * 4 + [speed] * 2)

    @property
    def action_space(self) -> Box:
        """The accelerations, in units of the greatest."""
        return Box(-1.0, 1.0, (2,))

    @property
    def reward_range(self) -> tuple[float, float]:
        """-1 and 0, or minus the greatest distance and 0."""
        return (-1.0, 0.0) if self.reward_type == "sparse" else reward_bounds(-2 * LINK_LENGTH * (1 + GOAL_RADIUS), 0.0)

    def scene(self, state: GoalReacherState) -> Scene:
        """Draw the arm, and the goal with its threshold."""
        success = self.is_success(self.achieved_goal(state), self.desired_goal(state))
        return draw_goal_reacher(state.shoulder, state.elbow, LINK_LENGTH, state.goal, self.distance_threshold, success)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return keys for full acceleration of one joint each."""
        return motor_keys(self.action_space.low, self.action_space.high)

    def _next_speed(self, speed: Float[Array, ""], push: Float[Array, ""]) -> Float[Array, ""]:
        return speed + DT * (self.acceleration * push - self.damping * speed)


def _squared_distance(achieved_goal: jax.Array, desired_goal: jax.Array) -> Float[Array, "*batch"]:
    return jnp.square(jnp.asarray(achieved_goal) - desired_goal).sum(-1)

"""Drive a car out of a valley with an engine too weak to climb the hill at once.

Moore, "Efficient memory-based learning for robot control", PhD thesis, University of Cambridge, 1990, in the form of
Sutton's code. The height of the track is proportional to sin 3x; with a the action,

    velocity' = velocity + (a - 1) force - gravity cos 3x
    position' = position + velocity'

both clipped to their ranges. The car stops dead at the left end of the track. Parameters, thresholds and rewards are
Gymnasium 1.4.0's `MountainCar-v0`. Its text says that the right end stops the car, too; its code, followed here, holds
the position there and lets the velocity be, which only a `goal_velocity` above 0 can make visible.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_finite, require_ordered, require_positive
from funcenv.envs.classic_control.mountain_car_scene import mountain_car_scene
from funcenv.envs.trigonometry import sincos
from funcenv.func_env import FuncEnv
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode


class MountainCarState(PyTreeNode):
    """Where the car is, and how fast it moves."""

    position: Float[Array, ""]  # along the track, to the right; the valley's floor is at -pi/6 [m]
    velocity: Float[Array, ""]  # [m/step]


class MountainCar(FuncEnv[MountainCarState, Int[Array, ""], Float[Array, "2"]]):
    """MountainCar.

    Observation: float32 `[2]`: position [m] in `[min_position, max_position]`, velocity [m/step] in `[-max_speed,
        max_speed]`. A wider initial range may start outside of them.

    Action: 0 pushes left, 1 not at all, 2 pushes right. Less than 0 acts as 0, more than 2 as 2.

    Reward: -1 for every step, the one that ends the episode included.

    Termination: `position >= goal_position` and `velocity >= goal_velocity`. `MountainCar-v0` is truncated after 200
        steps.

    Initial state: position uniform in `[low, high)`, velocity 0.

    Raises:
        ValueError: `min_position > max_position`, `low > high`, or a `max_speed` or `hill_frequency` that is not above
            0.

    >>> import funcenv
    >>> env = MountainCar(goal_velocity=0.02)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 2, funcenv.key(1))
    >>> timestep.observation.shape, float(timestep.reward)
    ((2,), -1.0)
    """

    min_position: float = -1.2  # left end of the track [m]
    max_position: float = 0.6  # right end of the track [m]
    max_speed: float = 0.07  # [m/step]
    goal_position: float = 0.5  # [m]
    goal_velocity: float = 0.0  # least velocity at the goal [m/step]
    force: float = 0.001  # what a push adds to the velocity [m/step^2]
    gravity: float = 0.0025  # what the steepest slope adds to the velocity [m/step^2]
    hill_frequency: float = 3.0  # of the sine that the track follows [rad/m]
    low: float = -0.6  # bounds of the initial position [m]
    high: float = -0.4

    def __post_init__(self) -> None:
        require_ordered("min_position", self.min_position, "max_position", self.max_position)
        require_positive(max_speed=self.max_speed, hill_frequency=self.hill_frequency)
        require_finite(
            force=self.force,
            gravity=self.gravity,
            goal_position=self.goal_position,
            goal_velocity=self.goal_velocity,
            min_position=self.min_position,
            max_position=self.max_position,
            low=self.low,
            high=self.high,
        )
        require_ordered("low", self.low, "high", self.high)

    @property
    def differentiable(self) -> bool:
        """Gradients of a step are finite."""
        return True

    def initial(self, key: jax.Array) -> MountainCarState:
        """At rest near the valley's floor."""
        position = jax.random.uniform(key, (), float, self.low, self.high)
        return MountainCarState(position=position, velocity=jnp.zeros((), float))

    def transition(self, state: MountainCarState, action: Int[Array, ""], key: jax.Array) -> MountainCarState:
        """One push, up or down the slope."""
        del key
        direction = jnp.clip(action, 0, 2).astype(float) - 1
        slope = sincos(self.hill_frequency * state.position)[1]
        velocity = state.velocity + (direction * self.force - slope * self.gravity)
        velocity = jnp.clip(velocity, -self.max_speed, self.max_speed)
        position = jnp.clip(state.position + velocity, self.min_position, self.max_position)
        stopped = (position == self.min_position) & (velocity < 0)
        return MountainCarState(position=position, velocity=jnp.where(stopped, 0, velocity))

    def observation(self, state: MountainCarState, key: jax.Array) -> Float[Array, "2"]:
        """The state."""
        del key
        return jnp.stack([state.position, state.velocity]).astype(jnp.float32)

    def reward(self, state: MountainCarState, action: Int[Array, ""], next_state: MountainCarState) -> Float[Array, ""]:
        """-1 a step."""
        del state, action, next_state
        return -jnp.ones((), float)

    def terminal(self, state: MountainCarState) -> Bool[Array, ""]:
        """The car is at the flag, and fast enough."""
        return (state.position >= self.goal_position) & (state.velocity >= self.goal_velocity)

    @property
    def observation_space(self) -> Box:
        """The track and the speed limit."""
        return Box([self.min_position, -self.max_speed], [self.max_position, self.max_speed])

    @property
    def action_space(self) -> Discrete:
        """Left, nothing or right."""
        return Discrete(3)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Always -1."""
        return -1.0, -1.0

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Left and right arrow; the car rolls without."""
        return {(): 1, ("left",): 0, ("right",): 2}

    def scene(self, state: MountainCarState) -> Scene:
        """The car on the hill, and the flag at the goal."""
        track = self.min_position, self.max_position
        return mountain_car_scene(state.position, track, self.goal_position, self.hill_frequency)

"""Bring the fingertips of an anthropomorphic hand to their goals.

Plappert et al., "Multi-Goal Reinforcement Learning: Challenging Robotics Environments and Request for Research", 2018.
The model and the rules are those of Gymnasium-Robotics 1.4.2's `HandReach` (v3).
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.mujoco.mjcf import compile_mjcf
from funcenv.envs.mujoco.model import CompiledModel, import_mujoco, without_warnings
from funcenv.envs.mujoco.mujoco_env import exact
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start, TaskState
from funcenv.envs.robotics.assets import assets_folder
from funcenv.envs.robotics.goal_task import PlaceTask
from funcenv.envs.robotics.hand_scene import draw_hand
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import NDArray, field

TIPS = tuple(f"robot0:S_{finger}tip" for finger in ("ff", "mf", "rf", "lf", "th"))  # the last is the thumb's
PALM, THUMB = "robot0:palm", 4
MEETING = (0.0, -0.09, 0.05)  # where thumb and finger meet, from the palm [m]
MEETING_DEVIATION = 0.005  # standard deviation of the meeting place, along each axis [m]
GAP = 0.005  # distance of thumb and finger from the meeting place [m]
REST_PROBABILITY = 0.1  # of a goal that is the first pose
# The angles at the start, by the names of the joints without "robot0:" [rad]
FIRST_ANGLES = {
    "WRJ1": -0.16514339750464327,
    "WRJ0": -0.31973286565062153,
    "FFJ3": 0.14340512546557435,
    "FFJ2": 0.32028208333591573,
    "FFJ1": 0.7126053607727917,
    "FFJ0": 0.6705281001412586,
    "MFJ3": 0.000246444303701037,
    "MFJ2": 0.3152655251085491,
    "MFJ1": 0.7659800313729842,
    "MFJ0": 0.7323156897425923,
    "RFJ3": 0.00038520700007378114,
    "RFJ2": 0.36743546201985233,
    "RFJ1": 0.7119514095008576,
    "RFJ0": 0.6699446327514138,
    "LFJ4": 0.0525442258033891,
    "LFJ3": -0.13615534724474673,
    "LFJ2": 0.39872030433433003,
    "LFJ1": 0.7415570009679252,
    "LFJ0": 0.704096378652974,
    "THJ4": 0.003673823825070126,
    "THJ3": 0.5506291436028695,
    "THJ2": -0.014515151997119306,
    "THJ1": -0.0015229223564485414,
    "THJ0": -0.7894883021600622,
}


class HandReach(PlaceTask):
    """Hand Reach.

    Observation: a dictionary of `achieved_goal`, float32 `[15]`, the places of the tips of forefinger, middle finger,
        ring finger, little finger and thumb [m]; `desired_goal`, float32 `[15]`, where they should be [m]; and
        `observation`, float32 `[63]`: the angles of the joints `[24]` [rad], their velocities `[24]` [rad/s], and the
        places of the tips `[15]` [m]. With `jax_enable_x64` they are float64, bit for bit Gymnasium-Robotics'.

    Action: float32 `[20]`: the angles that the motors aim at, in `[-1, 1]` for the range of each joint. Values beyond
        are clipped. The last joint of each finger but the thumb has no motor; a tendon couples it to the joint before.

    Reward: 0 if the distance of all tips from their goals, as one vector of 15 numbers, is at most
        `distance_threshold` after the step, and -1 otherwise. With `reward_type="dense"` it is minus the distance [m].

    Termination: never, unless the simulation diverges. The ids are truncated after 50 steps.

    Initial state: always the same pose, at rest. One finger, each with the same probability, and the thumb should meet
        above the palm, at a place with a normal deviation of 5 mm along each axis, while the others stay. With
        probability 0.1 all tips should stay.

    The package's `relative_control` is not offered: it stops there with an error.

    Raises:
        ImportError: MuJoCo or Gymnasium-Robotics is not installed.
        ValueError: a threshold that is not above 0, or another `reward_type`.

    >>> env = HandReach()
    >>> env.observation_space["observation"].shape, env.action_space.shape
    ((63,), (20,))
    """

    frame_skip: int = field(pytree_node=False, default=20)
    distance_threshold: float = field(default=0.01, kw_only=True)  # distance from the goal that counts as success [m]

    mjx_fault: ClassVar = "MJX has no margins for contacts of boxes and meshes"
    goal_size: ClassVar = 3 * len(TIPS)
    num_seen: ClassVar = 2 * len(FIRST_ANGLES) + 3 * len(TIPS)
    targets: ClassVar = tuple(f"target{number}" for number in range(len(TIPS)))
    reads: ClassVar = ("xpos", "site_xpos")

    def own_model(self) -> CompiledModel:
        """Return the package's model."""
        return _model()

    def start(self, key: jax.Array) -> Start:
        """Return the first pose and a goal."""
        qpos, tips, palm = _first_pose()
        finger_key, place_key, rest_key = jax.random.split(key, 3)
        finger = jax.random.randint(finger_key, (), 0, THUMB)
        noise = MEETING_DEVIATION * jax.random.normal(place_key, (3,), float)
        meeting = jnp.asarray(palm + np.array(MEETING), float) + noise
        way = meeting[None] - jnp.asarray(tips, float)
        near = meeting[None] - GAP * way / jnp.sqrt(jnp.square(way).sum(1, keepdims=True))
        number = jnp.arange(len(TIPS))
        meets = ((number == finger) | (number == THUMB)) & ~jax.random.bernoulli(rest_key, REST_PROBABILITY)
        goal = jnp.where(meets[:, None], near, jnp.asarray(tips, float)).reshape(-1)
        return Start(qpos=jnp.asarray(qpos, float), variables=goal)

    def control(self, state: TaskState, action: Float[Array, "20"]) -> dict[str, Any]:
        """Return the angles that the motors aim at."""
        del state
        limits, (low, high) = self.action_space, self.model.mjmodel.actuator_ctrlrange.T
        action = jnp.clip(jnp.asarray(action, jnp.float32), limits.low, limits.high).astype(float)
        middle, half = (jnp.asarray(numbers, float) for numbers in ((high + low) / 2, (high - low) / 2))
        return {"ctrl": jnp.clip(middle + exact(action * half), jnp.asarray(low, float), jnp.asarray(high, float))}

    def seen(self, state: TaskState) -> Float[Array, "63"]:
        """Return the angles and velocities of the joints, and the places of the tips."""
        return jnp.concatenate([state.qpos, state.qvel, self.achieved_goal(state)])

    def achieved_goal(self, state: TaskState) -> Float[Array, "15"]:
        """Return the places of the tips."""
        data = self.data(state)
        return jnp.concatenate([data.site(name).xpos for name in TIPS])

    @property
    def action_space(self) -> Box:
        """The ranges of the motors, as -1 to 1."""
        return Box(-1.0, 1.0, (self.model.mjmodel.nu,))

    @property
    def action_names(self) -> tuple[str, ...]:
        """The joints with motors."""
        mjmodel = self.model.mjmodel
        return tuple(mjmodel.actuator(number).name.removeprefix("robot0:A_") for number in range(mjmodel.nu))

    @property
    def scene_view(self) -> View:
        """A view of the palm and the fingers, from the package's side."""
        return View(0.34, 0.255, (1.0, 0.9, 0.14), azimuth=55.0, elevation=-40.0)

    @property
    def camera_config(self) -> tuple[tuple[str, Any], ...]:
        """The package's camera."""
        return (("distance", 0.5), ("azimuth", 55.0), ("elevation", -25.0), ("lookat", (1.0, 0.96, 0.14)))

    def scene(self, state: TaskState) -> Scene:
        """Draw the hand and the goals of its tips."""
        tips, goals = (goal.reshape(-1, 3) for goal in (self.achieved_goal(state), self.desired_goal(state)))
        return draw_hand(self.model.mjmodel, self.data(state), tips, goals, self.scene_view)


@functools.cache
def _model() -> CompiledModel:
    with without_warnings():
        return compile_mjcf(assets_folder() / "hand/reach.xml")


@functools.cache
def _first_pose() -> tuple[NDArray, NDArray, NDArray]:
    """Return the positions of the joints, and the places of the tips and of the palm in that pose."""
    mujoco, mjmodel = import_mujoco(), _model().mjmodel
    data = mujoco.MjData(mjmodel)
    for name, angle in FIRST_ANGLES.items():
        data.joint(f"robot0:{name}").qpos[:] = angle
    mujoco.mj_forward(mjmodel, data)
    tips = np.stack([data.site(name).xpos for name in TIPS])
    return data.qpos.copy(), tips, data.body(PALM).xpos.copy()

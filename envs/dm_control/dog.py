"""Make a dog stand, walk, trot, or run.

The model and the rules are those of dm_control 1.0.50's domain `dog`.
"""

from __future__ import annotations

import functools
import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.assets import compile_model, hinges, named, read_model, remove
from funcenv.envs.dm_control.draws import between, normal, turn_about_z
from funcenv.envs.dm_control.suite_task import ZX, ZY, ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.model import CompiledModel, import_mujoco
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

SPEEDS = {"stand": 0.0, "walk": 1.0, "trot": 3.0, "run": 9.0}  # speeds from which the reward is 1 [m/s]
TIME_LIMIT = 15.0  # length of an episode [s], which the floor is made for
FETCH_FLOOR = 10.0  # half of the width of the floor of the task fetch [m]
STAND_FRACTION = 0.9  # part of the height in the model's own pose from which the dog stands
UPRIGHT_COSINE = math.cos(math.radians(30))  # cosine of the angle up to which a body is upright
_BODIES = ("skull", "torso", "pelvis")
_WALLS = ("wall_px", "wall_nx", "wall_py", "wall_ny")
_ROWS = np.array([ZX, ZY, ZZ], np.int32)


class SuiteDog(SuiteTask):
    """Dog of dm_control's suite.

    Observation: a dict of `joint_angles`, float32 `[73]` [rad]; `joint_velocites`, which is dm_control's spelling,
        float32 `[73]` [rad/s]; `torso_pelvis_height`, float32 `[2]` [m]; `z_projection`, float32 `[9]`: the vertical in
        the frames of skull, torso and pelvis; `torso_com_velocity`, float32 `[3]`: the velocity of the centre of mass
        in the frame of the torso [m/s]; `inertial_sensors`, float32 `[9]`: acceleration [m/s^2], velocity [m/s] and
        rotation [rad/s] of the torso; `foot_forces`, float32 `[12]`: forces at left and right foot, and left and right
        hand [N]; `touch_sensors`, float32 `[4]`: pressures at left and right palm and sole [N]; and `actuator_state`,
        float32 `[38]`. With `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64,
        bit for bit dm_control's but for the last bit of `torso_com_velocity`.

    Action: float32 `[38]`: controls of the actuators in `[-1, 1]`, which follow them with a time constant of 0.05 s.
        MuJoCo clips what lies outside.

    Reward: the product of factors from 0 to 1 for the heights of torso and pelvis, for an upright skull, torso and
        pelvis, and for the weight on the feet. In the tasks `walk`, `trot` and `run` times a factor from 1/5 to 1 for
        the speed forward, which is 1 from 1, 3 or 9 m/s to twice as much.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the model's own pose, turned about the vertical at random. Horizontal velocities and the rotation
        about the vertical are normal with deviation 2 m/s and 2 rad/s; activations are uniform within [-1, 1].

    >>> SuiteDog(task="run").observation_space["joint_angles"].shape
    (73,)
    """

    frame_skip: int = field(pytree_node=False, default=3)
    task: str = field(pytree_node=False, default="stand")

    tasks: ClassVar[tuple[str, ...]] = ("stand", "walk", "trot", "run")
    reads: ClassVar[tuple[str, ...]] = ("act", "sensordata", "xmat", "xpos")
    view: ClassVar = View(1.8, 1.35, (0.0, 0.0, 0.4), azimuth=60.0, elevation=-15.0, follow=(0, 1), grid=0.5)

    def own_model(self) -> CompiledModel:
        """Return the model of the task."""
        return dog_model(self.task)

    def start(self, key: jax.Array) -> Start:
        """Return any turn, velocity and activations."""
        turn_key, velocity_key, activation_key = jax.random.split(key, 3)
        qpos = self.init_qpos.at[3:7].set(turn_about_z(turn_key))
        pushed = np.array([0, 1, 5], np.int32)
        qvel = jnp.zeros(self.model.mjmodel.nv, float).at[pushed].set(normal(velocity_key, 2.0, (3,)))
        return Start(qpos=qpos, qvel=qvel, act=between(activation_key, *self.model.mjmodel.actuator_ctrlrange.T))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the dog feels of itself."""
        positions, velocities = hinges(self.source)
        heights = [data.body(name).xpos[2] for name in ("torso", "pelvis")]
        return {
            "joint_angles": data.qpos[positions],
            "joint_velocites": data.qvel[velocities],
            "torso_pelvis_height": jnp.stack(heights),
            "z_projection": jnp.concatenate([data.body(name).xmat[_ROWS] for name in _BODIES]),
            "torso_com_velocity": self.torso_velocity(data),
            "inertial_sensors": _read(data, "accelerometer", "velocimeter", "gyro"),
            "foot_forces": _read(data, "foot_L", "foot_R", "hand_L", "hand_R"),
            "touch_sensors": _touch(data),
            "actuator_state": data.act,
        }

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the product of the factors."""
        del action
        standing, speed = self.standing(data), SPEEDS[self.task]
        if speed == 0:
            return standing
        margin = max(1.0, speed)
        forward = tolerance(self.torso_velocity(data)[0], (speed, 2 * speed), margin, "linear", value_at_margin=0.0)
        return standing * ((4 * forward + 1) / 5)

    def standing(self, data: NamedData) -> Float[Array, ""]:
        """Return the product of the factors for heights, upright bodies, and weight on the feet."""
        numbers = _numbers(self.source)
        factors = [
            tolerance(data.body(name).xpos[2], (height, math.inf), margin=height)
            for name, height in zip(("torso", "pelvis"), numbers.heights, strict=True)
        ]
        cosines = jnp.stack([data.body(name).xmat[ZZ] for name in _BODIES])
        bounds, margin = (UPRIGHT_COSINE, math.inf), UPRIGHT_COSINE + 1
        upright = tolerance(cosines, bounds, margin, "linear", value_at_margin=0.0)
        weight = numbers.weight
        touch = tolerance(jnp.sum(_touch(data)), (weight, math.inf), weight, "linear", value_at_margin=0.9)
        return factors[0] * factors[1] * jnp.prod(upright) * touch

    def torso_velocity(self, data: NamedData) -> Float[Array, "3"]:
        """Return the velocity of the centre of mass, in the frame of the torso [m/s]."""
        return data.sensor("torso_linvel").data @ data.body("torso").xmat.reshape(3, 3)


def _read(data: NamedData, *sensors: str) -> jax.Array:
    """Return the numbers of sensors in this order."""
    return jnp.concatenate([data.sensor(name).data for name in sensors])


def _touch(data: NamedData) -> Float[Array, "4"]:
    return _read(data, "palm_L", "palm_R", "sole_L", "sole_R")


class _Numbers(NamedTuple):
    """Constants of the rewards."""

    heights: tuple[float, float]  # heights of torso and pelvis from which the dog stands [m]
    weight: float  # weight of the dog [N]


@functools.cache
def _numbers(source: CompiledModel) -> _Numbers:
    mujoco, mjmodel = import_mujoco(), source.mjmodel
    data = mujoco.MjData(mjmodel)
    mujoco.mj_kinematics(mjmodel, data)
    torso, pelvis = (float(data.body(name).xpos[2]) * STAND_FRACTION for name in ("torso", "pelvis"))
    weight = float(-mjmodel.opt.gravity[2] * mjmodel.body("torso").subtreemass[0])
    return _Numbers((torso, pelvis), weight)


@functools.cache
def dog_model(task: str) -> CompiledModel:
    """Return the model of a task, without what belongs to other tasks."""
    tree = read_model("dog.xml")
    size = FETCH_FLOOR if task == "fetch" else max(SPEEDS[task], 1.0) * TIME_LIMIT
    named(tree, "geom", "floor")[0].set("size", f"{size} {size} .1")
    unused = [("body", "ball"), ("geom", "target"), ("camera", "ball"), ("camera", "head")]
    for tag, name in [] if task == "fetch" else unused + [("geom", wall) for wall in _WALLS]:
        remove(tree, tag, name)
    return compile_model(tree, f"dm_control's dog of the task {task}", folder="dog_assets")

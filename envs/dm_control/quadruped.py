"""Make a robot with four legs walk, run, or fetch a ball.

The model and the rules are those of dm_control 1.0.50's domain `quadruped`.
"""

from __future__ import annotations

import functools
import math
import xml.etree.ElementTree as ElementTree
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.assets import compile_model, hinges, named, read_model, remove
from funcenv.envs.dm_control.draws import between, direction, normal, turn_about_z
from funcenv.envs.dm_control.suite_task import ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.model import CompiledModel, import_mujoco
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import NDArray, field

SPEEDS = {"walk": 0.5, "run": 5.0}  # speeds whose reward is 1 [m/s]
TIME_LIMIT = 20.0  # length of an episode [s], which the floor is made for
ESCAPE_FLOOR = 40.0  # half of the width of the floor of the task escape [m]
SKY_WIDTH = 64  # width of the texture of the sky in the task escape [pixels]
HEIGHT_STEP = 0.01  # step of the search for a height without contacts [m]
_WALLS = ("wall_px", "wall_py", "wall_nx", "wall_ny")


class SuiteQuadruped(SuiteTask):
    """Quadruped of dm_control's suite.

    Observation: a dict of `egocentric_state`, float32 `[44]`: angles `[16]` [rad] and velocities `[16]` [rad/s] of the
        joints, and activations of the actuators `[12]`; `torso_velocity`, float32 `[3]`: in its own frame [m/s];
        `torso_upright`, float32 `[]`: the cosine of its angle from upright; `imu`, float32 `[6]`: acceleration [m/s^2]
        and rotation [rad/s] of the torso; and `force_torque`, float32 `[24]`: arcsinh of forces [N] and torques [N m]
        at the toes. In the task `fetch` also `ball_state`, float32 `[9]`: place [m], velocity [m/s] and rotation
        [rad/s] of the ball, in the frame of the torso; and `target_position`, float32 `[3]` [m]. With
        `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit for bit
        dm_control's but for the last bits of forces, ball and target.

    Action: float32 `[12]`: where the actuators pull yaw, lift and extension of each leg, in `[-1, 1]`. MuJoCo clips
        what lies outside.

    Reward: a factor from 0 to 1 for an upright torso, times a factor for the speed forward, 1 from 0.5 m/s (`walk`) or
        5 m/s (`run`) on; or times factors for being near the ball, and for a ball near the target (`fetch`).

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the robot is turned at random, at the lowest height where nothing touches, in steps of 1 cm from 0.
        In the task `fetch` it is turned about the vertical, and it and the ball are anywhere on the floor; the ball
        falls from 2 m, with horizontal velocities of deviation 5 m/s.

    >>> SuiteQuadruped(task="run").observation_space["imu"].shape
    (6,)
    """

    frame_skip: int = field(pytree_node=False, default=4)
    task: str = field(pytree_node=False, default="walk")

    tasks: ClassVar[tuple[str, ...]] = ("walk", "run", "fetch")
    reads: ClassVar = ("act", "sensordata", "site_xpos", "xmat", "xpos")
    is_contact_free: ClassVar = True
    num_starts: ClassVar = 300  # heights, up to 3 m
    view: ClassVar = View(4.0, 3.0, (0.0, 0.0, 0.4), azimuth=60.0, elevation=-20.0, follow=(0, 1), grid=1.0)

    def own_model(self) -> CompiledModel:
        """Return the model of the task."""
        return quadruped_model(self.task)

    def starts(self, key: jax.Array) -> Start:
        """Return the same start at growing heights."""
        qpos, qvel = self._at_floor(key)
        heights = jnp.asarray(_heights(self.num_starts, str(qpos.dtype)))
        qpos = jnp.tile(qpos, (self.num_starts, 1)).at[:, 2].set(heights)
        return Start(qpos=qpos, qvel=jnp.tile(qvel, (self.num_starts, 1)))

    def _at_floor(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return positions and velocities with the robot in the floor."""
        qpos, qvel = self.init_qpos, jnp.zeros(self.model.mjmodel.nv, float)
        if self.task != "fetch":
            return qpos.at[:2].set(0.0).at[3:7].set(direction(key, 4)), qvel
        turn_key, place_key, ball_key, velocity_key = jax.random.split(key, 4)
        radius = 0.9 * float(self.model_row("geom_size", "floor", "geom")[0])
        place, ball = (between(key, -radius, radius, (2,)) for key in (place_key, ball_key))
        pose = jnp.concatenate([place, jnp.zeros(1, float), turn_about_z(turn_key)])
        qpos = qpos.at[:7].set(pose).at[self._ball("qpos")].set(jnp.append(ball, 2.0))
        first = self._ball("dof").start
        return qpos, qvel.at[first : first + 2].set(normal(velocity_key, 5.0, (2,)))

    def _ball(self, kind: str) -> slice:
        """Return where the coordinates of the ball's centre are in qpos, or in qvel ("dof")."""
        joint = self.model.mjmodel.joint("ball_root")
        first = int((joint.qposadr if kind == "qpos" else joint.dofadr)[0])
        return slice(first, first + 3)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the robot feels of itself, and ball and target."""
        positions, velocities = hinges(self.source)
        state = [data.qpos[positions], data.qvel[velocities], data.act]
        seen = {
            "egocentric_state": jnp.concatenate(state),
            "torso_velocity": self.torso_velocity(data),
            "torso_upright": data.body("torso").xmat[ZZ],
            "imu": data.sensordata[sensors(self.source, "GYRO", "ACCELEROMETER")],
            "force_torque": jnp.arcsinh(data.sensordata[sensors(self.source, "FORCE", "TORQUE")]),
        }
        if self.task != "fetch":
            return seen
        torso = data.body("torso")
        frame, ball = torso.xmat.reshape(3, 3), data.joint("ball_root").qvel
        ways = [data.body("ball").xpos - torso.xpos, ball[:3] - data.joint("root").qvel[:3], ball[3:]]
        target = (data.site("target").xpos - torso.xpos) @ frame
        return {**seen, "ball_state": (jnp.stack(ways) @ frame).reshape(-1), "target_position": target}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the reward of an upright torso, times that of the speed, or of ball and target."""
        del action
        upright = upright_factor(data)
        if self.task != "fetch":
            speed, target = self.torso_velocity(data)[0], SPEEDS[self.task]
            return upright * tolerance(speed, (target, math.inf), target, "linear", value_at_margin=0.5)
        ball, arena = data.body("ball").xpos, float(self.model_row("geom_size", "floor", "geom")[0]) * math.sqrt(2)
        sizes = {name: float(self.model_row("site_size", name, "site")[0]) for name in ("workspace", "target")}
        reach = sizes["workspace"] + float(self.model_row("geom_size", "ball", "geom")[0])

        def closeness(site: str, bound: float) -> jax.Array:
            distance = jnp.linalg.norm((data.site(site).xpos - ball)[:2])
            return tolerance(distance, (0.0, bound), margin=arena, sigmoid="linear", value_at_margin=0.0)

        return upright * (closeness("workspace", reach) * (0.5 + 0.5 * closeness("target", sizes["target"])))

    def torso_velocity(self, data: NamedData) -> Float[Array, "3"]:
        """Return the velocity of the torso, in its own frame [m/s]."""
        return data.sensor("velocimeter").data


@functools.cache
def _heights(num: int, dtype: str) -> NDArray:
    """Return heights from 0 as dm_control adds them up, rounded up, so that none is lower than dm_control's [m]."""
    heights = np.concatenate([[0.0], np.cumsum(np.full(num - 1, HEIGHT_STEP))])
    narrow = heights.astype(dtype)
    return np.where(narrow < heights, np.nextafter(narrow, np.asarray(np.inf, dtype)), narrow)


def upright_factor(data: NamedData, degrees: float = 0.0) -> Float[Array, ""]:
    """Return the factor of the reward for an upright torso: 1 up to an angle, and 0 upside down."""
    cosine = math.cos(math.radians(degrees))
    bounds, margin = (cosine, math.inf), 1 + cosine
    return tolerance(data.body("torso").xmat[ZZ], bounds, margin, "linear", value_at_margin=0.0)


@functools.cache
def quadruped_model(task: str) -> CompiledModel:
    """Return the model of a task, without what belongs to other tasks."""
    tree = read_model("quadruped.xml")
    unused = []
    if task != "escape":
        unused.append(("geom", "terrain"))
        for parent in tree.iter():
            for sensor in parent.findall("rangefinder"):
                parent.remove(sensor)
    else:
        _shrink_sky(tree)
    if task != "fetch":
        size = ESCAPE_FLOOR if task == "escape" else TIME_LIMIT * SPEEDS[task]
        named(tree, "geom", "floor")[0].set("size", f"{size} {size} .5")
        unused += [*(("geom", wall) for wall in _WALLS), ("body", "ball"), ("site", "target")]
    for tag, name in unused:
        remove(tree, tag, name)
    return compile_model(tree, f"dm_control's quadruped of the task {task}")


def _shrink_sky(tree: ElementTree.Element) -> None:
    """Make the texture of the sky smaller, which is nearly all of the memory that a model of its own takes."""
    for include in tree.findall("include"):
        if include.get("file", "").endswith("skybox.xml"):
            tree.remove(include)
    for assets in read_model("common/skybox.xml"):
        for texture in assets:
            texture.attrib.update(width=str(SKY_WIDTH), height=str(SKY_WIDTH))
        tree.append(assets)


@functools.cache
def sensors(source: CompiledModel, *kinds: str) -> NDArray:
    """Return where the numbers of all sensors of some kinds are."""
    mjmodel, names = source.mjmodel, import_mujoco().mjtSensor
    wanted = np.isin(mjmodel.sensor_type, [int(getattr(names, f"mjSENS_{kind}")) for kind in kinds])
    spans = [
        np.arange(start, start + size, dtype=np.int32)
        for start, size in zip(mjmodel.sensor_adr, mjmodel.sensor_dim, strict=True)
    ]
    return np.concatenate([span for span, is_wanted in zip(spans, wanted, strict=True) if is_wanted])

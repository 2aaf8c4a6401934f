"""The arm with a hand in a plane that dm_control's domains `manipulator` and `stacker` have in common."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.dm_control.suite_task import PLANE, SuiteTask
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

JOINTS = ("arm_root", "arm_shoulder", "arm_elbow", "arm_wrist", "finger", "fingertip", "thumb", "thumbtip")


class PlanarArm(SuiteTask):
    """The base class of tasks with an arm of four joints and a hand of two fingers, which move in the plane y = 0."""

    frame_skip: int = field(pytree_node=False, default=10)

    reads: ClassVar = ("sensordata", "site_xpos", "xpos", "xquat")
    is_contact_free: ClassVar = True
    num_starts: ClassVar = 100  # all of them have contacts in one of ten million episodes
    view: ClassVar = View(1.6, 1.2, (0.0, 0.0, 0.5), elevation=-4.0, grid=0.2, stage=0.2)

    def arm_positions(self, key: jax.Array) -> dict[str, Any]:
        """Draw the angles of the arm's joints within their limits, with finger and thumb alike."""
        ranges = [self.model_row("jnt_range", name, "joint") for name in JOINTS]
        is_limited = [bool(self.model_row("jnt_limited", name, "joint")) for name in JOINTS]
        low, high = np.where(np.transpose([is_limited]), ranges, (-math.pi, math.pi)).T
        angles = dict(zip(JOINTS, between(key, low, high), strict=True))
        return {**angles, "finger": angles["thumb"]}

    def arm_entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the arm feels of itself: angles as sines and cosines, velocities, and touch."""
        angles = jnp.concatenate([data.joint(name).qpos for name in JOINTS])
        return {
            "arm_pos": jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=1),
            "arm_vel": jnp.concatenate([data.joint(name).qvel for name in JOINTS]),
            "touch": jnp.log1p(data.sensordata),
        }


def place(data: NamedData, body: str) -> Float[Array, "2"]:
    """Return x and z of a body [m]."""
    return data.body(body).xpos[PLANE]


def pose(data: NamedData, body: str) -> Float[Array, "4"]:
    """Return x and z of a body [m], and w and y of its quaternion."""
    return jnp.concatenate([place(data, body), data.body(body).xquat[PLANE]])


def velocities(data: NamedData, joints: tuple[str, ...]) -> Float[Array, "joints"]:
    """Return the velocities of joints in this order [m/s, rad/s]."""
    return jnp.concatenate([data.joint(name).qvel for name in joints])


def site_distance(data: NamedData, first: str, second: str) -> Float[Array, ""]:
    """Return the distance of two sites [m]."""
    return jnp.linalg.norm(data.site(first).xpos - data.site(second).xpos)

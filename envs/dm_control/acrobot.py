"""Swing up two links with a motor at the joint between them.

Spong, "The Swing Up Control Problem for the Acrobot", 1995. The model and the rules are those of dm_control 1.0.50's
domain `acrobot`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.dm_control.suite_task import XZ, ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

_LINKS = ("upper_arm", "lower_arm")


class SuiteAcrobot(SuiteTask):
    """Acrobot of dm_control's suite.

    Observation: a dict of `orientations`, float32 `[4]`: sines of the angles of both links from upright `[2]`, and
        their cosines `[2]`; and `velocity`, float32 `[2]` [rad/s]. With `flat_observation=True` it is one array in this
        order. With `jax_enable_x64` it is float64, bit for bit dm_control's.

    Action: float32 `[1]`: the torque at the elbow in `[-1, 1]`, in units of 2 N m. MuJoCo clips what lies outside.

    Reward: 1 where the tip is in the target, a ball of radius 0.2 m at the highest place that it reaches; less outside,
        by a Gaussian that is 0.1 at a distance of 1 m, or 0 in the sparse task.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: both angles are uniform in [-pi, pi), at rest.

    >>> SuiteAcrobot(task="swingup_sparse").action_space.shape
    (1,)
    """

    frame_skip: int = field(pytree_node=False, default=1)
    task: str = field(pytree_node=False, default="swingup")

    tasks: ClassVar = ("swingup", "swingup_sparse")
    xml_file: ClassVar = "acrobot.xml"
    reads: ClassVar = ("xmat", "site_xpos")
    drawn_sites: ClassVar = ("target",)
    view: ClassVar = View(6.0, 4.6, (0.0, 0.0, 2.0))

    def start(self, key: jax.Array) -> Start:
        """Return any angles."""
        return Start(qpos=between(key, -math.pi, math.pi, (2,)))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return the directions of the links, and the velocities."""
        turns = [data.body(link).xmat[axis] for axis in (XZ, ZZ) for link in _LINKS]
        return {"orientations": jnp.stack(turns), "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return how close the tip is to the target."""
        del action
        distance = jnp.linalg.norm(data.site("target").xpos - data.site("tip").xpos)
        radius = float(self.model_row("site_size", "target", "site")[0])
        return tolerance(distance, (0.0, radius), margin=0.0 if self.task.endswith("sparse") else 1.0)

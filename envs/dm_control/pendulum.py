"""Swing up a pendulum whose motor is too weak to lift it, and keep it there.

The model and the rules are those of dm_control 1.0.50's domain `pendulum`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.dm_control.suite_task import XZ, ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

MIN_COSINE = math.cos(math.radians(8))  # cosine of the largest angle from upright that is rewarded


class SuitePendulum(SuiteTask):
    """Pendulum of dm_control's suite.

    Observation: a dict of `orientation`, float32 `[2]`: cosine and sine of the angle from upright; and `velocity`,
        float32 `[1]` [rad/s]. With `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is
        float64, bit for bit dm_control's.

    Action: float32 `[1]`: the torque in `[-1, 1]` [N m]. MuJoCo clips what lies outside.

    Reward: 1 within 8 degrees of upright, else 0.

    Termination: never, unless the simulation diverges. The id is truncated after 1,000 steps.

    Initial state: the angle is uniform in [-pi, pi), at rest.

    >>> SuitePendulum().observation_space["orientation"].shape
    (2,)
    """

    frame_skip: int = field(pytree_node=False, default=1)
    task: str = field(pytree_node=False, default="swingup")

    tasks: ClassVar = ("swingup",)
    xml_file: ClassVar = "pendulum.xml"
    reads: ClassVar = ("xmat",)
    view: ClassVar = View(2.2, 1.65, (0.0, 0.0, 0.6))

    def start(self, key: jax.Array) -> Start:
        """Return any angle."""
        return Start(qpos=between(key, -math.pi, math.pi, (1,)))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return the direction of the pole, and its velocity."""
        return {
            "orientation": data.body("pole").xmat[np.array([ZZ, XZ], np.int32)],
            "velocity": data.joint("hinge").qvel,
        }

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return whether the pole is upright."""
        del action
        return tolerance(data.body("pole").xmat[ZZ], (MIN_COSINE, 1.0))

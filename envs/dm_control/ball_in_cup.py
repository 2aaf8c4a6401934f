"""Catch a ball, which hangs on a string, in the cup to which the string is tied.

The model and the rules are those of dm_control 1.0.50's domain `ball_in_cup`.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.dm_control.suite_task import PLANE, SuiteTask
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field


class SuiteBallInCup(SuiteTask):
    """Ball in cup of dm_control's suite.

    Observation: a dict of `position`, float32 `[4]`: x and z of the cup and of the ball [m]; and `velocity`, float32
        `[4]` [m/s]. With `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64,
        bit for bit dm_control's.

    Action: float32 `[2]`: the place where the actuators pull the cup, in `[-1, 1]` along x and z. MuJoCo clips what
        lies outside.

    Reward: 1 while the ball is in the cup, else 0.

    Termination: never, unless the simulation diverges. The id is truncated after 1,000 steps.

    Initial state: the cup is in the middle, and the ball uniform in x from -0.2 to 0.2 m and in z from 0.2 to 0.5 m,
        where it touches nothing; both at rest.

    >>> SuiteBallInCup().action_space.shape
    (2,)
    """

    frame_skip: int = field(pytree_node=False, default=10)
    task: str = field(pytree_node=False, default="catch")

    tasks: ClassVar = ("catch",)
    xml_file: ClassVar = "ball_in_cup.xml"
    reads: ClassVar = ("site_xpos", "xpos")
    is_contact_free: ClassVar = True
    view: ClassVar = View(1.2, 0.9, (0.0, 0.0, 0.3))

    def start(self, key: jax.Array) -> Start:
        """Return any place of the ball."""
        place = between(key, np.array([-0.2, 0.2]), np.array([0.2, 0.5]))
        return Start(qpos=self.positions({"ball_x": place[0], "ball_z": place[1]}))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return places and velocities."""
        return {"position": data.qpos, "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return whether the ball is in the cup."""
        del action
        way = jnp.abs(data.site("target").xpos - data.body("ball").xpos)[PLANE]
        room = self.model_row("site_size", "target", "site")[PLANE] - self.model_row("geom_size", "ball", "geom")[0]
        return jnp.all(way < jnp.asarray(room, float)).astype(float)

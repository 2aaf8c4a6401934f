"""Make a cheetah with two legs run.

Wawrzynski, "Real-Time Reinforcement Learning by Sequential Actor-Critics and Experience Replay", 2009. The model and
the rules are those of dm_control 1.0.50's domain `cheetah`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

RUN_SPEED = 10.0  # speed whose reward is 1 [m/s]


class SuiteCheetah(SuiteTask):
    """Cheetah of dm_control's suite.

    Observation: a dict of `position`, float32 `[8]`: height [m] and angle [rad] of the trunk and angles of the joints
        [rad]; and `velocity`, float32 `[9]`: of x, height, angle and joints. With `flat_observation=True` it is one
        array in this order. With `jax_enable_x64` it is float64, bit for bit dm_control's.

    Action: float32 `[6]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside.

    Reward: the speed of the centre of mass along x, divided by 10 m/s, from 0 to 1.

    Termination: never, unless the simulation diverges. The id is truncated after 1,000 steps.

    Initial state: the joints are uniform within their limits; then the cheetah falls for 200 steps without controls.

    >>> SuiteCheetah().observation_space["velocity"].shape
    (9,)
    """

    frame_skip: int = field(pytree_node=False, default=1)
    task: str = field(pytree_node=False, default="run")

    tasks: ClassVar = ("run",)
    xml_file: ClassVar = "cheetah.xml"
    reads: ClassVar = ("sensordata",)
    num_settling: ClassVar = 200
    view: ClassVar = View(3.2, 2.4, (0.0, 0.0, 0.6), elevation=-8.0, follow=(0,), grid=1.0, stage=1.0)

    def start(self, key: jax.Array) -> Start:
        """Return any angles of the joints."""
        mjmodel = self.model.mjmodel
        is_limited = mjmodel.jnt_limited == 1
        low, high = mjmodel.jnt_range[is_limited].T
        return Start(qpos=self.init_qpos.at[np.flatnonzero(is_limited).astype(np.int32)].set(between(key, low, high)))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return positions but x, and velocities."""
        return {"position": data.qpos[1:], "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the reward of the speed."""
        del action
        speed = data.sensor("torso_subtreelinvel").data[0]
        return tolerance(speed, (RUN_SPEED, math.inf), margin=RUN_SPEED, sigmoid="linear", value_at_margin=0.0)

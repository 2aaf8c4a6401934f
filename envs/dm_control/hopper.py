"""Make a robot with one leg stand, or hop.

Lillicrap et al., "Continuous Control with Deep Reinforcement Learning", 2015. The model and the rules are those of
dm_control 1.0.50's domain `hopper`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import random_joints
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.dm_control.tolerance import small_control, tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

STAND_HEIGHT = 0.6  # height of the torso above the foot from which the hopper stands [m]
HOP_SPEED = 2.0  # speed whose reward is 1 [m/s]


class SuiteHopper(SuiteTask):
    """Hopper of dm_control's suite.

    Observation: a dict of `position`, float32 `[6]`: height [m] and angle [rad] of the torso and angles of the joints
        [rad]; `velocity`, float32 `[7]`: of x, height, angle and joints; and `touch`, float32 `[2]`: log(1 + force [N])
        at toe and heel. With `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is
        float64, bit for bit dm_control's but for the last bit of a logarithm.

    Action: float32 `[4]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside.

    Reward: 1 or 0 for standing, with the torso from 0.6 to 2 m above the foot. Task `stand`: times a factor from 0.8
        to 1 for small controls. Task `hop`: times the reward of the speed along x, which is linear from 0 m/s to 1 at
        2 m/s.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the angle of the torso is uniform in [-pi, pi), the joints are uniform within their limits, at rest.

    >>> SuiteHopper(task="hop").observation_space["touch"].shape
    (2,)
    """

    frame_skip: int = field(pytree_node=False, default=4)
    task: str = field(pytree_node=False, default="stand")

    tasks: ClassVar = ("stand", "hop")
    xml_file: ClassVar = "hopper.xml"
    reads: ClassVar = ("sensordata", "xipos")
    view: ClassVar = View(3.2, 2.4, (0.0, 0.0, 0.8), elevation=-8.0, follow=(0,), grid=1.0, stage=1.0)

    def start(self, key: jax.Array) -> Start:
        """Return any pose."""
        return Start(qpos=random_joints(self.model.mjmodel, key))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return positions but x, velocities, and touch."""
        touch = jnp.concatenate([data.sensor("touch_toe").data, data.sensor("touch_heel").data])
        return {"position": data.qpos[1:], "velocity": data.qvel, "touch": jnp.log1p(touch)}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the reward of standing or of hopping."""
        height = data.body("torso").xipos[2] - data.body("foot").xipos[2]
        standing = tolerance(height, (STAND_HEIGHT, 2.0))
        if self.task == "stand":
            return standing * small_control(action)
        speed = data.sensor("torso_subtreelinvel").data[0]
        return standing * tolerance(speed, (HOP_SPEED, math.inf), HOP_SPEED / 2, "linear", value_at_margin=0.5)

"""Make a planar robot with two legs stand, walk, or run.

Lillicrap et al., "Continuous Control with Deep Reinforcement Learning", 2015. The model and the rules are those of
dm_control 1.0.50's domain `walker`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import random_joints
from funcenv.envs.dm_control.suite_task import XX, XZ, ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

STAND_HEIGHT = 1.2  # height of the torso from which the walker stands [m]
SPEEDS = {"stand": 0.0, "walk": 1.0, "run": 8.0}  # speeds whose reward is 1 [m/s]


class SuiteWalker(SuiteTask):
    """Walker of dm_control's suite.

    Observation: a dict of `orientations`, float32 `[14]`: cosine and sine of the angle of each of the seven bodies;
        `height`, float32 `[]`: of the torso [m]; and `velocity`, float32 `[9]`: of height, x, angle and joints. With
        `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit for bit
        dm_control's.

    Action: float32 `[6]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside.

    Reward: three quarters for the height of the torso, 1 from 1.2 m on, and a quarter for an upright torso. In the
        tasks `walk` and `run` times a factor from 1/6 to 1 for the speed along x, which is 1 from 1 and 8 m/s on.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the angle of the torso is uniform in [-pi, pi), the joints are uniform within their limits, at rest.

    >>> SuiteWalker(task="run").observation_space["height"].shape
    ()
    """

    frame_skip: int = field(pytree_node=False, default=10)
    task: str = field(pytree_node=False, default="walk")

    tasks: ClassVar = ("stand", "walk", "run")
    xml_file: ClassVar = "walker.xml"
    reads: ClassVar = ("sensordata", "xmat", "xpos")
    view: ClassVar = View(4.0, 3.0, (0.0, 0.0, 0.9), elevation=-8.0, follow=(1,), grid=1.0, stage=1.0)

    def start(self, key: jax.Array) -> Start:
        """Return any pose."""
        return Start(qpos=random_joints(self.model.mjmodel, key))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return the directions of the bodies, the height, and velocities."""
        turns = data.xmat[1:, np.array([XX, XZ], np.int32)].reshape(-1)
        return {"orientations": turns, "height": data.body("torso").xpos[2], "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the reward of standing, times that of the speed."""
        del action
        torso = data.body("torso")
        standing = tolerance(torso.xpos[2], (STAND_HEIGHT, math.inf), margin=STAND_HEIGHT / 2)
        upright = (1 + torso.xmat[ZZ]) / 2
        reward = (3 * standing + upright) / 4
        target = SPEEDS[self.task]
        if target == 0:
            return reward
        speed = data.sensor("torso_subtreelinvel").data[0]
        moving = tolerance(speed, (target, math.inf), margin=target / 2, sigmoid="linear", value_at_margin=0.5)
        return reward * (5 * moving + 1) / 6

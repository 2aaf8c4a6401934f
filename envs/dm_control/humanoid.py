"""Make a humanoid stand, walk, or run.

Tassa, Erez and Todorov, "Synthesis and Stabilization of Complex Behaviors through Online Trajectory Optimization",
2012. The models and the rules are those of dm_control 1.0.50's domains `humanoid` and `humanoid_CMU`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import random_joints
from funcenv.envs.dm_control.suite_task import ZX, ZY, ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import small_control, tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

STAND_HEIGHT = 1.4  # height of the head from which the humanoid stands [m]
SPEEDS = {"stand": 0.0, "walk": 1.0, "run": 10.0, "run_pure_state": 10.0}  # speeds whose reward is 1 [m/s]


class SuiteHumanoid(SuiteTask):
    """Humanoid of dm_control's suite.

    Observation: a dict of `joint_angles`, float32 `[21]` [rad]; `head_height`, float32 `[]` [m]; `extremities`, float32
        `[12]`: places of left hand, left foot, right hand and right foot from the torso, in its frame [m];
        `torso_vertical`, float32 `[3]`: the vertical in the frame of the torso; `com_velocity`, float32 `[3]`: of the
        centre of mass [m/s]; and `velocity`, float32 `[27]`: of the torso and the joints [m/s, rad/s]. In the task
        `run_pure_state` only `position`, float32 `[28]`, and `velocity`. With `flat_observation=True` it is one array
        in this order. With `jax_enable_x64` it is float64, bit for bit dm_control's but for the last bits of the
        extremities.

    Action: float32 `[21]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside.

    Reward: the product of four factors: the height of the head, 1 from 1.4 m on; an upright torso; small controls, from
        0.8 to 1; and the horizontal speed of the centre of mass, 1 from 1 m/s (`walk`) or 10 m/s (`run`) on and at
        least 1/6, or near 0 m/s along x and y (`stand`).

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the joints are uniform within their limits and the torso is turned at random, where nothing touches,
        at rest.

    >>> SuiteHumanoid(task="run").observation_space["extremities"].shape
    (12,)
    """

    frame_skip: int = field(pytree_node=False, default=5)
    task: str = field(pytree_node=False, default="walk")

    tasks: ClassVar[tuple[str, ...]] = ("stand", "walk", "run", "run_pure_state")
    xml_file: ClassVar = "humanoid.xml"
    reads: ClassVar = ("sensordata", "xmat", "xpos")
    is_contact_free: ClassVar = True
    view: ClassVar = View(4.0, 3.0, (0.0, 0.0, 1.0), azimuth=60.0, elevation=-10.0, follow=(0, 1), grid=1.0)
    trunk: ClassVar[str] = "torso"  # the body whose frame is observed
    upward: ClassVar[int] = ZZ  # the vertical entry of the trunk's rotation matrix that is 1 for an upright trunk
    limbs: ClassVar[tuple[str, ...]] = ("left_hand", "left_foot", "right_hand", "right_foot")

    def start(self, key: jax.Array) -> Start:
        """Return any pose."""
        return Start(qpos=random_joints(self.model.mjmodel, key))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the humanoid feels of itself, or positions and velocities."""
        if self.task == "run_pure_state":
            return {"position": data.qpos, "velocity": data.qvel}
        trunk = data.body(self.trunk)
        frame = trunk.xmat.reshape(3, 3)
        limbs = [(data.body(name).xpos - trunk.xpos) @ frame for name in self.limbs]
        return {
            "joint_angles": data.qpos[7:],
            "head_height": data.body("head").xpos[2],
            "extremities": jnp.concatenate(limbs),
            "torso_vertical": trunk.xmat[np.array([ZX, ZY, ZZ], np.int32)],
            "com_velocity": self.com_velocity(data),
            "velocity": data.qvel,
        }

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the product of the factors."""
        height = data.body("head").xpos[2]
        standing = tolerance(height, (STAND_HEIGHT, math.inf), margin=STAND_HEIGHT / 4)
        cosine = data.body(self.trunk).xmat[self.upward]
        upright = tolerance(cosine, (0.9, math.inf), margin=1.9, sigmoid="linear", value_at_margin=0.0)
        reward = small_control(action) * (standing * upright)
        velocity, target = self.com_velocity(data)[:2], SPEEDS[self.task]
        if target == 0:
            return reward * jnp.mean(tolerance(velocity, margin=2.0))
        speed = jnp.linalg.norm(velocity)
        moving = tolerance(speed, (target, math.inf), margin=target, sigmoid="linear", value_at_margin=0.0)
        return reward * (5 * moving + 1) / 6

    def com_velocity(self, data: NamedData) -> Float[Array, "3"]:
        """Return the velocity of the centre of mass [m/s]."""
        return data.sensor(f"{self.trunk}_subtreelinvel").data


class SuiteHumanoidCMU(SuiteHumanoid):
    """CMU humanoid of dm_control's suite.

    Observation: a dict of `joint_angles`, float32 `[56]` [rad]; `head_height`, float32 `[]` [m]; `extremities`, float32
        `[12]`: places of left hand, left foot, right hand and right foot from the thorax, in its frame [m];
        `torso_vertical`, float32 `[3]`: the vertical in the frame of the thorax; `com_velocity`, float32 `[3]`: of the
        centre of mass [m/s]; and `velocity`, float32 `[62]`: of the root and the joints [m/s, rad/s]. With
        `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit for bit
        dm_control's but for the last bits of the extremities.

    Action: float32 `[56]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside.

    Reward: that of `SuiteHumanoid`, for the thorax.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the joints are uniform within their limits and the root is turned at random, where nothing touches,
        at rest.

    >>> SuiteHumanoidCMU().action_space.shape
    (56,)
    """

    frame_skip: int = field(pytree_node=False, default=10)

    tasks: ClassVar = ("stand", "walk", "run")
    xml_file: ClassVar = "humanoid_CMU.xml"
    num_starts: ClassVar = 160  # one in eight has no contacts
    trunk: ClassVar = "thorax"
    upward: ClassVar = ZY
    limbs: ClassVar = ("lhand", "lfoot", "rhand", "rfoot")

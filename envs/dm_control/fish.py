"""Keep a fish upright, or make it swim to a target.

The model and the rules are those of dm_control 1.0.50's domain `fish`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between, direction
from funcenv.envs.dm_control.suite_task import ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

JOINTS = ("tail1", "tail_twist", "tail2", "finright_roll", "finright_pitch", "finleft_roll", "finleft_pitch")
LOWEST_TARGET, HIGHEST_TARGET = (-0.4, -0.4, 0.1), (0.4, 0.4, 0.3)  # coordinates of the target [m]


class SuiteFish(SuiteTask):
    """Fish of dm_control's suite.

    Observation: a dict of `joint_angles`, float32 `[7]` [rad]; `upright`, float32 `[]`: the cosine of the angle from
        upright; `target`, float32 `[3]`, in the task `swim`: the way from the mouth to the target, in the frame of the
        mouth [m]; and `velocity`, float32 `[13]`: of the trunk and the joints [m/s, rad/s]. With
        `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit for bit
        dm_control's but for the last bits of the target.

    Action: float32 `[5]`: where the actuators pull tail and fins, in `[-1, 1]`. MuJoCo clips what lies outside.

    Reward: task `upright`: 1 for an upright fish, and less by a Gaussian that is 0.1 on its side. Task `swim`: seven
        eighths for a mouth near the target, and one eighth for an upright fish.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the fish is turned at random, its joints are uniform within 0.2 rad, at rest. The target is uniform
        in a box.

    >>> SuiteFish(task="swim").observation_space["target"].shape
    (3,)
    """

    frame_skip: int = field(pytree_node=False, default=10)
    task: str = field(pytree_node=False, default="upright")

    tasks: ClassVar = ("upright", "swim")
    xml_file: ClassVar = "fish.xml"
    reads: ClassVar = ("geom_xmat", "geom_xpos", "xmat")
    view: ClassVar = View(0.9, 0.68, (0.0, 0.0, 0.2), azimuth=60.0, elevation=-25.0)

    def start(self, key: jax.Array) -> Start:
        """Return any orientation, bent joints, and a target."""
        turn_key, joint_key, target_key = jax.random.split(key, 3)
        angles = between(joint_key, -0.2, 0.2, (len(JOINTS),))
        qpos = self.positions(dict(zip(JOINTS, angles, strict=True))).at[3:7].set(direction(turn_key, 4))
        if self.task == "upright":
            return Start(qpos=qpos)
        return Start(qpos=qpos, variables=between(target_key, np.array(LOWEST_TARGET), np.array(HIGHEST_TARGET)))

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return the places of the geoms, with the target's."""
        if self.task == "upright":
            return {}
        return self.changed_field("geom_pos", self.model.mjmodel.geom("target").id, variables)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return joints, orientation, target, and velocities."""
        angles = jnp.concatenate([data.joint(name).qpos for name in JOINTS])
        seen = {"joint_angles": angles, "upright": self.upright(data)}
        if self.task == "swim":
            seen["target"] = self.mouth_to_target(data)
        return {**seen, "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the reward of orientation and place."""
        del action
        if self.task == "upright":
            return tolerance(self.upright(data), (1.0, 1.0), margin=1.0)
        radii = sum(float(self.model_row("geom_size", name, "geom")[0]) for name in ("mouth", "target"))
        near = tolerance(jnp.linalg.norm(self.mouth_to_target(data)), (0.0, radii), margin=2 * radii)
        return (7 * near + 0.5 * (self.upright(data) + 1)) / 8

    def upright(self, data: NamedData) -> Float[Array, ""]:
        """Return the cosine of the angle from upright."""
        return data.body("torso").xmat[ZZ]

    def mouth_to_target(self, data: NamedData) -> Float[Array, "3"]:
        """Return the way from the mouth to the target, in the frame of the mouth [m]."""
        mouth = data.geom("mouth")
        return (data.geom("target").xpos - mouth.xpos) @ mouth.xmat.reshape(3, 3)

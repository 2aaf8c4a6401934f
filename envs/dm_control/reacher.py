"""Bring the tip of an arm with two links to a target.

The model and the rules are those of dm_control 1.0.50's domain `reacher`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.dm_control.assets import compile_model, read_model
from funcenv.envs.dm_control.draws import between, on_circle, random_joints
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

TARGET_SIZES = {"easy": 0.05, "hard": 0.015}  # radius of the target [m]
TARGET_DISTANCES = (0.05, 0.20)  # distance of the target from the middle [m]


class SuiteReacher(SuiteTask):
    """Reacher of dm_control's suite.

    Observation: a dict of `position`, float32 `[2]`: angles of shoulder and wrist [rad]; `to_target`, float32 `[2]`:
        the way from the tip to the target [m]; and `velocity`, float32 `[2]` [rad/s]. With `flat_observation=True` it
        is one array in this order. With `jax_enable_x64` it is float64, bit for bit dm_control's.

    Action: float32 `[2]`: the torques in `[-1, 1]`, in units of 0.05 N m. MuJoCo clips what lies outside.

    Reward: 1 where the tip, a ball of radius 1 cm, touches the target, else 0. The radius of the target is 5 cm in the
        task `easy`, and 1.5 cm in `hard`.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the shoulder is uniform in [-pi, pi), the wrist within its limits, at rest. The target is at a
        uniform angle, and at a uniform distance of 5 to 20 cm from the middle.

    >>> SuiteReacher(task="hard").observation_space["to_target"].shape
    (2,)
    """

    frame_skip: int = field(pytree_node=False, default=1)
    task: str = field(pytree_node=False, default="easy")

    tasks: ClassVar = ("easy", "hard")
    reads: ClassVar = ("geom_xpos",)
    view: ClassVar = View(0.8, 0.7, elevation=-90.0)

    def own_model(self) -> CompiledModel:
        """Return the model with a target of the right size."""
        return _model(TARGET_SIZES[self.task])

    def start(self, key: jax.Array) -> Start:
        """Return any pose, and a target."""
        pose_key, angle_key, radius_key = jax.random.split(key, 3)
        angle = between(angle_key, 0.0, 2 * math.pi)
        place = on_circle(angle, between(radius_key, *TARGET_DISTANCES))
        return Start(qpos=random_joints(self.model.mjmodel, pose_key), variables=jnp.stack(place))

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return the places of the geoms, with the target's."""
        return self.changed_field("geom_pos", (self.model.mjmodel.geom("target").id, slice(2)), variables)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return angles, the way to the target, and velocities."""
        return {"position": data.qpos, "to_target": self.to_target(data), "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return whether the tip touches the target."""
        del action
        radii = sum(float(self.model_row("geom_size", name, "geom")[0]) for name in ("target", "finger"))
        return tolerance(jnp.linalg.norm(self.to_target(data)), (0.0, radii))

    def to_target(self, data: NamedData) -> Float[Array, "2"]:
        """Return the way from the tip to the target [m]."""
        return data.geom("target").xpos[:2] - data.geom("finger").xpos[:2]


@functools.cache
def _model(target_size: float) -> CompiledModel:
    def adjust(mjmodel: Any) -> None:
        mjmodel.geom_size[mjmodel.geom("target").id, 0] = target_size

    return compile_model(read_model("reacher.xml"), "dm_control's reacher.xml", adjust)

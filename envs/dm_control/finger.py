"""Spin a body on a hinge with a finger of two links, or turn it to a target.

Tassa, Mansard and Todorov, "Control-Limited Differential Dynamic Programming", 2014. The model and the rules are those
of dm_control 1.0.50's domain `finger`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.assets import compile_model, read_model
from funcenv.envs.dm_control.draws import between, on_circle, random_joints
from funcenv.envs.dm_control.suite_task import PLANE, SuiteTask
from funcenv.envs.mujoco.model import CompiledModel, import_mujoco
from funcenv.envs.mujoco.mujoco_scene import View, draw_model
from funcenv.envs.mujoco.mujoco_task import Start, TaskState
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.scene import Scene
from funcenv.struct import field

TARGET_SIZES = {"turn_easy": 0.07, "turn_hard": 0.03}  # radius of the target [m]
SPIN_VELOCITY = 15.0  # velocity from which the body spins [rad/s]
SPIN_DAMPING = 0.03  # damping of the body's hinge in the task spin


class SuiteFinger(SuiteTask):
    """Finger of dm_control's suite.

    Observation: a dict of `position`, float32 `[4]`: angles of both joints [rad], and x and z of the body's tip from
        its hinge [m]; `velocity`, float32 `[3]`: of both joints and of the hinge [rad/s]; and `touch`, float32 `[2]`:
        log(1 + force [N]) at the top and the bottom of the fingertip. In the tasks `turn_easy` and `turn_hard` also
        `target_position`, float32 `[2]`: x and z of the target from the hinge [m]; and `dist_to_target`, float32 `[]`:
        from the tip to the rim of the target, negative inside [m]. With `flat_observation=True` it is one array in this
        order. With `jax_enable_x64` it is float64, bit for bit dm_control's but for the last bit of logarithms and
        of the distance.

    Action: float32 `[2]`: the torques in `[-1, 1]`; gears multiply them. MuJoCo clips what lies outside.

    Reward: task `spin`: 1 where the body turns at -15 rad/s or faster, else 0. Otherwise 1 where its tip is in the
        target, of radius 7 cm (`turn_easy`) or 3 cm (`turn_hard`), else 0.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the finger's joints are uniform within their limits and the hinge in [-pi, pi), where nothing
        touches, at rest. The angle of the target is uniform.

    >>> SuiteFinger(task="turn_easy").observation_space["dist_to_target"].shape
    ()
    """

    frame_skip: int = field(pytree_node=False, default=2)
    task: str = field(pytree_node=False, default="spin")

    tasks: ClassVar = ("spin", "turn_easy", "turn_hard")
    reads: ClassVar = ("sensordata",)
    is_contact_free: ClassVar = True
    view: ClassVar = View(1.2, 0.9, (0.0, 0.0, 0.35))

    def own_model(self) -> CompiledModel:
        """Return the model with the damping or the target of the task."""
        return _model(self.task)

    def scene(self, state: TaskState) -> Scene:
        """Draw the finger and the body, and the target of the tasks that have one."""
        sites = () if self.task == "spin" else ("target", "tip")
        return draw_model(self.model.mjmodel, state.qpos, self.view, changes=self.changes_of(state), sites=sites)

    def start(self, key: jax.Array) -> Start:
        """Return any pose, and a target."""
        target_key, pose_key = jax.random.split(key)
        qpos = random_joints(self.model.mjmodel, pose_key)
        if self.task == "spin":
            return Start(qpos=qpos)
        mjmodel = self.model.mjmodel
        radius = float(np.sum(mjmodel.geom("cap1").size))
        way = on_circle(between(target_key, -math.pi, math.pi), radius)
        return Start(qpos=qpos, variables=jnp.asarray(_hinge(self.source)[PLANE], float) + jnp.stack(way))

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return the places of the sites, with the target's."""
        if self.task == "spin":
            return {}
        return self.changed_field("site_pos", (self.model.mjmodel.site("target").id, PLANE), variables)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return positions, velocities, touch, and the target."""

        def read(*names: str) -> jax.Array:
            return jnp.concatenate([data.sensor(name).data for name in names])

        seen = {
            "position": jnp.concatenate([read("proximal", "distal"), self.tip_position(data)]),
            "velocity": read("proximal_velocity", "distal_velocity", "hinge_velocity"),
            "touch": jnp.log1p(read("touchtop", "touchbottom")),
        }
        if self.task == "spin":
            return seen
        target = {"target_position": self.target_position(data), "dist_to_target": self.distance_to_target(data)}
        return {**seen, **target}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return whether the body spins, or its tip is in the target."""
        del action
        if self.task == "spin":
            return (data.sensor("hinge_velocity").data[0] <= -SPIN_VELOCITY).astype(float)
        return (self.distance_to_target(data) <= 0).astype(float)

    def tip_position(self, data: NamedData) -> Float[Array, "2"]:
        """Return x and z of the body's tip from its hinge [m]."""
        return data.sensor("tip").data[PLANE] - data.sensor("spinner").data[PLANE]

    def target_position(self, data: NamedData) -> Float[Array, "2"]:
        """Return x and z of the target from the hinge [m]."""
        return data.sensor("target").data[PLANE] - data.sensor("spinner").data[PLANE]

    def distance_to_target(self, data: NamedData) -> Float[Array, ""]:
        """Return the distance from the tip to the rim of the target, negative inside [m]."""
        distance = jnp.linalg.norm(self.target_position(data) - self.tip_position(data))
        return distance - TARGET_SIZES[self.task]


@functools.cache
def _model(task: str) -> CompiledModel:
    def adjust(mjmodel: Any) -> None:
        if task == "spin":
            mjmodel.dof_damping[mjmodel.joint("hinge").dofadr] = SPIN_DAMPING
            for name in ("target", "tip"):
                mjmodel.site_rgba[mjmodel.site(name).id, 3] = 0
        else:
            mjmodel.site_size[mjmodel.site("target").id, 0] = TARGET_SIZES[task]

    return compile_model(read_model("finger.xml"), "dm_control's finger.xml", adjust)


@functools.cache
def _hinge(source: CompiledModel) -> Any:
    """Return the place of the body's hinge, which does not move [m]."""
    mujoco, mjmodel = import_mujoco(), source.mjmodel
    data = mujoco.MjData(mjmodel)
    mujoco.mj_kinematics(mjmodel, data)
    return data.joint("hinge").xanchor.copy()

"""Push a point to the middle of a square.

The model and the rules are those of dm_control 1.0.50's domain `point_mass`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.dm_control.draws import between, on_circle, random_joints
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.dm_control.tolerance import small_control, tolerance
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

MAX_COSINE = 0.9  # greatest cosine of the angle between the lines along which the actuators of the hard task push


class SuitePointMass(SuiteTask):
    """Point mass of dm_control's suite.

    Observation: a dict of `position`, float32 `[2]` [m], and `velocity`, float32 `[2]` [m/s]. With
        `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit for bit
        dm_control's.

    Action: float32 `[2]`: forces in `[-1, 1]`, along x and y, or along directions that differ in each episode of the
        task `hard`. MuJoCo clips what lies outside.

    Reward: 1 within the target, a disc of radius 1.5 cm in the middle, and less outside by a Gaussian that is 0.1 one
        radius further; times a factor from 0.8 to 1 for small controls.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the place is uniform in the square, at rest. In the task `hard` the two directions are uniform among
        those whose angle has a cosine within 0.9 of 0.

    >>> SuitePointMass().observation_space["position"].shape
    (2,)
    """

    frame_skip: int = field(pytree_node=False, default=1)
    task: str = field(pytree_node=False, default="easy")

    tasks: ClassVar = ("easy", "hard")
    xml_file: ClassVar = "point_mass.xml"
    reads: ClassVar = ("geom_xpos",)
    view: ClassVar = View(0.8, 0.7, elevation=-90.0)

    def start(self, key: jax.Array) -> Start:
        """Return any place, and directions for the actuators."""
        place_key, first_key, turn_key, side_key = jax.random.split(key, 4)
        qpos = random_joints(self.model.mjmodel, place_key)
        if self.task == "easy":
            return Start(qpos=qpos)
        first = between(first_key, -math.pi, math.pi)
        nearest = math.acos(MAX_COSINE)
        turn = between(turn_key, nearest, math.pi - nearest)
        second = first + jnp.where(jax.random.bernoulli(side_key), turn, -turn)
        directions = [numbers for angle in (first, second) for numbers in on_circle(angle, 1.0)[::-1]]
        return Start(qpos=qpos, variables=jnp.stack(directions))

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return the coefficients of the tendons that the actuators pull."""
        if self.task == "easy":
            return {}
        return self.changed_field("wrap_prm", slice(4), variables)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return place and velocity."""
        return {"position": data.qpos, "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return how close the point is to the target, times the factor for small controls."""
        distance = jnp.linalg.norm(data.geom("target").xpos - data.geom("pointmass").xpos)
        size = float(self.model_row("geom_size", "target", "geom")[0])
        return tolerance(distance, (0.0, size), margin=size) * small_control(action)

"""Balance a pole on a cart, or swing it up first.

Barto, Sutton and Anderson, "Neuronlike Adaptive Elements That Can Solve Difficult Learning Control Problems", 1983. The
model and the rules are those of dm_control 1.0.50's domain `cartpole`.
"""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ElementTree
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_size
from funcenv.envs.dm_control.assets import compile_model, read_model
from funcenv.envs.dm_control.draws import between, normal
from funcenv.envs.dm_control.suite_task import XZ, ZZ, SuiteTask
from funcenv.envs.dm_control.tolerance import small_control, tolerance
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

CART_RANGE, ANGLE_COSINE_RANGE = (-0.25, 0.25), (0.995, 1.0)  # places that the sparse reward demands


class SuiteCartpole(SuiteTask):
    """Cart-pole of dm_control's suite.

    Observation: a dict of `position`: the place of the cart [m], and cosine and sine of the angle of each pole from
        upright; and `velocity`: those of the cart [m/s] and of each pole [rad/s]. They are float32 `[3]` and float32
        `[2]` with one pole, float32 `[5]` and float32 `[3]` with two, and float32 `[7]` and float32 `[4]` with three.
        With `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit for bit
        dm_control's.

    Action: float32 `[1]`: the force on the cart in `[-1, 1]`, in units of 10 N. MuJoCo clips what lies outside.

    Reward: the product of four factors from 0 to 1: upright poles, a centred cart, a small control and slow poles.
        Sparse tasks reward 1 where the cart is within 0.25 m of the middle and all cosines are at least 0.995, else 0.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: `balance`: the cart is uniform within 0.1 m, and the poles within 0.034 rad of upright. `swingup`:
        the cart is normal with deviation 0.01, and so is the first pole around hanging down; further poles have
        deviation 0.1. Velocities are normal with deviation 0.01.

    >>> SuiteCartpole(num_poles=2).observation_space["position"].shape
    (5,)
    """

    frame_skip: int = field(pytree_node=False, default=1)
    task: str = field(pytree_node=False, default="balance")
    num_poles: int = field(pytree_node=False, default=1, kw_only=True)  # poles, each on the end of the one before

    tasks: ClassVar = ("balance", "balance_sparse", "swingup", "swingup_sparse")
    reads: ClassVar = ("xmat",)
    view: ClassVar = View(4.4, 3.2, (0.0, 0.0, 1.0))

    def __post_init__(self) -> None:
        require_size("num_poles", self.num_poles)
        super().__post_init__()

    def own_model(self) -> CompiledModel:
        """Return the model with so many poles."""
        return _model(self.num_poles)

    @property
    def scene_view(self) -> View:
        """A camera that sees all poles."""
        height = max(self.view.height, 2.2 * self.num_poles + 0.4)
        return self.view._replace(width=self.view.width / self.view.height * height, height=height)

    def start(self, key: jax.Array) -> Start:
        """Return poles near upright, or hanging down."""
        cart_key, pole_key, velocity_key = jax.random.split(key, 3)
        num = self.num_poles
        if self.task.startswith("swingup"):
            scales = np.where(np.arange(num) == 0, 0.01, 0.1)
            downward = np.where(np.arange(num) == 0, np.pi, 0.0)
            cart = normal(cart_key, 0.01, (1,))
            poles = downward + scales * normal(pole_key, 1.0, (num,))
        else:
            cart = between(cart_key, -0.1, 0.1, (1,))
            poles = between(pole_key, -0.034, 0.034, (num,))
        return Start(qpos=jnp.concatenate([cart, poles]), qvel=normal(velocity_key, 0.01, (num + 1,)))

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return places and velocities of cart and poles."""
        turns = data.xmat[2:, np.array([ZZ, XZ], np.int32)]
        return {"position": jnp.concatenate([data.joint("slider").qpos, turns.reshape(-1)]), "velocity": data.qvel}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the product of the factors, or whether cart and poles are in their ranges."""
        cart, cosines = data.joint("slider").qpos[0], data.xmat[2:, ZZ]
        if self.task.endswith("sparse"):
            return tolerance(cart, CART_RANGE) * jnp.prod(tolerance(cosines, ANGLE_COSINE_RANGE))
        upright = jnp.mean((cosines + 1) / 2)
        centred = (1 + tolerance(cart, margin=2.0)) / 2
        slow = (1 + jnp.min(tolerance(data.qvel[1:], margin=5.0))) / 2
        return upright * small_control(action) * slow * centred


@functools.cache
def _model(num_poles: int) -> CompiledModel:
    tree = read_model("cartpole.xml")
    pole = tree.find("./worldbody/body/body")
    floor, cameras = tree.find("./worldbody/geom"), tree.findall("./worldbody/camera")
    if num_poles > 1 and pole is not None and floor is not None:
        for number in range(2, num_poles + 1):
            pole = ElementTree.SubElement(pole, "body", name=f"pole_{number}", pos="0 0 1", childclass="pole")
            ElementTree.SubElement(pole, "joint", name=f"hinge_{number}")
            ElementTree.SubElement(pole, "geom", name=f"pole_{number}")
        floor.set("pos", f"0 0 {1 - num_poles - 0.05}")
        cameras[0].set("pos", f"0 {-1 - 2 * num_poles} 1")
        cameras[1].set("pos", f"0 {-2 * num_poles} 2")
    return compile_model(tree, f"dm_control's cartpole with {num_poles} poles")

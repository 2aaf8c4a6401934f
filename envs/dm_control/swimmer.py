"""Make a chain of links swim to a target.

Coulom, "Reinforcement Learning Using Neural Networks, with Applications to Motor Control", 2002. The model and the
rules are those of dm_control 1.0.50's domain `swimmer`.
"""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ElementTree
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_size
from funcenv.envs.dm_control.assets import compile_model, read_model
from funcenv.envs.dm_control.draws import between, random_joints
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

CLOSE_PROBABILITY, CLOSE, FAR = 0.2, 0.3, 2.0  # probability of a close target, and half widths of squares [m]
MIN_LINKS = 3


class SuiteSwimmer(SuiteTask):
    """Swimmer of dm_control's suite.

    Observation: a dict of `joints`: angles [rad]; `to_target`, float32 `[2]`: the way from the nose to the target, in
        the frame of the head [m]; and `body_velocities`: of each link, along and across it [m/s] and about the vertical
        [rad/s]. With 6 links, joints are float32 `[5]` and velocities float32 `[18]`; with 15, float32 `[14]` and
        float32 `[45]`. With `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64,
        bit for bit dm_control's but for the last bits of `to_target`.

    Action: controls of the motors in `[-1, 1]`: float32 `[5]` with 6 links, float32 `[14]` with 15. MuJoCo clips what
        lies outside.

    Reward: 1 where the nose is in the target, and less outside by a long-tailed sigmoid that is 0.1 at a distance of
        five of its radii.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the joints are uniform within their limits, the head is turned at random, at rest. The target is
        uniform in a square, of half width 0.3 m in one of five episodes, and of 2 m otherwise.

    >>> SuiteSwimmer(num_links=4).action_space.shape
    (3,)
    """

    frame_skip: int = field(pytree_node=False, default=15)
    task: str = field(pytree_node=False, default="swim")
    num_links: int = field(pytree_node=False, default=6, kw_only=True)  # bodies in a row, the head included

    tasks: ClassVar = ("swim",)
    reads: ClassVar = ("geom_xpos", "sensordata", "xmat")
    view: ClassVar = View(3.2, 2.4, elevation=-90.0, follow=(0, 1), grid=0.5)

    def __post_init__(self) -> None:
        require_size("num_links", self.num_links, MIN_LINKS)
        super().__post_init__()

    def own_model(self) -> CompiledModel:
        """Return the model with so many links."""
        return _model(self.num_links)

    def start(self, key: jax.Array) -> Start:
        """Return any pose, and a target."""
        pose_key, close_key, target_key = jax.random.split(key, 3)
        half = jnp.where(jax.random.bernoulli(close_key, CLOSE_PROBABILITY), CLOSE, FAR)
        target = between(target_key, -half, half, (2,))
        return Start(qpos=random_joints(self.model.mjmodel, pose_key), variables=target)

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return the places of the geoms, with the target's."""
        return self.changed_field("geom_pos", (self.model.mjmodel.geom("target").id, slice(2)), variables)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return angles, the way to the target, and the velocities of the links."""
        velocities = data.sensordata[12:].reshape(-1, 6)[:, np.array([0, 1, 5], np.int32)]
        seen = {"joints": data.qpos[3:], "to_target": self.to_target(data)}
        return {**seen, "body_velocities": velocities.reshape(-1)}

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return how close the nose is to the target."""
        del action
        size = float(self.model_row("geom_size", "target", "geom")[0])
        return tolerance(jnp.linalg.norm(self.to_target(data)), (0.0, size), margin=5 * size, sigmoid="long_tail")

    def to_target(self, data: NamedData) -> Float[Array, "2"]:
        """Return the way from the nose to the target, in the frame of the head [m]."""
        way = data.geom("target").xpos - data.geom("nose").xpos
        return (way @ data.body("head").xmat.reshape(3, 3))[:2]


@functools.cache
def _model(num_links: int) -> CompiledModel:
    tree = read_model("swimmer.xml")
    (parent,) = tree.findall("./worldbody/body")
    actuators, sensors = ElementTree.SubElement(tree, "actuator"), ElementTree.SubElement(tree, "sensor")
    limit = 360.0 / num_links
    for number in range(num_links - 1):
        child = ElementTree.SubElement(parent, "body", name=f"segment_{number}", pos="0 .1 0")
        for kind in ("visual", "inertial"):
            ElementTree.SubElement(child, "geom", {"class": kind, "name": f"{kind}_{number}"})
        ElementTree.SubElement(child, "site", name=f"site_{number}")
        ElementTree.SubElement(child, "joint", name=f"joint_{number}", range=f"{-limit} {limit}")
        ElementTree.SubElement(actuators, "motor", name=f"motor_{number}", joint=f"joint_{number}")
        for kind in ("velocimeter", "gyro"):
            ElementTree.SubElement(sensors, kind, name=f"{kind}_{number}", site=f"site_{number}")
        parent = child
    for camera in tree.findall("./worldbody/body/camera"):
        if camera.get("mode") == "trackcom":
            place = (float(number) * num_links / 6 for number in camera.get("pos", "").split(" "))
            camera.set("pos", " ".join(map(str, place)))
    return compile_model(tree, f"dm_control's swimmer with {num_links} links")

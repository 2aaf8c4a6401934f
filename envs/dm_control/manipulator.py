"""Bring a ball or a peg to a target with an arm in a plane, or insert it into a cup or a slot.

The model and the rules are those of dm_control 1.0.50's domain `manipulator`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.dm_control.assets import compile_model, read_model, remove
from funcenv.envs.dm_control.draws import between, on_circle
from funcenv.envs.dm_control.planar_arm import PlanarArm, pose, site_distance, velocities
from funcenv.envs.dm_control.suite_task import PLANE
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_env import exact
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

CLOSE = 0.01  # distance within which things are close [m]
IN_HAND_PROBABILITY, IN_TARGET_PROBABILITY = 0.1, 0.1  # probabilities that an object starts there
_RECEPTACLES = {"ball": "cup", "peg": "slot"}
_PARTS = ("upper_arm", "middle_arm", "lower_arm", "hand")  # bodies of the arm, each on the end of the one before


class SuiteManipulator(PlanarArm):
    """Planar manipulator of dm_control's suite.

    Observation: a dict of `arm_pos`, float32 `[8, 2]`: sine and cosine of the angles of the arm's four joints, finger,
        fingertip, thumb and thumbtip; `arm_vel`, float32 `[8]`: their velocities [rad/s]; `touch`, float32 `[5]`:
        log(1 + force [N]) at palm, finger, thumb and both tips; `hand_pos`, float32 `[4]`: x and z [m], and w and y of
        the quaternion; `object_pos`, float32 `[4]`: the same of the object; `object_vel`, float32 `[3]`: along x and z
        [m/s], and its rotation [rad/s]; and `target_pos`, float32 `[4]`. With `flat_observation=True` it is one array
        in this order. With `jax_enable_x64` it is float64, bit for bit dm_control's but for the last bit of sines,
        cosines and logarithms.

    Action: float32 `[5]`: torques of the arm's four joints, and of the grasp, in `[-1, 1]`; gears multiply them. MuJoCo
        clips what lies outside.

    Reward: 1 where the object is within 1 cm of the target, and less outside by a Gaussian that is 0.1 at a distance of
        2 cm more. A peg counts half by its middle and half by its tip, or a third by how well the hand grasps it.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the angles are uniform within their limits, those of finger and thumb alike, and the target is
        uniform in a rectangle, where nothing touches. The object is in the hand or in the target in one of ten episodes
        each, and else anywhere, with a velocity along x that is uniform within 5 m/s. Like dm_control, the task keeps
        this velocity where a start with contacts is drawn again, with the object in the hand or in the target.

    >>> SuiteManipulator(task="insert_peg").observation_space["arm_pos"].shape
    (8, 2)
    """

    task: str = field(pytree_node=False, default="bring_ball")

    tasks: ClassVar = ("bring_ball", "bring_peg", "insert_ball", "insert_peg")

    @property
    def object(self) -> str:
        """The body to bring: the ball, or the peg."""
        return self.task.rpartition("_")[2]

    @property
    def target(self) -> str:
        """The body that marks the target."""
        return f"target_{self.object}"

    @property
    def inserts(self) -> bool:
        """True for the tasks that have a cup or a slot around the target."""
        return self.task.startswith("insert")

    def own_model(self) -> CompiledModel:
        """Return the model with the object of the task."""
        return _model(self.object, self.inserts)

    def starts(self, key: jax.Array) -> Start:
        """Return starts, each with the velocity of the last one before it whose object was thrown."""
        starts = super().starts(key)
        column = self._object_columns("dof")[0]
        order = jnp.arange(self.num_starts)
        thrown = jax.lax.cummax(jnp.where(starts.qvel[:, column] != 0, order, -1))
        kept = jnp.where(thrown < 0, 0.0, starts.qvel[thrown, column])
        return starts.replace(qvel=starts.qvel.at[:, column].set(kept))

    def start(self, key: jax.Array) -> Start:
        """Return any pose, a target, and a place of the object."""
        arm_key, target_key, turn_key, choice_key, object_key, velocity_key = jax.random.split(key, 6)
        arm = self.arm_positions(arm_key)
        target = between(target_key, np.array([-0.4, 0.1]), np.array([0.4, 0.4]))
        limit = math.pi / 3 if self.inserts else math.pi
        turn = between(turn_key, -limit, limit)
        anywhere = between(object_key, np.zeros(3) - [0.5, 0, 0], np.array([0.5, 0.7, 2 * math.pi]))
        chosen = between(choice_key, 0.0, 1.0)
        is_in_hand = chosen < IN_HAND_PROBABILITY
        is_in_target = ~is_in_hand & (chosen < IN_HAND_PROBABILITY + IN_TARGET_PROBABILITY)
        found = jnp.where(is_in_target, jnp.append(target, turn), jnp.where(is_in_hand, self._grasp(arm), anywhere))
        velocity = jnp.where(is_in_hand | is_in_target, 0.0, between(velocity_key, -5.0, 5.0))
        positions = self.positions(arm).at[self._object_columns("qpos")].set(found)
        sine, cosine = on_circle(turn / 2, 1.0)
        return Start(
            qpos=positions,
            qvel=self.velocities({f"{self.object}_x": velocity}),
            variables=jnp.concatenate([target, jnp.stack([cosine, sine])]),
        )

    def _grasp(self, arm: dict[str, Any]) -> Float[Array, "3"]:
        """Return x and z between the fingers [m], and the angle of an object there [rad]."""
        lengths = [self.model_row("body_pos", part, "body")[2] for part in _PARTS]
        lengths.append(self.model_row("site_pos", "grasp", "site")[2])
        x, z, angle = jnp.zeros((), float), jnp.asarray(lengths[0], float), jnp.zeros((), float)
        sine, cosine = jnp.zeros((), float), jnp.ones((), float)
        for joint, length in zip(("arm_root", "arm_shoulder", "arm_elbow", "arm_wrist"), lengths[1:], strict=True):
            angle = exact(angle + arm[joint])
            sine, cosine = on_circle(angle, 1.0)
            x, z = exact(x - exact(length * sine)), exact(z + exact(length * cosine))
        return jnp.stack([x, z, exact(math.pi - exact(jnp.arctan2(sine, cosine)))])

    def _object_columns(self, kind: str) -> np.ndarray:
        """Return where x, z and angle of the object are in qpos, or in qvel ("dof")."""
        joints = (self.model.mjmodel.joint(f"{self.object}_{axis}") for axis in "xzy")
        return np.array([int((one.qposadr if kind == "qpos" else one.dofadr)[0]) for one in joints], np.int32)

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return places and turns of the bodies, with those of target and receptacle."""
        mjmodel = self.model.mjmodel
        moved = [self.target, *([_RECEPTACLES[self.object]] if self.inserts else [])]
        numbers = np.array([[mjmodel.body(name).id] for name in moved], np.int32)
        places = self.changed_field("body_pos", (numbers, PLANE), variables[:2])
        return places | self.changed_field("body_quat", (numbers, PLANE), variables[2:])

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the arm feels, and where hand, object and target are."""
        return {
            **self.arm_entries(data),
            "hand_pos": pose(data, "hand"),
            "object_pos": pose(data, self.object),
            "object_vel": velocities(data, tuple(f"{self.object}_{axis}" for axis in "xzy")),
            "target_pos": pose(data, self.target),
        }

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return how close the object is to the target, or the hand to the peg."""
        del action
        if self.object == "ball":
            return _closeness(data, "ball", "target_ball")
        grasping = (_closeness(data, "peg_grasp", "grasp") + _closeness(data, "peg_pinch", "pinch")) / 2
        bringing = (_closeness(data, "peg", "target_peg") + _closeness(data, "target_peg_tip", "peg_tip")) / 2
        return jnp.maximum(bringing, grasping / 3)


def _closeness(data: NamedData, first: str, second: str) -> jax.Array:
    return tolerance(site_distance(data, first, second), (0.0, CLOSE), margin=2 * CLOSE)


@functools.cache
def _model(object: str, inserts: bool) -> CompiledModel:
    tree = read_model("manipulator.xml")
    for name, receptacle in _RECEPTACLES.items():
        used = [name, f"target_{name}", *([receptacle] if inserts else [])] if name == object else []
        for body in (name, f"target_{name}", receptacle):
            if body not in used:
                remove(tree, "body", body)
    return compile_model(tree, f"dm_control's manipulator with the {object}")

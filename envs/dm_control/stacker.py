"""Stack boxes with an arm in a plane.

The model and the rules are those of dm_control 1.0.50's domain `stacker`.
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
from funcenv.envs.dm_control.draws import between
from funcenv.envs.dm_control.planar_arm import PlanarArm, place, pose, site_distance, velocities
from funcenv.envs.dm_control.suite_task import PLANE
from funcenv.envs.dm_control.tolerance import tolerance
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_env import exact
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

MAX_BOXES = 4  # boxes in the file
FAR, CLOSE = 0.1, 0.01  # distance from which the hand is far from the target, and how sharp this bound is [m]


class SuiteStacker(PlanarArm):
    """Planar stacker of dm_control's suite.

    Observation: a dict of `arm_pos`, float32 `[8, 2]`: sine and cosine of the angles of the arm's four joints, finger,
        fingertip, thumb and thumbtip; `arm_vel`, float32 `[8]`: their velocities [rad/s]; `touch`, float32 `[5]`:
        log(1 + force [N]) at palm, finger, thumb and both tips; `hand_pos`, float32 `[4]`: x and z [m], and w and y of
        the quaternion; `box_pos`: the same of each box; `box_vel`: the velocities of each box along x [m/s], around y
        [rad/s] and along z [m/s]; and `target_pos`, float32 `[2]`: x and z [m]. With two boxes `box_pos` is float32
        `[2, 4]` and `box_vel` float32 `[6]`, with four boxes float32 `[4, 4]` and float32 `[12]`. With
        `flat_observation=True` it is one array in this order. With `jax_enable_x64` it is float64, bit for bit
        dm_control's but for the last bit of sines, cosines and logarithms.

    Action: float32 `[5]`: torques of the arm's four joints, and of the grasp, in `[-1, 1]`; gears multiply them. MuJoCo
        clips what lies outside.

    Reward: a Gaussian of the distance from the target to the nearest box, 0.1 at 4.4 cm, times a factor that is 1 where
        the hand is at least 10 cm away from the target.

    Termination: never, unless the simulation diverges. The ids are truncated after 1,000 steps.

    Initial state: the angles are uniform within their limits, those of finger and thumb alike, and the boxes are turned
        at random and uniform in x from 0.1 to 0.3 m and in z from 0 to 0.7 m, where nothing touches, at rest. The
        target is uniform in x within 0.37 m, at the height of any box of the stack.

    >>> SuiteStacker(task="stack_4").observation_space["box_pos"].shape
    (4, 4)
    """

    task: str = field(pytree_node=False, default="stack_2")

    tasks: ClassVar = ("stack_2", "stack_4")

    @property
    def boxes(self) -> tuple[str, ...]:
        """The names of the boxes."""
        return tuple(f"box{number}" for number in range(int(self.task.rpartition("_")[2])))

    def own_model(self) -> CompiledModel:
        """Return the model with the boxes of the task."""
        return _model(len(self.boxes))

    def start(self, key: jax.Array) -> Start:
        """Return any pose, places of the boxes, and a target."""
        arm_key, box_key, target_key, height_key = jax.random.split(key, 4)
        low, high = [0.1, 0.0, 0.0], [0.3, 0.7, 2 * math.pi]
        rows = len(self.boxes), 1
        places = between(box_key, np.tile(low, rows), np.tile(high, rows))
        moved = {f"{box}_{axis}": places[i, j] for i, box in enumerate(self.boxes) for j, axis in enumerate("xzy")}
        level = 2 * jax.random.randint(height_key, (), 0, len(self.boxes)) + 1
        height = exact(self.half_size * level.astype(float))
        target = jnp.stack([between(target_key, -0.37, 0.37), height])
        return Start(qpos=self.positions({**self.arm_positions(arm_key), **moved}), variables=target)

    @property
    def half_size(self) -> float:
        """Half of the width of a box [m]."""
        return float(self.model_row("geom_size", "target", "geom")[0])

    def model_changes(self, variables: Any) -> dict[str, Any]:
        """Return the places of the bodies, with the target's."""
        return self.changed_field("body_pos", (self.model.mjmodel.body("target").id, PLANE), variables)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return what the arm feels, and where hand, boxes and target are."""
        return {
            **self.arm_entries(data),
            "hand_pos": pose(data, "hand"),
            "box_pos": jnp.stack([pose(data, box) for box in self.boxes]),
            "box_vel": velocities(data, tuple(f"{box}_{axis}" for box in self.boxes for axis in "xyz")),
            "target_pos": place(data, "target"),
        }

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return how close a box is to the target, where the hand is away."""
        del action
        nearest = jnp.min(jnp.stack([site_distance(data, box, "target") for box in self.boxes]))
        is_far = tolerance(site_distance(data, "grasp", "target"), (FAR, math.inf), margin=CLOSE)
        return tolerance(nearest, margin=2 * self.half_size) * is_far


@functools.cache
def _model(num_boxes: int) -> CompiledModel:
    tree = read_model("stacker.xml")
    for number in range(num_boxes, MAX_BOXES):
        remove(tree, "body", f"box{number}")
    return compile_model(tree, f"dm_control's stacker with {num_boxes} boxes")

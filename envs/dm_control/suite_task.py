"""The base of the tasks of dm_control's suite."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_one_of
from funcenv.envs.dm_control.assets import suite_model
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.envs.mujoco.mujoco_task import MujocoTask, TaskState
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.struct import field

XX, XZ, ZX, ZY, ZZ = 0, 2, 6, 7, 8  # entries of a rotation matrix in `mjData`; XZ is row x, column z
PLANE = np.array([0, 2], np.int32)  # x and z of a vector; w and y of the quaternion of a turn in their plane


class SuiteTask(MujocoTask):
    """The base class of the tasks of dm_control's suite.

    A subclass defines `start`, `entries` and `score`, and names its tasks.
    """

    task: str = field(pytree_node=False, default="")  # the task of the domain
    flat_observation: bool = field(pytree_node=False, default=False, kw_only=True)  # true for one array in dm's order

    tasks: ClassVar[tuple[str, ...]] = ()
    xml_file: ClassVar[str] = ""  # the model's file in the suite

    def __post_init__(self) -> None:
        require_one_of("task", self.task, self.tasks)
        super().__post_init__()

    def own_model(self) -> CompiledModel:
        """Return the model in the file of the domain."""
        return suite_model(self.xml_file)

    def entries(self, data: NamedData) -> dict[str, jax.Array]:
        """Return the entries of the observation in dm_control's order."""
        raise NotImplementedError(f"{type(self).__name__} must define entries(data)")

    def score(self, data: NamedData, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the reward of a step that led to this data."""
        raise NotImplementedError(f"{type(self).__name__} must define score(data, action)")

    def observation(self, state: TaskState, key: jax.Array) -> Any:
        """Return a dict of the entries, or all of them in one array."""
        del key
        seen = self.entries(self.data(state))
        if self.flat_observation:
            return jnp.concatenate([jnp.ravel(entry) for entry in seen.values()])
        return seen

    def reward(self, state: TaskState, action: Float[Array, "nu"], next_state: TaskState) -> Float[Array, ""]:
        """Return the reward of the state after the step."""
        del state
        return self.score(self.data(next_state), jnp.asarray(action, float))

    @property
    def reward_range(self) -> tuple[float, float]:
        """Every reward of the suite is from 0 to 1."""
        return 0.0, 1.0

    def model_row(self, name: str, element: str, of: str) -> Any:
        """Return the values of a field of the model that belong to a named element of a kind."""
        mjmodel = self.model.mjmodel
        return getattr(mjmodel, name)[getattr(mjmodel, of)(element).id]

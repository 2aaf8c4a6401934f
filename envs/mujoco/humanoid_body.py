"""The base of Humanoid and HumanoidStandup: the body, its observation, and the first state."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.mujoco.locomotion import LocomotionEnv
from funcenv.envs.mujoco.mujoco_env import MujocoState
from funcenv.struct import field

_NUM_ROOT_FORCES = 6  # forces of the torso's free joint, which has no actuator


class HumanoidEnv(LocomotionEnv):
    """The base class of environments with the humanoid."""

    frame_skip: int = field(pytree_node=False, default=5)
    reset_noise_scale: float = field(default=1e-2, kw_only=True)
    include_cinert_in_observation: bool = field(
        pytree_node=False, default=True, kw_only=True
    )  # true to observe inertias and masses
    include_cvel_in_observation: bool = field(
        pytree_node=False, default=True, kw_only=True
    )  # true to observe velocities of the bodies
    include_qfrc_actuator_in_observation: bool = field(
        pytree_node=False, default=True, kw_only=True
    )  # true to observe torques of the motors
    include_cfrc_ext_in_observation: bool = field(
        pytree_node=False, default=True, kw_only=True
    )  # true to observe contact forces

    num_coordinates: ClassVar = 2
    outputs: ClassVar = ("cinert", "cvel", "qfrc_actuator", "cfrc_ext", "ten_length", "ten_velocity")

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return positions, velocities, and those fields of `mjData` that are included."""
        fields = [state.outputs[name][first:].reshape(-1) for name, first in self._included]
        return jnp.concatenate([super().observation(state, key), *fields])

    def describe_body(self, state: MujocoState) -> dict[str, Any]:
        """Return the position, and the lengths and velocities of the tendons."""
        return {
            "x_position": state.qpos[0],
            "y_position": state.qpos[1],
            "tendon_length": state.outputs["ten_length"],
            "tendon_velocity": state.outputs["ten_velocity"],
        }

    @property
    def _included(self) -> list[tuple[str, int]]:
        """The fields that are observed, and how many of their first rows are not: the world body, or the free joint."""
        flags = {
            ("cinert", 1): self.include_cinert_in_observation,
            ("cvel", 1): self.include_cvel_in_observation,
            ("qfrc_actuator", _NUM_ROOT_FORCES): self.include_qfrc_actuator_in_observation,
            ("cfrc_ext", 1): self.include_cfrc_ext_in_observation,
        }
        return [name for name, flag in flags.items() if flag]

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        shapes = self.simulation.shapes()
        rows = {name: (shapes[name][0] - first, *shapes[name][1:]) for name, first in self._included}
        return super().num_observed + sum(map(math.prod, rows.values()))

"""The base of robots that move about: the first state, the observation, rewards, and health."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.envs.mujoco.mujoco_env import MujocoEnv, MujocoState, is_within, squared_sum
from funcenv.struct import field


class LocomotionEnv(MujocoEnv):
    """The base class of robots that move about, whose place is observed only on demand."""

    ctrl_cost_weight: float = field(default=0.1, kw_only=True)  # weight of the squared actions in the reward
    reset_noise_scale: float = field(default=0.1, kw_only=True)  # size of the noise in the initial state
    exclude_current_positions_from_observation: bool = field(
        pytree_node=False, default=True, kw_only=True
    )  # true to leave out the place

    num_coordinates: ClassVar[int] = 1  # numbers at the beginning of qpos that give the robot's position
    has_normal_velocities: ClassVar[bool] = False  # at the start; otherwise they are uniform

    def start(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return noise around the model's pose."""
        return self.noisy_start(key, self.has_normal_velocities)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return positions and velocities."""
        del key
        return jnp.concatenate([state.qpos[self.num_excluded :], state.qvel])

    def control_cost(self, action: Float[Array, "nu"]) -> Float[Array, ""]:
        """Return the cost of the controls."""
        return self.ctrl_cost_weight * squared_sum(action)

    @property
    def num_excluded(self) -> int:
        """Number of positions at the beginning of qpos that are not observed."""
        return self.num_coordinates * int(self.exclude_current_positions_from_observation)

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        return int(self.model.mjmodel.nq + self.model.mjmodel.nv) - self.num_excluded


class RunnerEnv(LocomotionEnv):
    """The base class of robots that are rewarded for moving along x."""

    forward_reward_weight: float = field(default=1.0, kw_only=True)  # weight of the velocity along x in the reward

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the reward of moving forward and the cost of the controls."""
        del state
        return {
            "reward_forward": self.forward_reward_weight * self.velocity(next_state)[0],
            "reward_ctrl": -self.control_cost(action),
        }


class WalkerEnv(RunnerEnv):
    """The base class of robots that are also rewarded for health; a subclass defines `is_healthy`."""

    healthy_reward: float = field(default=1.0, kw_only=True)  # reward of a step in which the robot is healthy
    terminate_when_unhealthy: bool = field(
        pytree_node=False, default=True, kw_only=True
    )  # true to end episodes when unhealthy
    healthy_z_range: tuple[float, float] = field(
        default=(-float("inf"), float("inf")), kw_only=True
    )  # bounds of a healthy height [m]

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the rewards of moving forward and of health, and the cost of the controls."""
        survival = self.healthy_reward * self.is_healthy(next_state).astype(float)
        return {**super().reward_terms(state, action, next_state), "reward_survive": survival}

    def terminal(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the robot is unhealthy or the simulation diverged."""
        return (~self.is_healthy(state) & self.terminate_when_unhealthy) | state.unstable

    def is_healthy(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the robot is healthy."""
        raise NotImplementedError(f"{type(self).__name__} must define is_healthy(state)")


class PlanarWalkerEnv(WalkerEnv):
    """The base class of Hopper and Walker2d, which walk in a plane."""

    ctrl_cost_weight: float = field(default=1e-3, kw_only=True)
    reset_noise_scale: float = field(default=5e-3, kw_only=True)
    healthy_angle_range: tuple[float, float] = field(
        default=(-float("inf"), float("inf")), kw_only=True
    )  # bounds of a healthy angle of the torso [rad]

    velocities: ClassVar = ("x_velocity",)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return positions and clipped velocities."""
        return super().observation(state.replace(qvel=jnp.clip(state.qvel, -10.0, 10.0)), key)

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the position, and the height above that of the model's own pose."""
        return {"x_position": state.qpos[0], "z_distance_from_origin": state.qpos[1] - self.init_qpos[1]}

    def is_healthy(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether height and angle of the torso are within their ranges."""
        healthy_z = is_within(state.qpos[1], self.healthy_z_range)
        return healthy_z & is_within(state.qpos[2], self.healthy_angle_range)

"""Make a one-legged figure in a plane hop forward.

Erez, Tassa and Todorov, "Infinite-Horizon Model Predictive Control for Periodic Tasks with Contacts", RSS 2011. The
model and the rules are those of Gymnasium 1.4.0's `Hopper-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.envs.mujoco.mujoco_env import MujocoEnv, MujocoState, is_within, squared_sum
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class Hopper(MujocoEnv):
    """Hopper.

    Observation: float32 `[11]`: height of the torso [m], angles of torso and joints `[4]` [rad], clipped velocities of
        torso and joints `[6]` [m/s or rad/s]. Velocities are clipped to -10 and 10.
        `exclude_current_positions_from_observation=False` puts the x coordinate of the torso first. With
        `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[3]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside; the cost does not.

    Reward: `forward_reward_weight` times the velocity along x [m/s], plus `healthy_reward` while healthy, minus
        `ctrl_cost_weight` times the sum of the squared actions.

    Termination: the hopper is not healthy, unless `terminate_when_unhealthy` is False; or the simulation diverges.
        It is healthy while height, angle, and all of angle, joint positions and velocities lie strictly within
        `healthy_z_range`, `healthy_angle_range` and `healthy_state_range`.

    Initial state: positions and velocities are uniform within `reset_noise_scale` of the model's own.

    >>> import funcenv
    >>> env = Hopper(healthy_reward=0.5)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> timestep.observation.shape
    (11,)
    """

    xml_file: str = field(pytree_node=False, default="hopper.xml")
    frame_skip: int = field(pytree_node=False, default=4)
    default_camera_config: Any = field(
        pytree_node=False,
        default=(("trackbodyid", 2), ("distance", 3.0), ("lookat", (0.0, 0.0, 1.15)), ("elevation", -20.0)),
    )
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = field(pytree_node=False, default=True)
    healthy_state_range: tuple[float, float] = (-100.0, 100.0)
    healthy_z_range: tuple[float, float] = (0.7, float("inf"))
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = field(pytree_node=False, default=True)

    velocities: ClassVar = ("x_velocity",)
    view: ClassVar = View(3.2, 2.4, (0.0, 0.0, 0.75), elevation=-12.0, follow=(0,), grid=1.0, stage=1.5)

    def start(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return noise around the model's pose, uniform also in the velocities."""
        return self.noisy_start(key)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return positions and clipped velocities."""
        del key
        return jnp.concatenate([state.qpos[self.num_excluded :], jnp.clip(state.qvel, -10.0, 10.0)])

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the rewards of running forward and of health, and the cost of the controls."""
        del state
        return {
            "reward_forward": self.forward_reward_weight * self.velocity(next_state)[0],
            "reward_ctrl": -self.ctrl_cost_weight * squared_sum(action),
            "reward_survive": self.healthy_reward * self.is_healthy(next_state).astype(float),
        }

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the position, and the height above that of the model's own pose."""
        return {"x_position": state.qpos[0], "z_distance_from_origin": state.qpos[1] - self.init_qpos[1]}

    def terminal(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the hopper is unhealthy or the simulation diverged."""
        return (~self.is_healthy(state) & self.terminate_when_unhealthy) | state.unstable

    def is_healthy(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether height, angle and all other numbers are within their ranges."""
        others = jnp.concatenate([state.qpos, state.qvel])[2:]
        healthy_state = jnp.all(is_within(others, self.healthy_state_range))
        healthy_z = is_within(state.qpos[1], self.healthy_z_range)
        return healthy_state & healthy_z & is_within(state.qpos[2], self.healthy_angle_range)

    @property
    def num_excluded(self) -> int:
        """How many positions at the beginning of qpos are not observed."""
        return int(self.exclude_current_positions_from_observation)

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        return int(self.model.mjmodel.nq + self.model.mjmodel.nv) - self.num_excluded

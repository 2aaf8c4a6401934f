"""Balance two poles, one on the other, on a cart that moves along a rail.

The model and the rules are those of Gymnasium 1.4.0's `InvertedDoublePendulum-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.envs.mujoco.mujoco_env import MujocoEnv, MujocoState
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field

MIN_HEIGHT = 1.0  # least height of the tip [m]


class InvertedDoublePendulum(MujocoEnv):
    """InvertedDoublePendulum.

    Observation: float32 `[9]`: position of the cart [m], sines of both angles `[2]`, cosines of both angles `[2]`,
        velocity of the cart [m/s], velocities of both angles `[2]` [rad/s], force of the constraint on the cart [N].
        Velocities and force are clipped to -10 and 10. With `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[1]`: control of the motor in `[-1, 1]`; its gear turns it into a force. MuJoCo clips what lies
        outside.

    Reward: `healthy_reward` unless the episode ends; minus `0.01 x^2 + (y - 2)^2` for the tip at x and y [m]; minus
        `1e-3 v1^2 + 5e-3 v2^2` for the velocities of the angles [rad/s].

    Termination: the tip is not above 1 m, or the simulation diverges.

    Initial state: positions are uniform within `reset_noise_scale` of 0, velocities are normal with this standard
        deviation.

    >>> InvertedDoublePendulum(healthy_reward=1.0).observation_space.shape
    (9,)
    """

    xml_file: str = field(pytree_node=False, default="inverted_double_pendulum.xml")
    frame_skip: int = field(pytree_node=False, default=5)
    default_camera_config: Any = field(pytree_node=False, default=None)
    healthy_reward: float = 10.0  # reward of a step that does not end the episode
    reset_noise_scale: float = 0.1  # size of the noise in the initial state

    outputs: ClassVar = ("site_xpos", "qfrc_constraint")
    view: ClassVar = View(4.4, 2.8)

    def start(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return noise around the model's pose, normal in the velocities."""
        return self.noisy_start(key, normal_velocities=True)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return position, sines and cosines, velocities, and the force on the cart."""
        del key
        angles = state.qpos[1:]
        parts = [state.qpos[:1], jnp.sin(angles), jnp.cos(angles), jnp.clip(state.qvel, -10.0, 10.0)]
        return jnp.concatenate([*parts, jnp.clip(state.outputs["qfrc_constraint"], -10.0, 10.0)[:1]])

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the reward of survival, and the penalties of distance and velocity."""
        del state, action
        x, _, y = next_state.outputs["site_xpos"][0]
        v1, v2 = next_state.qvel[1:3]
        return {
            "reward_survive": self.healthy_reward * (~self.terminal(next_state)).astype(float),
            "distance_penalty": -(0.01 * x**2 + (y - 2) ** 2),
            "velocity_penalty": -(1e-3 * v1**2 + 5e-3 * v2**2),
        }

    def terminal(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the tip is too low, or the simulation diverged."""
        return (state.outputs["site_xpos"][0, 2] <= MIN_HEIGHT) | state.unstable

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        return 9

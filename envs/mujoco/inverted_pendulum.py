"""Balance a pole on a cart that moves along a rail.

Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems", IEEE
Trans. SMC 13(5), 1983, with a force of any size. The model and the rules are those of Gymnasium 1.4.0's
`InvertedPendulum-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.envs.mujoco.mujoco_env import MujocoEnv, MujocoState
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field

MAX_ANGLE = 0.2  # greatest angle of the pole [rad]


class InvertedPendulum(MujocoEnv):
    """InvertedPendulum.

    Observation: float32 `[4]`: position of the cart [m], angle of the pole [rad], velocity of the cart [m/s], velocity
        of the pole [rad/s]. With `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[1]`: control of the motor in `[-3, 3]`; its gear turns it into a force. MuJoCo clips what lies
        outside.

    Reward: 1 for every step that does not end the episode.

    Termination: the pole leans by more than 0.2 rad, or the simulation diverges.

    Initial state: positions and velocities are uniform within `reset_noise_scale` of 0.

    >>> InvertedPendulum(reset_noise_scale=0.1).observation_space.shape
    (4,)
    """

    xml_file: str = field(pytree_node=False, default="inverted_pendulum.xml")
    frame_skip: int = field(pytree_node=False, default=2)
    default_camera_config: Any = field(pytree_node=False, default=(("trackbodyid", 0), ("distance", 2.04)))
    reset_noise_scale: float = 0.01  # size of the noise in the initial state

    view: ClassVar = View(3.0, 1.6, (0.0, 0.0, 0.2))

    def start(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return noise around the model's pose, uniform also in the velocities."""
        return self.noisy_start(key)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return positions and velocities."""
        del key
        return jnp.concatenate([state.qpos, state.qvel])

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return 1 unless the episode ends."""
        del state, action
        return {"reward_survive": (~self.terminal(next_state)).astype(float)}

    def terminal(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the pole leans too far, or the simulation diverged."""
        return (jnp.abs(state.qpos[1]) > MAX_ANGLE) | state.unstable

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        return int(self.model.mjmodel.nq + self.model.mjmodel.nv)

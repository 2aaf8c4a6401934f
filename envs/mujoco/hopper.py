"""Make a one-legged figure in a plane hop forward.

Erez, Tassa and Todorov, "Infinite-Horizon Model Predictive Control for Periodic Tasks with Contacts", RSS 2011. The
model and the rules are those of Gymnasium 1.4.0's `Hopper-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool

from funcenv.envs.mujoco.locomotion import PlanarWalkerEnv
from funcenv.envs.mujoco.mujoco_env import MujocoState, is_within
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class Hopper(PlanarWalkerEnv):
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

    >>> Hopper(healthy_reward=0.5).observation_space.shape
    (11,)
    """

    xml_file: str = field(pytree_node=False, default="hopper.xml")
    frame_skip: int = field(pytree_node=False, default=4)
    default_camera_config: Any = field(
        pytree_node=False,
        default=(("trackbodyid", 2), ("distance", 3.0), ("lookat", (0.0, 0.0, 1.15)), ("elevation", -20.0)),
    )
    healthy_state_range: tuple[float, float] = field(
        default=(-100.0, 100.0), kw_only=True
    )  # bounds of all numbers of a healthy state but x and height
    healthy_z_range: tuple[float, float] = field(default=(0.7, float("inf")), kw_only=True)
    healthy_angle_range: tuple[float, float] = field(default=(-0.2, 0.2), kw_only=True)

    view: ClassVar = View(3.2, 2.4, (0.0, 0.0, 0.75), elevation=-12.0, follow=(0,), grid=1.0, stage=1.5)

    def is_healthy(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether height, angle and all other numbers are within their ranges."""
        others = jnp.concatenate([state.qpos, state.qvel])[2:]
        return super().is_healthy(state) & jnp.all(is_within(others, self.healthy_state_range))

"""Make a robot with four legs walk forward.

Schulman, Moritz, Levine, Jordan and Abbeel, "High-Dimensional Continuous Control Using Generalized Advantage
Estimation", ICLR 2016. The model and the rules are those of Gymnasium 1.4.0's `Ant-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.envs.mujoco.locomotion import WalkerEnv
from funcenv.envs.mujoco.mujoco_env import MujocoState, describe_place, squared_sum
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class Ant(WalkerEnv):
    """Ant.

    Observation: float32 `[105]`: height of the torso [m], orientation of the torso as a quaternion `[4]`, angles of the
        joints `[8]` [rad], velocity of the torso `[3]` [m/s], rotation of the torso `[3]` [rad/s], velocities of the
        joints `[8]` [rad/s], torques and forces of contacts on each body but the world `[78]` [N m or N]. Torques and
        forces are clipped to `contact_force_range`. `exclude_current_positions_from_observation=False` puts the
        coordinates x and y of the torso first, and `include_cfrc_ext_in_observation=False` leaves out the forces. With
        `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[8]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside; the cost does not.

    Reward: `forward_reward_weight` times the velocity of `main_body` along x [m/s], plus `healthy_reward` while
        healthy, minus `ctrl_cost_weight` times the sum of the squared actions, minus `contact_cost_weight` times the
        sum of the squared clipped forces.

    Termination: the ant is not healthy, unless `terminate_when_unhealthy` is False; or the simulation diverges. It is
        healthy while its state is finite and the height of the torso is within `healthy_z_range`, bounds included.

    Initial state: positions are uniform within `reset_noise_scale` of the model's own, velocities are normal with this
        standard deviation.

    >>> Ant(include_cfrc_ext_in_observation=False).observation_space.shape
    (27,)
    """

    xml_file: str = field(pytree_node=False, default="ant.xml")
    frame_skip: int = field(pytree_node=False, default=5)
    default_camera_config: Any = field(pytree_node=False, default=(("distance", 4.0),))
    ctrl_cost_weight: float = field(default=0.5, kw_only=True)
    contact_cost_weight: float = field(default=5e-4, kw_only=True)  # weight of the squared contact forces in the reward
    main_body: int | str = field(
        pytree_node=False, default=1, kw_only=True
    )  # number or name of the body whose velocity is rewarded
    healthy_z_range: tuple[float, float] = field(default=(0.2, 1.0), kw_only=True)
    contact_force_range: tuple[float, float] = field(
        default=(-1.0, 1.0), kw_only=True
    )  # bounds to which contact forces are clipped
    include_cfrc_ext_in_observation: bool = field(
        pytree_node=False, default=True, kw_only=True
    )  # true to observe the contact forces

    outputs: ClassVar = ("cfrc_ext",)
    num_coordinates: ClassVar = 2
    has_normal_velocities: ClassVar = True
    velocities: ClassVar = ("x_velocity", "y_velocity")
    view: ClassVar = View(3.6, 2.7, (0.0, 0.0, 0.4), azimuth=60.0, elevation=-30.0, follow=(0, 1), grid=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.model.body_id(self.main_body)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return positions, velocities and contact forces."""
        forces = [self.contact_forces(state)[1:].reshape(-1)] if self.include_cfrc_ext_in_observation else []
        return jnp.concatenate([super().observation(state, key), *forces])

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the rewards of walking forward and of health, and the costs of controls and contacts."""
        contact_cost = self.contact_cost_weight * squared_sum(self.contact_forces(next_state))
        return {**super().reward_terms(state, action, next_state), "reward_contact": -contact_cost}

    def contact_forces(self, state: MujocoState) -> Float[Array, "nbody 6"]:
        """Return the clipped torques and forces of contacts on each body."""
        low, high = self.contact_force_range
        return jnp.clip(state.outputs["cfrc_ext"], low, high)

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the position."""
        return describe_place(state)

    def is_healthy(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the state is finite and the torso at a good height."""
        low, high = self.healthy_z_range
        finite = jnp.isfinite(state.qpos).all() & jnp.isfinite(state.qvel).all()
        return finite & (low <= state.qpos[2]) & (state.qpos[2] <= high)

    @property
    def tracked(self) -> str | int:
        """The main body."""
        return self.model.body_id(self.main_body)

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        num_forces = 6 * (self.model.mjmodel.nbody - 1) * int(self.include_cfrc_ext_in_observation)
        return super().num_observed + int(num_forces)

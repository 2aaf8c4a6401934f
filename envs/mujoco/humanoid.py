"""Make a human figure walk forward without falling.

Tassa, Erez and Todorov, "Synthesis and stabilization of complex behaviors through online trajectory optimization", IROS
2012. The model and the rules are those of Gymnasium 1.4.0's `Humanoid-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.envs.mujoco.humanoid_body import HumanoidEnv
from funcenv.envs.mujoco.locomotion import WalkerEnv
from funcenv.envs.mujoco.mujoco_env import MujocoState, is_within, squared_sum
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class Humanoid(HumanoidEnv, WalkerEnv):
    """Humanoid.

    Observation: float32 `[348]`: height of the torso [m], orientation of the torso as a quaternion `[4]`, angles of the
        joints `[17]` [rad], velocity of the torso `[3]` [m/s], rotation of the torso `[3]` [rad/s], velocities of the
        joints `[17]` [rad/s], inertia and mass of each body but the world `[130]`, rotation and velocity of each body
        about the centre of mass `[78]`, torques of the motors on the joints `[17]` [N m], torques and forces of
        contacts on each body `[78]` [N m or N]. `exclude_current_positions_from_observation=False` puts the coordinates
        x and y of the torso first, and four arguments leave out the last four entries of the list. With
        `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[17]`: controls of the motors in `[-0.4, 0.4]`; their gear turns them into torques. MuJoCo clips
        what lies outside; the cost does not.

    Reward: `forward_reward_weight` times the velocity of the centre of mass along x [m/s], plus `healthy_reward` while
        healthy, minus `ctrl_cost_weight` times the sum of the squared actions, minus `contact_cost_weight` times the
        sum of the squared contact forces, which is clipped to `contact_cost_range`.

    Termination: the torso's height is not strictly within `healthy_z_range`, unless `terminate_when_unhealthy` is
        False; or the simulation diverges.

    Initial state: positions and velocities are uniform within `reset_noise_scale` of the model's own.

    >>> Humanoid(include_cinert_in_observation=False).observation_space.shape
    (218,)
    """

    xml_file: str = field(pytree_node=False, default="humanoid.xml")
    default_camera_config: Any = field(
        pytree_node=False,
        default=(("trackbodyid", 1), ("distance", 4.0), ("lookat", (0.0, 0.0, 2.0)), ("elevation", -20.0)),
    )
    forward_reward_weight: float = field(default=1.25, kw_only=True)
    contact_cost_weight: float = field(default=5e-7, kw_only=True)  # weight of the squared contact forces in the reward
    contact_cost_range: tuple[float, float] = field(
        default=(-float("inf"), 10.0), kw_only=True
    )  # bounds to which the cost of contacts is clipped
    healthy_reward: float = field(default=5.0, kw_only=True)
    healthy_z_range: tuple[float, float] = field(default=(1.0, 2.0), kw_only=True)

    velocities: ClassVar = ("x_velocity", "y_velocity")
    view: ClassVar = View(3.2, 2.4, (0.0, 0.0, 0.8), azimuth=60.0, elevation=-20.0, follow=(0, 1), grid=1.0)

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the rewards of health and of walking forward, and the costs of controls and contacts."""
        low, high = self.contact_cost_range
        contact_cost = self.contact_cost_weight * squared_sum(next_state.outputs["cfrc_ext"])
        terms = super().reward_terms(state, action, next_state)
        return {**terms, "reward_contact": -jnp.clip(contact_cost, low, high)}

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the position, its distance from the origin, and the tendons."""
        return {**self.describe_body(state), "distance_from_origin": jnp.linalg.norm(state.qpos[:2])}

    def is_healthy(self, state: MujocoState) -> Bool[Array, ""]:
        """Return whether the torso is at a good height."""
        return is_within(state.qpos[2], self.healthy_z_range)

    @property
    def tracked(self) -> str | int:
        """The centre of mass."""
        return "com"

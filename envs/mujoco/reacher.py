"""Move the fingertip of an arm with two joints to a target.

The model and the rules are those of Gymnasium 1.4.0's `Reacher-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.mujoco.mujoco_env import MujocoEnv, MujocoState, exact, squared_sum, uniform
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field

MAX_TARGET_DISTANCE = 0.2  # greatest distance from the base of the arm [m]
JOINT_NOISE, VELOCITY_NOISE = 0.1, 0.005  # largest deviations of the first state [rad, rad/s]


class Reacher(MujocoEnv):
    """Reacher.

    Observation: float32 `[10]`: cosines of both angles `[2]`, sines of both angles `[2]`, target's x and y `[2]` [m],
        velocities of both angles `[2]` [rad/s], x and y of the fingertip from the target `[2]` [m]. With
        `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[2]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside; the cost does not.

    Reward: minus `reward_dist_weight` times the distance from fingertip to target [m], minus `reward_control_weight`
        times the sum of the squared actions.

    Termination: never, unless the simulation diverges.

    Initial state: angles are uniform in -0.1 to 0.1, their velocities in -0.005 to 0.005; the target is uniform in the
        disc of radius 0.2 around the base of the arm.

    >>> Reacher(reward_control_weight=0.1).observation_space.shape
    (10,)
    """

    xml_file: str = field(pytree_node=False, default="reacher.xml")
    frame_skip: int = field(pytree_node=False, default=2)
    default_camera_config: Any = field(pytree_node=False, default=(("trackbodyid", 0),))
    reward_dist_weight: float = 1.0  # weight of the distance from fingertip to target
    reward_control_weight: float = 1.0  # weight of the squared actions

    outputs: ClassVar = ("xpos",)
    view: ClassVar = View(0.72, 0.66, elevation=-90.0)

    def start(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return noise around the model's pose, and a target at rest in the disc."""
        angle_key, target_key, velocity_key = jax.random.split(key, 3)
        qpos = self.init_qpos + exact(JOINT_NOISE * uniform(angle_key, self.init_qpos.shape))
        radius, turn = jax.random.uniform(target_key, (2,), float)
        distance, angle = exact(MAX_TARGET_DISTANCE * exact(jnp.sqrt(radius))), exact(2 * jnp.pi * turn)
        target = jnp.stack([distance * exact(jnp.cos(angle)), distance * exact(jnp.sin(angle))])
        qvel = VELOCITY_NOISE * uniform(velocity_key, (self.model.mjmodel.nv,))
        return qpos.at[-2:].set(target), qvel.at[-2:].set(0.0)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return cosines and sines of the angles, target, velocities, and the way from target to fingertip."""
        del key
        angles = state.qpos[:2]
        way = self.way_to_fingertip(state)[:2]
        return jnp.concatenate([jnp.cos(angles), jnp.sin(angles), state.qpos[2:], state.qvel[:2], way])

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the costs of distance and controls."""
        del state
        return {
            "reward_dist": -self.reward_dist_weight * jnp.linalg.norm(self.way_to_fingertip(next_state)),
            "reward_ctrl": -self.reward_control_weight * squared_sum(action),
        }

    def way_to_fingertip(self, state: MujocoState) -> Float[Array, "3"]:
        """Return the position of the fingertip, from the target [m]."""
        xpos, body = state.outputs["xpos"], self.model.body_id
        return xpos[body("fingertip")] - xpos[body("target")]

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        return 10

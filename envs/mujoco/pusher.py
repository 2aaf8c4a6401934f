"""Push a cylinder to a goal with an arm of seven joints.

The model and the rules are those of Gymnasium 1.4.0's `Pusher-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.mujoco.mujoco_env import MujocoEnv, MujocoState, exact, squared_sum, uniform
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field

MIN_GOAL_DISTANCE = 0.17  # least distance between cylinder and goal at the start [m]
VELOCITY_NOISE = 0.005  # largest velocity of the first state [rad/s]
_NUM_CANDIDATES = 48  # places of the cylinder; all of them are too near with a probability of 1e-20


class Pusher(MujocoEnv):
    """Pusher.

    Observation: float32 `[23]`: angles of the arm `[7]` [rad], velocities of the angles `[7]` [rad/s], position of the
        fingertip `[3]` [m], position of the cylinder `[3]` [m], position of the goal `[3]` [m]. With `jax_enable_x64`
        it is float64, bit for bit Gymnasium's.

    Action: float32 `[7]`: controls of the motors in `[-2, 2]`; their gear turns them into torques. MuJoCo clips what
        lies outside; the cost does not.

    Reward: minus `reward_dist_weight` times the distance from cylinder to goal [m], minus `reward_near_weight` times
        the distance from fingertip to cylinder [m], minus `reward_control_weight` times the sum of the squared actions.

    Termination: never, unless the simulation diverges.

    Initial state: the arm is in the model's own pose, with velocities uniform in -0.005 to 0.005. The cylinder is
        uniform in the part of the rectangle from (-0.3, -0.2) to (0, 0.2) that is more than 0.17 from the goal.

    >>> Pusher(reward_near_weight=0.0).observation_space.shape
    (23,)
    """

    xml_file: str = field(pytree_node=False, default="pusher_v5.xml")
    frame_skip: int = field(pytree_node=False, default=5)
    default_camera_config: Any = field(pytree_node=False, default=(("trackbodyid", -1), ("distance", 4.0)))
    reward_near_weight: float = 0.5  # weight of the distance from fingertip to cylinder
    reward_dist_weight: float = 1.0  # weight of the distance from cylinder to goal
    reward_control_weight: float = 0.1  # weight of the squared actions

    outputs: ClassVar = ("xpos",)
    mjx_fault: ClassVar = "MJX lets the cylinder sink into the table"
    view: ClassVar = View(1.9, 1.6, (0.3, -0.15, -0.2), azimuth=90.0, elevation=-55.0)

    def start(self, key: jax.Array) -> tuple[Float[Array, "nq"], Float[Array, "nv"]]:
        """Return the model's pose with the cylinder somewhere else, and noise in the arm's velocities."""
        place_key, velocity_key = jax.random.split(key)
        corner = jnp.array([-0.3, -0.2], float)
        size = jnp.array([0.3, 0.4], float)
        ways = exact(size[None] * jax.random.uniform(place_key, (_NUM_CANDIDATES, 2), float))
        candidates = corner[None] + ways
        is_far = jnp.linalg.norm(candidates, axis=1) > MIN_GOAL_DISTANCE
        qpos = self.init_qpos.at[-4:].set(jnp.concatenate([candidates[jnp.argmax(is_far)], jnp.zeros(2, float)]))
        qvel = VELOCITY_NOISE * uniform(velocity_key, (self.model.mjmodel.nv,))
        return qpos, qvel.at[-4:].set(0.0)

    def observation(self, state: MujocoState, key: jax.Array) -> Float[Array, "size"]:
        """Return the arm's angles and velocities, and the positions of fingertip, cylinder and goal."""
        del key
        places = [self.place(state, body) for body in ("tips_arm", "object", "goal")]
        return jnp.concatenate([state.qpos[:7], state.qvel[:7], *places])

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the costs of both distances and of the controls."""
        del state
        cylinder = self.place(next_state, "object")
        near = jnp.linalg.norm(cylinder - self.place(next_state, "tips_arm"))
        return {
            "reward_dist": -self.reward_dist_weight * jnp.linalg.norm(cylinder - self.place(next_state, "goal")),
            "reward_ctrl": -self.reward_control_weight * squared_sum(action),
            "reward_near": -self.reward_near_weight * near,
        }

    def place(self, state: MujocoState, body: str) -> Float[Array, "3"]:
        """Return the position of a body [m]."""
        return state.outputs["xpos"][self.model.body_id(body)]

    @property
    def num_observed(self) -> int:
        """The length of an observation."""
        return 23

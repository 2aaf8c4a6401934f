"""Make a snake of three links in a viscous fluid swim forward.

Coulom, "Reinforcement Learning Using Neural Networks, with Applications to Motor Control", 2002. The model and the
rules are those of Gymnasium 1.4.0's `Swimmer-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from funcenv.envs.mujoco.locomotion import RunnerEnv
from funcenv.envs.mujoco.mujoco_env import MujocoState, describe_place
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class Swimmer(RunnerEnv):
    """Swimmer.

    Observation: float32 `[8]`: angle of the first link [rad], angles of the joints `[2]` [rad], velocities of the first
        link along x and y `[2]` [m/s], velocities of the angles `[3]` [rad/s].
        `exclude_current_positions_from_observation=False` puts the coordinates x and y of the first link first. With
        `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[2]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside; the cost does not.

    Reward: `forward_reward_weight` times the velocity along x [m/s], minus `ctrl_cost_weight` times the sum of the
        squared actions.

    Termination: never, unless the simulation diverges.

    Initial state: positions and velocities are uniform within `reset_noise_scale` of the model's own.

    >>> Swimmer(exclude_current_positions_from_observation=False).observation_space.shape
    (10,)
    """

    xml_file: str = field(pytree_node=False, default="swimmer.xml")
    frame_skip: int = field(pytree_node=False, default=4)
    default_camera_config: Any = field(pytree_node=False, default=None)
    ctrl_cost_weight: float = field(default=1e-4, kw_only=True)

    num_coordinates: ClassVar = 2
    velocities: ClassVar = ("x_velocity", "y_velocity")
    view: ClassVar = View(4.5, 3.0, elevation=-90.0, follow=(0, 1), grid=1.0)

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the position."""
        return describe_place(state)

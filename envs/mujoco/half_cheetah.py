"""Make a cheetah in a plane run forward as fast as possible.

Wawrzynski, "A Cat-Like Robot Real-Time Learning to Run", ICANNGA 2009. The model and the rules are those of Gymnasium
1.4.0's `HalfCheetah-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from funcenv.envs.mujoco.locomotion import RunnerEnv
from funcenv.envs.mujoco.mujoco_env import MujocoState
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class HalfCheetah(RunnerEnv):
    """HalfCheetah.

    Observation: float32 `[17]`: height of the torso [m], angles of torso and joints `[7]` [rad], velocities of torso
        and joints `[9]` [m/s or rad/s]. `exclude_current_positions_from_observation=False` puts the x coordinate of the
        torso first. With `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[6]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside; the cost does not.

    Reward: `forward_reward_weight` times the velocity along x [m/s], minus `ctrl_cost_weight` times the sum of the
        squared actions.

    Termination: never, unless the simulation diverges.

    Initial state: positions are uniform within `reset_noise_scale` of the model's own, velocities are normal with this
        standard deviation.

    >>> HalfCheetah(ctrl_cost_weight=0.0).observation_space.shape
    (17,)
    """

    xml_file: str = field(pytree_node=False, default="half_cheetah.xml")
    frame_skip: int = field(pytree_node=False, default=5)
    default_camera_config: Any = field(pytree_node=False, default=(("distance", 4.0),))

    has_normal_velocities: ClassVar = True
    velocities: ClassVar = ("x_velocity",)
    view: ClassVar = View(4.0, 2.0, (0.0, 0.0, 0.45), elevation=-12.0, follow=(0,), grid=1.0, stage=1.5)

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the position."""
        return {"x_position": state.qpos[0]}

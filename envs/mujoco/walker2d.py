"""Make a two-legged figure in a plane walk forward.

Erez, Tassa and Todorov, "Infinite-Horizon Model Predictive Control for Periodic Tasks with Contacts", RSS 2011. The
model and the rules are those of Gymnasium 1.4.0's `Walker2d-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from funcenv.envs.mujoco.locomotion import PlanarWalkerEnv
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class Walker2d(PlanarWalkerEnv):
    """Walker2d.

    Observation: float32 `[17]`: height of the torso [m], angles of torso and joints `[7]` [rad], clipped velocities of
        torso and joints `[9]` [m/s or rad/s]. Velocities are clipped to -10 and 10.
        `exclude_current_positions_from_observation=False` puts the x coordinate of the torso first. With
        `jax_enable_x64` it is float64, bit for bit Gymnasium's.

    Action: float32 `[6]`: controls of the motors in `[-1, 1]`; their gear turns them into torques. MuJoCo clips what
        lies outside; the cost does not.

    Reward: `forward_reward_weight` times the velocity along x [m/s], plus `healthy_reward` while healthy, minus
        `ctrl_cost_weight` times the sum of the squared actions.

    Termination: the walker is not healthy, unless `terminate_when_unhealthy` is False; or the simulation diverges.
        It is healthy while height and angle lie strictly within `healthy_z_range` and `healthy_angle_range`.

    Initial state: positions and velocities are uniform within `reset_noise_scale` of the model's own.

    >>> Walker2d(healthy_reward=0.5).observation_space.shape
    (17,)
    """

    xml_file: str = field(pytree_node=False, default="walker2d_v5.xml")
    frame_skip: int = field(pytree_node=False, default=4)
    default_camera_config: Any = field(
        pytree_node=False,
        default=(("trackbodyid", 2), ("distance", 4.0), ("lookat", (0.0, 0.0, 1.15)), ("elevation", -20.0)),
    )
    healthy_z_range: tuple[float, float] = field(default=(0.8, 2.0), kw_only=True)
    healthy_angle_range: tuple[float, float] = field(default=(-1.0, 1.0), kw_only=True)

    view: ClassVar = View(3.6, 2.4, (0.0, 0.0, 0.75), elevation=-12.0, follow=(0,), grid=1.0, stage=1.5)

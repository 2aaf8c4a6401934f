"""Make a human figure that lies on the ground stand up.

Tassa, Erez and Todorov, "Synthesis and stabilization of complex behaviors through online trajectory optimization", IROS
2012. The model and the rules are those of Gymnasium 1.4.0's `HumanoidStandup-v5`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.envs.mujoco.humanoid_body import HumanoidEnv
from funcenv.envs.mujoco.mujoco_env import MujocoState, squared_sum
from funcenv.envs.mujoco.mujoco_scene import View
from funcenv.struct import field


class HumanoidStandup(HumanoidEnv):
    """HumanoidStandup.

    Observation: float32 `[348]`: that of `Humanoid`.

    Action: float32 `[17]`: that of `Humanoid`.

    Reward: 1, plus the height of the torso [m] over the time of a simulation step [s], minus `ctrl_cost_weight` times
        the sum of the squared actions, minus `impact_cost_weight` times the sum of the squared contact forces, which is
        clipped to `impact_cost_range`. `uph_cost_weight` has no effect, as in Gymnasium.

    Termination: never, unless the simulation diverges.

    Initial state: positions and velocities are uniform within `reset_noise_scale` of the model's own, in which the
        figure lies on its back.

    >>> HumanoidStandup(ctrl_cost_weight=0.0).observation_space.shape
    (348,)
    """

    xml_file: str = field(pytree_node=False, default="humanoidstandup.xml")
    default_camera_config: Any = field(
        pytree_node=False,
        default=(("trackbodyid", 1), ("distance", 4.0), ("lookat", (0.0, 0.0, 0.8925)), ("elevation", -20.0)),
    )
    uph_cost_weight: float = field(pytree_node=False, default=1)  # no effect, as in Gymnasium
    impact_cost_weight: float = 0.5e-6  # weight of the squared contact forces in the reward
    impact_cost_range: tuple[float, float] = (-float("inf"), 10.0)  # bounds to which the cost of impacts is clipped

    view: ClassVar = View(3.2, 2.4, (0.0, 0.0, 0.5), azimuth=60.0, elevation=-25.0, follow=(0, 1), grid=1.0)

    def reward(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> Float[Array, ""]:
        """Return the sum of the terms of the reward, plus 1."""
        return super().reward(state, action, next_state) + 1.0

    def reward_terms(self, state: MujocoState, action: Float[Array, "nu"], next_state: MujocoState) -> dict[str, Any]:
        """Return the reward of height, and the costs of controls and impacts."""
        del state
        low, high = self.impact_cost_range
        impact_cost = self.impact_cost_weight * squared_sum(next_state.outputs["cfrc_ext"])
        return {
            "reward_linup": next_state.qpos[2] / float(self.model.mjmodel.opt.timestep),
            "reward_quadctrl": -self.control_cost(action),
            "reward_impact": -jnp.clip(impact_cost, low, high),
        }

    def describe(self, state: MujocoState) -> dict[str, Any]:
        """Return the position, the height above that of the model's own pose, and the tendons."""
        return {**self.describe_body(state), "z_distance_from_origin": state.qpos[2] - self.init_qpos[2]}

"""Drive a car out of a valley with an engine too weak to climb the hill directly.

The engine pushes left, right or not at all; with a the action, `push = (a - 1) force`. The track, the motion and their
source are described in `mountain_car_dynamics.py`. Parameters, thresholds and rewards are those of Gymnasium 1.4.0's
`MountainCar-v0`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from funcenv.checks import require_finite
from funcenv.envs.classic_control.mountain_car_dynamics import MountainCarDynamics, MountainCarState
from funcenv.spaces import Discrete


class MountainCar(MountainCarDynamics[Int[Array, ""]]):
    """MountainCar.

    Observation: float32 `[2]`: position [m] in `[min_position, max_position]`, velocity [m/step] in `[-max_speed,
        max_speed]`. With a wider initial range, episodes may start outside of these bounds.

    Action: 0 pushes left, 1 does not push, 2 pushes right. Less than 0 acts as 0, more than 2 as 2.

    Reward: -1 for every step, including the one that ends the episode.

    Termination: `position >= goal_position` and `velocity >= goal_velocity`. `MountainCar-v0` is truncated after 200
        steps.

    Initial state: position uniform in `[low, high)`, velocity 0.

    Raises:
        ValueError: `min_position > max_position`, `low > high`, or a `max_speed` or `hill_frequency` that is not above
            0.

    >>> import funcenv
    >>> env = MountainCar(goal_velocity=0.02)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 2, funcenv.key(1))
    >>> timestep.observation.shape, float(timestep.reward)
    ((2,), -1.0)
    """

    force: float = 0.001  # velocity that a push adds [m/step^2]

    action_names = ("push left", "no push", "push right")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_finite(force=self.force)

    def transition(self, state: MountainCarState, action: Int[Array, ""], key: jax.Array) -> MountainCarState:
        """Push the car for one step."""
        del key
        direction = jnp.clip(action, 0, 2).astype(float) - 1
        return self.drive(state, direction * self.force)

    def reward(self, state: MountainCarState, action: Int[Array, ""], next_state: MountainCarState) -> Float[Array, ""]:
        """Return -1."""
        del state, action, next_state
        return -jnp.ones((), float)

    @property
    def action_space(self) -> Discrete:
        """Left, no push, or right."""
        return Discrete(3)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward."""
        return -1.0, -1.0

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys; without a key there is no push."""
        return {(): 1, ("left",): 0, ("right",): 2}

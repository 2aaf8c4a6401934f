"""Drive a car out of a valley with an engine too weak to climb the hill directly, and use little fuel.

This is the task of `mountain_car.py` with a throttle instead of three pushes, a stronger engine and a nearer goal. With
u the action clipped to its range, `push = u power`. The track, the motion and their source are described in
`mountain_car_dynamics.py`.

Parameters, thresholds and rewards are those of Gymnasium 1.4.0's `MountainCarContinuous-v0`, which charges for the
action before it is clipped. Gymnasium rounds this state to float32 after every step. Here only the observation is
rounded, and the state keeps JAX's precision: float64 under `jax_enable_x64`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_finite, require_ordered
from funcenv.envs.classic_control.mountain_car_dynamics import MountainCarDynamics, MountainCarState
from funcenv.func_env import reward_bounds
from funcenv.scene import Scene
from funcenv.spaces import Box


class MountainCarContinuousState(MountainCarState):
    """Position and velocity of the car, and the last throttle, which is drawn."""

    throttle: Float[Array, ""] | float = 0.0  # throttle of the last step, clipped; 0 after a reset


class MountainCarContinuous(MountainCarDynamics[Float[Array, "1"]]):
    """MountainCarContinuous.

    Observation: float32 `[2]`: position [m] in `[min_position, max_position]`, velocity [m/step] in `[-max_speed,
        max_speed]`. With a wider initial range, episodes may start outside of these bounds.

    Action: float32 `[1]`: throttle in `[min_action, max_action]`, positive to the right. The engine clips values
        beyond; the reward does not.

    Reward: `-0.1 action^2`, with the action as given, and 100 more for the step that ends the episode.

    Termination: `position >= goal_position` and `velocity >= goal_velocity`. `MountainCarContinuous-v0` is truncated
        after 999 steps.

    Initial state: position uniform in `[low, high)`, velocity 0.

    Raises:
        ValueError: `min_action > max_action`, `min_position > max_position`, `low > high`, or a `max_speed` or
            `hill_frequency` that is not above 0.

    >>> import funcenv, jax.numpy as jnp
    >>> env = MountainCarContinuous()
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, jnp.array([-1.0]), funcenv.key(1))
    >>> timestep.observation.shape, float(timestep.reward)
    ((2,), -0.1...)
    """

    goal_position: float = 0.45  # position of the flag [m]
    min_action: float = -1.0  # full throttle to the left
    max_action: float = 1.0  # full throttle to the right
    power: float = 0.0015  # velocity that a throttle of 1 adds [m/step^2]

    state_type = MountainCarContinuousState
    action_names = ("throttle",)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered("min_action", self.min_action, "max_action", self.max_action)
        require_finite(power=self.power)

    def initial(self, key: jax.Array) -> MountainCarState:
        """Return the car at rest, near the lowest point."""
        return super().initial(key).replace(throttle=jnp.zeros((), float))

    def transition(self, state: MountainCarState, action: Float[Array, "1"], key: jax.Array) -> MountainCarState:
        """Apply a constant throttle for one step."""
        del key
        throttle = jnp.clip(action[0].astype(float), self.min_action, self.max_action)
        return self.drive(state, throttle * self.power).replace(throttle=throttle)

    def reward(
        self, state: MountainCarState, action: Float[Array, "1"], next_state: MountainCarState
    ) -> Float[Array, ""]:
        """Return the reward of the goal, less the cost of the action."""
        del state
        return jnp.where(self.terminal(next_state), 100.0, 0.0) - 0.1 * action[0].astype(float) ** 2

    @property
    def action_space(self) -> Box:
        """The range of the throttle."""
        return Box(self.min_action, self.max_action, (1,))

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward: full throttle before the goal, and the least throttle at the goal."""
        least = np.clip(0.0, self.min_action, self.max_action)
        most = np.maximum(np.abs(self.min_action), np.abs(self.max_action))
        return reward_bounds(-0.1 * most**2, 100.0 - 0.1 * least**2)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys, at full power."""
        return {("left",): [-1.0], ("right",): [1.0]}

    def scene(self, state: MountainCarState) -> Scene:
        """Draw the car on the hill, a flag at the goal, and an arrow for the throttle."""
        assert isinstance(state, MountainCarContinuousState)
        greatest = jnp.maximum(jnp.abs(jnp.float32(self.min_action)), jnp.abs(jnp.float32(self.max_action)))
        return self.draw(state, jnp.float32(state.throttle) / jnp.maximum(greatest, 1e-6))

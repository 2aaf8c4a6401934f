"""Drive a car out of a valley with an engine too weak to climb the hill at once, and use little fuel.

The task of `mountain_car.py` with a throttle instead of three pushes, stronger and with a nearer goal. With u the
action clipped to its range,

    velocity' = velocity + u power - gravity cos 3x
    position' = position + velocity'

both clipped to their ranges. The car stops dead at the left end of the track. Parameters, thresholds and rewards are
Gymnasium 1.4.0's `MountainCarContinuous-v0`, with its habit of charging for the action as it was given, before it is
clipped. Its text says that the right end stops the car, too; its code, followed here, holds the position there and lets
the velocity be. Gymnasium rounds this state to float32 after every step; here the state keeps JAX's precision, float64
under `jax_enable_x64`, and only the observation is rounded.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.checks import require_finite, require_ordered, require_positive
from funcenv.envs.classic_control.mountain_car_scene import mountain_car_scene
from funcenv.envs.trigonometry import sincos
from funcenv.func_env import FuncEnv, reward_bounds
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode


class MountainCarContinuousState(PyTreeNode):
    """Where the car is, and how fast it moves."""

    position: Float[Array, ""]  # along the track, to the right; the valley's floor is at -pi/6 [m]
    velocity: Float[Array, ""]  # [m/step]


class MountainCarContinuous(FuncEnv[MountainCarContinuousState, Float[Array, "1"], Float[Array, "2"]]):
    """MountainCarContinuous.

    Observation: float32 `[2]`: position [m] in `[min_position, max_position]`, velocity [m/step] in `[-max_speed,
        max_speed]`. A wider initial range may start outside of them.

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

    min_action: float = -1.0  # full throttle to the left
    max_action: float = 1.0  # full throttle to the right
    min_position: float = -1.2  # left end of the track [m]
    max_position: float = 0.6  # right end of the track [m]
    max_speed: float = 0.07  # [m/step]
    goal_position: float = 0.45  # [m]
    goal_velocity: float = 0.0  # least velocity at the goal [m/step]
    power: float = 0.0015  # what a throttle of 1 adds to the velocity [m/step^2]
    gravity: float = 0.0025  # what the steepest slope adds to the velocity [m/step^2]
    hill_frequency: float = 3.0  # of the sine that the track follows [rad/m]
    low: float = -0.6  # bounds of the initial position [m]
    high: float = -0.4

    def __post_init__(self) -> None:
        require_ordered("min_action", self.min_action, "max_action", self.max_action)
        require_ordered("min_position", self.min_position, "max_position", self.max_position)
        require_positive(max_speed=self.max_speed, hill_frequency=self.hill_frequency)
        require_finite(
            power=self.power,
            gravity=self.gravity,
            goal_position=self.goal_position,
            goal_velocity=self.goal_velocity,
            min_position=self.min_position,
            max_position=self.max_position,
            low=self.low,
            high=self.high,
        )
        require_ordered("low", self.low, "high", self.high)

    @property
    def differentiable(self) -> bool:
        """Gradients of a step are finite."""
        return True

    def initial(self, key: jax.Array) -> MountainCarContinuousState:
        """At rest near the valley's floor."""
        position = jax.random.uniform(key, (), float, self.low, self.high)
        return MountainCarContinuousState(position=position, velocity=jnp.zeros((), float))

    def transition(
        self, state: MountainCarContinuousState, action: Float[Array, "1"], key: jax.Array
    ) -> MountainCarContinuousState:
        """One step under a constant throttle."""
        del key
        throttle = jnp.clip(action[0].astype(float), self.min_action, self.max_action)
        slope = sincos(self.hill_frequency * state.position)[1]
        velocity = state.velocity + (throttle * self.power - slope * self.gravity)
        velocity = jnp.clip(velocity, -self.max_speed, self.max_speed)
        position = jnp.clip(state.position + velocity, self.min_position, self.max_position)
        stopped = (position == self.min_position) & (velocity < 0)
        return MountainCarContinuousState(position=position, velocity=jnp.where(stopped, 0, velocity))

    def observation(self, state: MountainCarContinuousState, key: jax.Array) -> Float[Array, "2"]:
        """The state."""
        del key
        return jnp.stack([state.position, state.velocity]).astype(jnp.float32)

    def reward(
        self, state: MountainCarContinuousState, action: Float[Array, "1"], next_state: MountainCarContinuousState
    ) -> Float[Array, ""]:
        """The prize, less the fuel."""
        del state
        return jnp.where(self.terminal(next_state), 100.0, 0.0) - 0.1 * action[0].astype(float) ** 2

    def terminal(self, state: MountainCarContinuousState) -> Bool[Array, ""]:
        """The car is at the flag, and fast enough."""
        return (state.position >= self.goal_position) & (state.velocity >= self.goal_velocity)

    @property
    def observation_space(self) -> Box:
        """The track and the speed limit."""
        return Box([self.min_position, -self.max_speed], [self.max_position, self.max_speed])

    @property
    def action_space(self) -> Box:
        """The throttle's range."""
        return Box(self.min_action, self.max_action, (1,))

    @property
    def reward_range(self) -> tuple[float, float]:
        """Full throttle short of the flag, and the least throttle at it."""
        least = np.clip(0.0, self.min_action, self.max_action)
        most = np.maximum(np.abs(self.min_action), np.abs(self.max_action))
        return reward_bounds(-0.1 * most**2, 100.0 - 0.1 * least**2)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Left and right arrow, with full power."""
        return {("left",): [-1.0], ("right",): [1.0]}

    def scene(self, state: MountainCarContinuousState) -> Scene:
        """The car on the hill, and the flag at the goal."""
        track = self.min_position, self.max_position
        return mountain_car_scene(state.position, track, self.goal_position, self.hill_frequency)

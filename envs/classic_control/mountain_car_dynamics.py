"""A car on a hill: the track, the motion and the goal that both mountain cars share.

Moore, "Efficient memory-based learning for robot control", PhD thesis, University of Cambridge, 1990, in the form of
Sutton's code. The height of the track is proportional to sin(f x), with f the `hill_frequency`; with `push` the
acceleration by the engine,

    velocity' = velocity + push - gravity cos(f position)
    position' = position + velocity'

Both are clipped to their ranges, and the car stops dead at the left end of the track. The text of Gymnasium 1.4.0 says
that the right end stops the car, too. Its code, followed here, only holds the position there and keeps the velocity.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.checks import require_finite, require_ordered, require_positive
from funcenv.envs.classic_control.mountain_car_scene import draw_mountain_car
from funcenv.envs.trigonometry import sincos
from funcenv.func_env import Action, FuncEnv
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode


class MountainCarState(PyTreeNode):
    """Position and velocity of the car."""

    position: Float[Array, ""]  # along the track, to the right; the lowest point is at -pi/6 [m]
    velocity: Float[Array, ""]  # [m/step]


class MountainCarDynamics(FuncEnv[MountainCarState, Action, Float[Array, "2"]]):
    """The part of a mountain car that does not depend on its engine.

    A subclass defines `transition`, by means of `drive`, `reward` and `action_space`.
    """

    min_position: float = -1.2  # left end of the track [m]
    max_position: float = 0.6  # right end of the track [m]
    max_speed: float = 0.07  # bound of the speed [m/step]
    goal_position: float = 0.5  # position of the flag [m]
    goal_velocity: float = 0.0  # least velocity at the goal [m/step]
    gravity: float = 0.0025  # velocity that the steepest slope adds [m/step^2]
    hill_frequency: float = 3.0  # frequency of the sine that the track follows [rad/m]
    low: float = -0.6  # bounds of the initial position [m]
    high: float = -0.4

    differentiable = True
    state_type = MountainCarState

    def __post_init__(self) -> None:
        require_ordered("min_position", self.min_position, "max_position", self.max_position)
        require_positive(max_speed=self.max_speed, hill_frequency=self.hill_frequency)
        require_finite(gravity=self.gravity, goal_position=self.goal_position, goal_velocity=self.goal_velocity)
        require_finite(min_position=self.min_position, max_position=self.max_position, low=self.low, high=self.high)
        require_ordered("low", self.low, "high", self.high)

    def initial(self, key: jax.Array) -> MountainCarState:
        """Return the car at rest, near the lowest point."""
        position = jax.random.uniform(key, (), float, self.low, self.high)
        return self.state_type(position=position, velocity=jnp.zeros((), float))

    def drive(self, state: MountainCarState, push: Float[Array, ""]) -> MountainCarState:
        """Return the state one step later, after the engine has added `push` to the velocity."""
        slope = sincos(self.hill_frequency * state.position)[1]
        velocity = jnp.clip(state.velocity + (push - slope * self.gravity), -self.max_speed, self.max_speed)
        position = jnp.clip(state.position + velocity, self.min_position, self.max_position)
        stopped = (position == self.min_position) & (velocity < 0)
        return state.replace(position=position, velocity=jnp.where(stopped, 0, velocity))

    def observation(self, state: MountainCarState, key: jax.Array) -> Float[Array, "2"]:
        """Return the state as a vector."""
        del key
        return jnp.stack([state.position, state.velocity]).astype(jnp.float32)

    def terminal(self, state: MountainCarState) -> Bool[Array, ""]:
        """Return whether the car is at the goal and fast enough."""
        return (state.position >= self.goal_position) & (state.velocity >= self.goal_velocity)

    @property
    def observation_space(self) -> Box:
        """The track and the range of speeds."""
        return Box([self.min_position, -self.max_speed], [self.max_position, self.max_speed])

    def scene(self, state: MountainCarState) -> Scene:
        """Draw the car on the hill, and a flag at the goal."""
        return self.draw(state)

    def draw(self, state: MountainCarState, throttle: Any = None) -> Scene:
        """Return the drawing, with an arrow for a throttle from -1 to 1 if there is one."""
        track = self.min_position, self.max_position
        return draw_mountain_car(state.position, track, self.goal_position, self.hill_frequency, throttle)

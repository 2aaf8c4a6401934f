"""Swing a pendulum up and hold it there, with a motor too weak to lift it at once.

A uniform rod of mass m and length l hangs on a hinge, to which a torque u is applied:

    theta_acc = 3 g / (2 l) sin theta + 3 u / (m l^2)

One semi-implicit Euler step integrates the equation: the angle moves with the new velocity. Parameters, bounds and
rewards are those of Gymnasium 1.4.0's `Pendulum-v1`.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.checks import require_at_least, require_finite, require_positive
from funcenv.envs.classic_control.pendulum_scene import draw_pendulum
from funcenv.envs.trigonometry import sincos, wrap_angle
from funcenv.func_env import FuncEnv, reward_bounds
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode


class PendulumState(PyTreeNode):
    """Angle and angular velocity, and the last torque, which is drawn."""

    theta: Float[Array, ""]  # angle from upright, counter-clockwise, not wrapped [rad]
    theta_dot: Float[Array, ""]  # [rad/s]
    torque: Float[Array, ""] | float = 0.0  # torque of the last step, clipped; 0 after a reset [N m]


class Pendulum(FuncEnv[PendulumState, Float[Array, "1"], Float[Array, "3"]]):
    """Pendulum.

    Observation: float32 `[3]`: cos theta, sin theta, theta_dot [rad/s], bounded by 1, 1 and `max_speed`.

    Action: float32 `[1]`: torque [N m] in `[-max_torque, max_torque]`; values beyond are clipped.

    Reward: `-(theta^2 + 0.1 theta_dot^2 + 0.001 u^2)` of the state before the step, with theta wrapped to `[-pi, pi)`
        and u clipped. It is at most 0, and at least -16.2736044 with the default parameters.

    Termination: never. `Pendulum-v1` is truncated after 200 steps.

    Initial state: theta uniform in `[-x_init, x_init)`, theta_dot uniform in `[-y_init, y_init)`.

    Raises:
        ValueError: a mass, length, time step, speed or torque that is not above 0, or a negative initial range.

    >>> import funcenv, jax.numpy as jnp
    >>> env = Pendulum()
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, jnp.array([0.5]), funcenv.key(1))
    >>> timestep.observation.shape, bool(timestep.terminated)
    ((3,), False)
    """

    g: float = 10.0  # acceleration of gravity [m/s^2]
    m: float = 1.0  # mass of the rod [kg]
    l: float = 1.0  # length of the rod [m]  # noqa: E741  (Gymnasium's name)
    dt: float = 0.05  # time between steps [s]
    max_speed: float = 8.0  # bound of the angular velocity [rad/s]
    max_torque: float = 2.0  # bound of the torque [N m]
    x_init: float = math.pi  # half-range of the initial angle [rad]
    y_init: float = 1.0  # half-range of the initial angular velocity [rad/s]

    differentiable = True
    action_names = ("torque",)

    def __post_init__(self) -> None:
        require_positive(m=self.m, l=self.l, dt=self.dt, max_speed=self.max_speed, max_torque=self.max_torque)
        require_finite(g=self.g, x_init=self.x_init, y_init=self.y_init)
        require_at_least(0, "x_init", self.x_init, remedy="it is the half-width of a range around 0")
        require_at_least(0, "y_init", self.y_init, remedy="it is the half-width of a range around 0")

    def initial(self, key: jax.Array) -> PendulumState:
        """Return a random angle with a small velocity."""
        theta, theta_dot = jax.random.uniform(key, (2,), float, -1.0, 1.0)
        return PendulumState(theta * self.x_init, theta_dot * self.y_init, torque=jnp.zeros((), float))

    def transition(self, state: PendulumState, action: Float[Array, "1"], key: jax.Array) -> PendulumState:
        """Apply a constant torque for one semi-implicit Euler step."""
        del key
        torque = self._torque(state, action)
        acceleration = 3 * self.g / (2 * self.l) * sincos(state.theta)[0] + 3.0 / (self.m * self.l**2) * torque
        theta_dot = jnp.clip(state.theta_dot + acceleration * self.dt, -self.max_speed, self.max_speed)
        return PendulumState(theta=state.theta + theta_dot * self.dt, theta_dot=theta_dot, torque=torque)

    def observation(self, state: PendulumState, key: jax.Array) -> Float[Array, "3"]:
        """Return the direction of the rod and its angular velocity."""
        del key
        sin, cos = sincos(state.theta)
        return jnp.stack([cos, sin, state.theta_dot]).astype(jnp.float32)

    def reward(self, state: PendulumState, action: Float[Array, "1"], next_state: PendulumState) -> Float[Array, ""]:
        """Return minus the cost of the action and of the state in which it was taken."""
        del next_state
        torque = self._torque(state, action)
        return -(wrap_angle(state.theta) ** 2 + 0.1 * state.theta_dot**2 + 0.001 * torque**2)

    def terminal(self, state: PendulumState) -> Bool[Array, ""]:
        """Return False."""
        del state
        return jnp.zeros((), bool)

    @property
    def observation_space(self) -> Box:
        """Cosine and sine, and the range of the velocity."""
        return Box([-1.0, -1.0, -self.max_speed], [1.0, 1.0, self.max_speed])

    @property
    def action_space(self) -> Box:
        """The range of the torque."""
        return Box(-self.max_torque, self.max_torque, (1,))

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward: hanging down at full speed and torque, and at rest upright without torque."""
        speed = np.maximum(self.max_speed, self.y_init)
        return reward_bounds(-(math.pi**2 + 0.1 * speed**2 + 0.001 * np.square(self.max_torque)), 0.0)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys, at full torque."""
        return {("left",): [float(np.min(self.max_torque))], ("right",): [-float(np.min(self.max_torque))]}

    def scene(self, state: PendulumState) -> Scene:
        """Draw the rod, and an arrow in the direction of the torque."""
        return draw_pendulum(state.theta, self.l, jnp.float32(state.torque) / jnp.float32(self.max_torque))

    def _torque(self, state: PendulumState, action: Float[Array, "1"]) -> Float[Array, ""]:
        return jnp.clip(action[0].astype(state.theta.dtype), -self.max_torque, self.max_torque)

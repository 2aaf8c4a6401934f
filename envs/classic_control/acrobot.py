"""Swing the free end of a two-link pendulum above its pivot, with a motor at the joint between the links only.

Sutton, "Generalization in reinforcement learning: successful examples using sparse coarse coding", NIPS 8, 1996, with
the equations of Sutton and Barto, "Reinforcement learning: an introduction", 1998, section 11.3. With m the masses, l
the length of link 1, c the distances of the centres of mass from their joints, I the moment of inertia of each link,
and u the torque:

    d1         = m1 c1^2 + m2 (l^2 + c2^2 + 2 l c2 cos theta2) + 2 I
    d2         = m2 (c2^2 + l c2 cos theta2) + I
    phi2       = m2 c2 g sin(theta1 + theta2)
    phi1       = (m1 c1 + m2 l) g sin theta1 + phi2 - m2 l c2 theta2_dot (theta2_dot + 2 theta1_dot) sin theta2
    theta2_acc = (u + d2/d1 phi1 - m2 l c2 theta1_dot^2 sin theta2 - phi2) / (m2 c2^2 + I - d2^2/d1)
    theta1_acc = -(d2 theta2_acc + phi1) / d1

One step of the classical Runge-Kutta method integrates them under a constant torque. The paper omits the term in
theta1_dot^2 (`book_or_nips="nips"`). Parameters, bounds and rewards are those of Gymnasium 1.4.0's `Acrobot-v1`. Its
goal depends on the angles alone, as if both links had length 1. Nothing else depends on the length of link 2, which is
therefore not a parameter here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_at_least, require_finite, require_ordered, require_positive
from funcenv.envs.classic_control.acrobot_scene import draw_acrobot
from funcenv.envs.trigonometry import sincos
from funcenv.func_env import FuncEnv
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode, field

# theta1, theta2, theta1_dot, theta2_dot, or their time derivatives. They are scalars so that XLA fuses the whole step.
_Coordinates = tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""], Float[Array, ""]]


class AcrobotState(PyTreeNode):
    """Angles and angular velocities of the two joints, and the last torque, which is drawn."""

    theta1: Float[Array, ""]  # link 1, from hanging down, counter-clockwise, in [-pi, pi] [rad]
    theta2: Float[Array, ""]  # link 2, from the direction of link 1, in [-pi, pi] [rad]
    theta1_dot: Float[Array, ""]  # [rad/s]
    theta2_dot: Float[Array, ""]  # [rad/s]
    torque: Float[Array, ""] | float = 0.0  # torque on link 2 in the last step, with noise; 0 after a reset [N m]


class Acrobot(FuncEnv[AcrobotState, Int[Array, ""], Float[Array, "6"]]):
    """Acrobot.

    Observation: float32 `[6]`: cos theta1, sin theta1, cos theta2, sin theta2, theta1_dot [rad/s], theta2_dot [rad/s],
        bounded by 1, 1, 1, 1, `max_vel_1` and `max_vel_2`. With a wider initial range, episodes may start outside of
        these bounds.

    Action: 0, 1 or 2: the torque `avail_torque[action]` [N m]. Less than 0 acts as 0, more than 2 as 2.

    Reward: -1 for every step, but 0 for the step that reaches the goal.

    Termination: `-cos theta1 - cos(theta1 + theta2) > 1`: with links of 1 m, the free end is more than 1 m above the
        pivot. `Acrobot-v1` is truncated after 500 steps.

    Initial state: all four variables are uniform in `[low, high)`.

    Raises:
        ValueError: a length, mass, position, time step or speed that is not above 0; a negative `link_moi` or
            `torque_noise_max`; `low > high`; an unknown variant; a number of torques other than 3.
        TypeError: `avail_torque` is not a tuple.

    >>> import funcenv
    >>> env = Acrobot(torque_noise_max=0.1)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 2, funcenv.key(1))
    >>> timestep.observation.shape, float(timestep.reward)
    ((6,), -1.0)
    """

    dt: float = 0.2  # time between steps [s]
    gravity: float = 9.8  # acceleration of gravity [m/s^2]
    link_length_1: float = 1.0  # length of link 1 [m]
    link_mass_1: float = 1.0  # mass of link 1 [kg]
    link_mass_2: float = 1.0  # mass of link 2 [kg]
    link_com_pos_1: float = 0.5  # distance from the pivot to the centre of mass of link 1 [m]
    link_com_pos_2: float = 0.5  # distance from the joint to the centre of mass of link 2 [m]
    link_moi: float = 1.0  # moment of inertia of each link about its centre of mass [kg m^2]
    max_vel_1: float = 4 * math.pi  # bound of the angular velocity of link 1 [rad/s]
    max_vel_2: float = 9 * math.pi  # bound of the angular velocity of link 2 [rad/s]
    avail_torque: tuple[float, float, float] = (-1.0, 0.0, 1.0)  # torques of the three actions [N m]
    torque_noise_max: float = 0.0  # bound of the uniform noise added to the torque [N m]
    low: float = -0.1  # bounds of the initial state
    high: float = 0.1
    book_or_nips: str = field(pytree_node=False, default="book")  # equations of the book, or "nips": of the paper

    differentiable = True
    render_fps = 15  # three times real time, as in Gymnasium
    action_names = ("clockwise", "no torque", "anticlockwise")  # directions of the default torques

    def __post_init__(self) -> None:
        require_positive(
            dt=self.dt,
            link_length_1=self.link_length_1,
            link_mass_1=self.link_mass_1,
            link_mass_2=self.link_mass_2,
            link_com_pos_1=self.link_com_pos_1,
            link_com_pos_2=self.link_com_pos_2,
            max_vel_1=self.max_vel_1,
            max_vel_2=self.max_vel_2,
        )
        require_at_least(0, "link_moi", self.link_moi, remedy="0 puts all mass at the centre of mass")
        require_at_least(0, "torque_noise_max", self.torque_noise_max, remedy="leave it out for no noise")
        require_finite(gravity=self.gravity, low=self.low, high=self.high)
        require_ordered("low", self.low, "high", self.high)
        if not isinstance(self.avail_torque, tuple):
            raise TypeError(f"avail_torque must be a tuple of three torques, got {self.avail_torque!r}")
        if len(self.avail_torque) != 3:
            raise ValueError(f"avail_torque must hold three torques, one for each action, got {self.avail_torque!r}")
        if self.book_or_nips not in ("book", "nips"):
            raise ValueError(f'book_or_nips must be "book" or "nips", got {self.book_or_nips!r}')

    def initial(self, key: jax.Array) -> AcrobotState:
        """Return both links hanging nearly straight down and nearly at rest."""
        theta1, theta2, theta1_dot, theta2_dot = jax.random.uniform(key, (4,), float, self.low, self.high)
        return AcrobotState(theta1, theta2, theta1_dot, theta2_dot, torque=jnp.zeros((), float))

    def transition(self, state: AcrobotState, action: Int[Array, ""], key: jax.Array) -> AcrobotState:
        """Apply a constant torque for one Runge-Kutta step."""
        torque = self._torque(action, key)
        derivative = functools.partial(self._derivative, torque)
        start = state.theta1, state.theta2, state.theta1_dot, state.theta2_dot
        theta1, theta2, theta1_dot, theta2_dot = _runge_kutta(derivative, start, self.dt)
        return AcrobotState(
            theta1=_wrap_angle(theta1),
            theta2=_wrap_angle(theta2),
            theta1_dot=jnp.clip(theta1_dot, -self.max_vel_1, self.max_vel_1),
            theta2_dot=jnp.clip(theta2_dot, -self.max_vel_2, self.max_vel_2),
            torque=torque,
        )

    def observation(self, state: AcrobotState, key: jax.Array) -> Float[Array, "6"]:
        """Return the directions and the angular velocities of the joints."""
        del key
        sin1, cos1 = sincos(state.theta1)
        sin2, cos2 = sincos(state.theta2)
        return jnp.stack([cos1, sin1, cos2, sin2, state.theta1_dot, state.theta2_dot]).astype(jnp.float32)

    def reward(self, state: AcrobotState, action: Int[Array, ""], next_state: AcrobotState) -> Float[Array, ""]:
        """Return 0 at the goal and -1 elsewhere."""
        del state, action
        return jnp.where(self.terminal(next_state), 0.0, -1.0)

    def terminal(self, state: AcrobotState) -> Bool[Array, ""]:
        """Return whether the free end is above the goal line."""
        return -sincos(state.theta1)[1] - sincos(state.theta2 + state.theta1)[1] > 1.0

    @property
    def observation_space(self) -> Box:
        """Sines and cosines, and the ranges of the velocities."""
        high = [1.0, 1.0, 1.0, 1.0, self.max_vel_1, self.max_vel_2]
        return Box([-bound for bound in high], high)

    @property
    def action_space(self) -> Discrete:
        """One action per torque."""
        return Discrete(3)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward."""
        return -1.0, 0.0

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys; without a key there is no torque."""
        return {(): 1, ("left",): 0, ("right",): 2}

    def scene(self, state: AcrobotState) -> Scene:
        """Draw both links, the goal line, and an arrow for the torque."""
        greatest = jnp.max(jnp.abs(jnp.stack([jnp.float32(torque) for torque in self.avail_torque])))
        push = jnp.float32(state.torque) / jnp.maximum(greatest, 1e-6)
        return draw_acrobot(state.theta1, state.theta1 + state.theta2, self.link_length_1, push)

    def _torque(self, action: Int[Array, ""], key: jax.Array) -> Float[Array, ""]:
        first, second, third = self.avail_torque
        torque = jnp.where(action <= 0, first, jnp.where(action == 1, second, third))
        return torque + self.torque_noise_max * jax.lax.platform_dependent(key, cpu=self._noise, default=_draw_noise)

    def _noise(self, key: jax.Array) -> Float[Array, ""]:
        """Draw noise only where there is any, which saves a sixth of a step on a CPU; on a GPU a branch costs more."""
        noise: jax.Array = jax.lax.cond(self.torque_noise_max > 0, _draw_noise, _no_noise, key)
        return noise

    def _derivative(
        self,
        torque: Float[Array, ""],
        theta1: Float[Array, ""],
        theta2: Float[Array, ""],
        theta1_dot: Float[Array, ""],
        theta2_dot: Float[Array, ""],
    ) -> _Coordinates:
        """Return the time derivatives of the coordinates."""
        m1, m2, inertia = self.link_mass_1, self.link_mass_2, self.link_moi
        l1, c1, c2 = self.link_length_1, self.link_com_pos_1, self.link_com_pos_2
        (sin1, cos1), (sin2, cos2) = sincos(theta1), sincos(theta2)
        d1 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos2) + 2 * inertia
        d2 = m2 * (c2**2 + l1 * c2 * cos2) + inertia
        phi2 = m2 * c2 * self.gravity * (sin1 * cos2 + cos1 * sin2)  # sin(theta1 + theta2)
        coriolis = m2 * l1 * c2 * theta2_dot * (theta2_dot + 2 * theta1_dot) * sin2
        phi1 = (m1 * c1 + m2 * l1) * self.gravity * sin1 + phi2 - coriolis
        ratio = d2 / d1  # computed once: dependent divisions take most of the time of a single step
        pull = torque + ratio * phi1 - phi2
        if self.book_or_nips == "book":
            pull = pull - m2 * l1 * c2 * theta1_dot**2 * sin2
        theta2_acc = pull / (m2 * c2**2 + inertia - d2 * ratio)
        theta1_acc = -(ratio * theta2_acc + phi1 / d1)
        return theta1_dot, theta2_dot, theta1_acc, theta2_acc


def _draw_noise(key: jax.Array) -> Float[Array, ""]:
    return jax.random.uniform(key, (), float, -1.0, 1.0)


def _no_noise(key: jax.Array) -> Float[Array, ""]:
    """Return 0, computed from the key: both branches then lie on the same devices, as JAX's sharded types require."""
    return (0 * jax.random.key_data(key)[0]).astype(float)


def _runge_kutta(derivative: Callable[..., _Coordinates], start: _Coordinates, dt: float) -> _Coordinates:
    """Return the coordinates after one step of the classical fourth-order method."""
    k1 = derivative(*start)
    k2 = derivative(*_ahead(start, k1, dt / 2))
    k3 = derivative(*_ahead(start, k2, dt / 2))
    k4 = derivative(*_ahead(start, k3, dt))
    a, b, c, d = (r1 + 2 * r2 + 2 * r3 + r4 for r1, r2, r3, r4 in zip(k1, k2, k3, k4, strict=True))
    return _ahead(start, (a, b, c, d), dt / 6)


def _ahead(start: _Coordinates, rates: _Coordinates, time: float) -> _Coordinates:
    a, b, c, d = (value + time * rate for value, rate in zip(start, rates, strict=True))
    return a, b, c, d


def _wrap_angle(angle: Float[Array, ""]) -> Float[Array, ""]:
    """Return the same direction in [-pi, pi]; angles in this closed interval are unchanged."""
    turns = jnp.ceil((jnp.abs(angle) - math.pi) / (2 * math.pi))
    return angle - jnp.sign(angle) * turns * (2 * math.pi)

"""Balance a pole on a cart by pushing the cart left or right.

Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems", IEEE
Trans. SMC 13(5), 1983, without friction, in the form of Florian, "Correct equations for the dynamics of the cart-pole
system", 2007, equations 23 and 24. With M the mass of cart and pole, m and l the mass and half-length of the pole, and
F the force:

    temp      = (F + m l theta_dot^2 sin theta) / M
    theta_acc = (g sin theta - cos theta temp) / (l (4/3 - m cos^2 theta / M))
    x_acc     = temp - m l theta_acc cos theta / M

One Euler step integrates them: an explicit one, in which positions move with the old velocities, or a semi-implicit
one. Parameters, thresholds and rewards are those of Gymnasium 1.4.0's `CartPole-v1`. One thing differs: steps after the
pole has fallen are undefined there and pay 0; here they pay the same as the step of the fall.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_finite, require_ordered, require_positive
from funcenv.envs.classic_control.cartpole_scene import draw_cartpole
from funcenv.envs.trigonometry import sincos
from funcenv.func_env import FuncEnv
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode, field


class CartPoleState(PyTreeNode):
    """Positions and velocities of the cart and the pole."""

    x: Float[Array, ""]  # cart, from the middle of the track, to the right [m]
    x_dot: Float[Array, ""]  # [m/s]
    theta: Float[Array, ""]  # pole, from upright, clockwise [rad]
    theta_dot: Float[Array, ""]  # [rad/s]


class CartPole(FuncEnv[CartPoleState, Int[Array, ""], Float[Array, "4"]]):
    """CartPole.

    Observation: float32 `[4]`: x [m], x_dot [m/s], theta [rad], theta_dot [rad/s]. The bounds of x and theta are twice
        the thresholds, so that the last observation of an episode is inside; velocities are unbounded.

    Action: 0 pushes left, 1 pushes right. Any other integer pushes left.

    Reward: 1 for every step, including the one that ends the episode. With `sutton_barto_reward`: -1 for the step that
        ends the episode, 0 for all others.

    Termination: `|x| > x_threshold` or `|theta| > theta_threshold_radians`. At the threshold itself, the episode
        continues.

    Initial state: all four variables are uniform in `[low, high)`.

    Raises:
        ValueError: a mass, length, threshold or `tau` that is not above 0; `low > high`; an unknown integrator.

    >>> import funcenv
    >>> env = CartPole(gravity=1.6)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 1, funcenv.key(1))
    >>> timestep.observation.shape, float(timestep.reward)
    ((4,), 1.0)
    """

    gravity: float = 9.8  # acceleration of gravity [m/s^2]
    masscart: float = 1.0  # mass of the cart [kg]
    masspole: float = 0.1  # mass of the pole [kg]
    length: float = 0.5  # half of the pole's length [m]
    force_mag: float = 10.0  # force of a push [N]
    tau: float = 0.02  # time between steps [s]
    theta_threshold_radians: float = 12 * 2 * math.pi / 360  # angle of the pole that ends an episode [rad]
    x_threshold: float = 2.4  # distance of the cart that ends an episode [m]
    low: float = -0.05  # bounds of the initial state
    high: float = 0.05
    sutton_barto_reward: bool = field(pytree_node=False, default=False)  # true for rewards of 0 and -1
    kinematics_integrator: str = field(pytree_node=False, default="euler")  # "euler" or "semi-implicit"

    differentiable = True
    render_fps = 50  # real time at the default `tau`
    action_names = ("push left", "push right")

    def __post_init__(self) -> None:
        require_positive(masscart=self.masscart, masspole=self.masspole, length=self.length, tau=self.tau)
        require_positive(theta_threshold_radians=self.theta_threshold_radians, x_threshold=self.x_threshold)
        require_finite(gravity=self.gravity, force_mag=self.force_mag, low=self.low, high=self.high)
        require_ordered("low", self.low, "high", self.high)
        if self.kinematics_integrator not in ("euler", "semi-implicit"):
            raise ValueError(
                f'kinematics_integrator must be "euler" or "semi-implicit", got {self.kinematics_integrator!r}'
            )

    @property
    def total_mass(self) -> float:
        """Mass of cart and pole [kg]."""
        return self.masscart + self.masspole

    @property
    def polemass_length(self) -> float:
        """Mass of the pole times its half-length [kg m]."""
        return self.masspole * self.length

    def initial(self, key: jax.Array) -> CartPoleState:
        """Return a state near the middle, nearly upright and nearly at rest."""
        x, x_dot, theta, theta_dot = jax.random.uniform(key, (4,), float, self.low, self.high)
        return CartPoleState(x=x, x_dot=x_dot, theta=theta, theta_dot=theta_dot)

    def transition(self, state: CartPoleState, action: Int[Array, ""], key: jax.Array) -> CartPoleState:
        """Apply a constant force for one Euler step."""
        del key
        force = jnp.where(action == 1, self.force_mag, -self.force_mag)
        sin, cos = sincos(state.theta)
        temp = (force + self.polemass_length * state.theta_dot**2 * sin) / self.total_mass
        effective_length = self.length * (4 / 3 - self.masspole * cos**2 / self.total_mass)
        theta_acc = (self.gravity * sin - cos * temp) / effective_length
        x_acc = temp - self.polemass_length * theta_acc * cos / self.total_mass

        x_dot = state.x_dot + self.tau * x_acc
        theta_dot = state.theta_dot + self.tau * theta_acc
        explicit = self.kinematics_integrator == "euler"
        return CartPoleState(
            x=state.x + self.tau * (state.x_dot if explicit else x_dot),
            x_dot=x_dot,
            theta=state.theta + self.tau * (state.theta_dot if explicit else theta_dot),
            theta_dot=theta_dot,
        )

    def observation(self, state: CartPoleState, key: jax.Array) -> Float[Array, "4"]:
        """Return the state as a vector."""
        del key
        return jnp.stack([state.x, state.x_dot, state.theta, state.theta_dot]).astype(jnp.float32)

    def reward(self, state: CartPoleState, action: Int[Array, ""], next_state: CartPoleState) -> Float[Array, ""]:
        """Return 1; or, with `sutton_barto_reward`, -1 for a fall and 0 otherwise."""
        del state, action
        return jnp.where(self.terminal(next_state), -1.0, 0.0) if self.sutton_barto_reward else jnp.ones((), float)

    def terminal(self, state: CartPoleState) -> Bool[Array, ""]:
        """Return whether the cart has left the track or the pole has fallen."""
        return (jnp.abs(state.x) > self.x_threshold) | (jnp.abs(state.theta) > self.theta_threshold_radians)

    @property
    def observation_space(self) -> Box:
        """Twice the thresholds; velocities are unbounded."""
        x, theta = 2 * self.x_threshold, 2 * self.theta_threshold_radians
        return Box([-x, -jnp.inf, -theta, -jnp.inf], [x, jnp.inf, theta, jnp.inf])

    @property
    def action_space(self) -> Discrete:
        """Left or right."""
        return Discrete(2)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward."""
        return (-1.0, 0.0) if self.sutton_barto_reward else (1.0, 1.0)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys; without a key the cart is pushed left, as there is no third action."""
        return {("left",): 0, ("right",): 1}

    def scene(self, state: CartPoleState) -> Scene:
        """Draw the cart, the pole, and the thresholds of both."""
        return draw_cartpole(state.x, state.theta, 2 * self.length, self.x_threshold, self.theta_threshold_radians)

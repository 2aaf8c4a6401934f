"""Balance a pole on a cart by pushing the cart left or right.

Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems", IEEE
Trans. SMC 13(5), 1983, without friction, in the form of Florian, "Correct equations for the dynamics of the cart-pole
system", 2007, equations 23 and 24, with M the mass of cart and pole, m and l the mass and half-length of the pole, and
F the force:

    temp      = (F + m l theta_dot^2 sin theta) / M
    theta_acc = (g sin theta - cos theta temp) / (l (4/3 - m cos^2 theta / M))
    x_acc     = temp - m l theta_acc cos theta / M

integrated by one explicit Euler step (positions move with the old velocities), or semi-implicitly. Parameters,
thresholds and rewards are Gymnasium 1.4.0's `CartPole-v1`, with one difference: there, steps after the fall are
undefined and pay 0; here they pay what the fall paid.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_finite, require_ordered, require_positive
from funcenv.envs.trigonometry import sincos
from funcenv.func_env import FuncEnv
from funcenv.scene import Camera, Circle, Line, Rectangle, Scene, Shape, Terrain, palette, transform
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode, field


class CartPoleState(PyTreeNode):
    """Where the cart and the pole are, and how fast they move."""

    x: Float[Array, ""]  # cart, from the middle of the track, to the right [m]
    x_dot: Float[Array, ""]  # [m/s]
    theta: Float[Array, ""]  # pole, from upright, clockwise [rad]
    theta_dot: Float[Array, ""]  # [rad/s]


class CartPole(FuncEnv[CartPoleState, Int[Array, ""], Float[Array, "4"]]):
    """CartPole.

    Observation: float32 `[4]`: x [m], x_dot [m/s], theta [rad], theta_dot [rad/s]. The space is twice as wide as the
        thresholds.

    Action: 0 pushes left, 1 pushes right. Anything else pushes left.

    Reward: 1 for every step, the one that ends the episode included; with `sutton_barto_reward`, 0, and -1 for the
        step that ends it.

    Termination: `|x| > x_threshold` or `|theta| > theta_threshold_radians` (at the threshold itself the episode goes
        on).

    Initial state: all four uniform in `[low, high)`.

    Raises:
        ValueError: a mass, a length, a threshold or `tau` that is not above 0, `low > high`, or an unknown integrator.

    >>> import funcenv
    >>> env = CartPole(gravity=1.6)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 1, funcenv.key(1))
    >>> timestep.observation.shape, float(timestep.reward)
    ((4,), 1.0)
    """

    gravity: float = 9.8  # [m/s^2]
    masscart: float = 1.0  # [kg]
    masspole: float = 0.1  # [kg]
    length: float = 0.5  # half of the pole's length [m]
    force_mag: float = 10.0  # [N]
    tau: float = 0.02  # time between steps [s]
    theta_threshold_radians: float = 12 * 2 * math.pi / 360  # [rad]
    x_threshold: float = 2.4  # [m]
    low: float = -0.05  # bounds of the initial state
    high: float = 0.05
    sutton_barto_reward: bool = field(pytree_node=False, default=False)
    kinematics_integrator: str = field(pytree_node=False, default="euler")  # or "semi-implicit"

    def __post_init__(self) -> None:
        require_positive(
            masscart=self.masscart,
            masspole=self.masspole,
            length=self.length,
            tau=self.tau,
            theta_threshold_radians=self.theta_threshold_radians,
            x_threshold=self.x_threshold,
        )
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

    @property
    def differentiable(self) -> bool:
        """Gradients of a step are finite."""
        return True

    def initial(self, key: jax.Array) -> CartPoleState:
        """Near the middle, nearly upright, nearly at rest."""
        x, x_dot, theta, theta_dot = jax.random.uniform(key, (4,), float, self.low, self.high)
        return CartPoleState(x=x, x_dot=x_dot, theta=theta, theta_dot=theta_dot)

    def transition(self, state: CartPoleState, action: Int[Array, ""], key: jax.Array) -> CartPoleState:
        """One Euler step under a constant force."""
        del key
        force = jnp.where(action == 1, self.force_mag, -self.force_mag)
        sin, cos = sincos(state.theta)
        temp = (force + self.polemass_length * state.theta_dot**2 * sin) / self.total_mass
        theta_acc = (self.gravity * sin - cos * temp) / (
            self.length * (4 / 3 - self.masspole * cos**2 / self.total_mass)
        )
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
        """The state."""
        del key
        return jnp.stack([state.x, state.x_dot, state.theta, state.theta_dot]).astype(jnp.float32)

    def reward(self, state: CartPoleState, action: Int[Array, ""], next_state: CartPoleState) -> Float[Array, ""]:
        """1 a step; or 0, and -1 for the fall."""
        del state, action
        if self.sutton_barto_reward:
            return jnp.where(self.terminal(next_state), -1.0, 0.0)
        return jnp.ones((), float)

    def terminal(self, state: CartPoleState) -> Bool[Array, ""]:
        """The cart left the track or the pole fell."""
        return (jnp.abs(state.x) > self.x_threshold) | (jnp.abs(state.theta) > self.theta_threshold_radians)

    @property
    def observation_space(self) -> Box:
        """Twice the thresholds, so that the last observation of an episode lies inside; velocities are unbounded."""
        x, theta = 2 * self.x_threshold, 2 * self.theta_threshold_radians
        return Box([-x, -jnp.inf, -theta, -jnp.inf], [x, jnp.inf, theta, jnp.inf])

    @property
    def action_space(self) -> Discrete:
        """Left or right."""
        return Discrete(2)

    @property
    def render_fps(self) -> float:
        """Steps shown a second: real time at the usual `tau`."""
        return 50

    @property
    def reward_range(self) -> tuple[float, float]:
        """Always 1, or -1 and 0."""
        return (-1.0, 0.0) if self.sutton_barto_reward else (1.0, 1.0)

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Left and right arrow; no key pushes left, as there is no third action."""
        return {("left",): 0, ("right",): 1}

    def scene(self, state: CartPoleState) -> Scene:
        """The cart on its track, which turns red where the episode ends; two ticks show how far the pole may lean."""
        x, theta, pole, edge = map(jnp.float32, (state.x, state.theta, 2 * self.length, self.x_threshold))
        cart = transform(_cart(pole, jnp.float32(self.theta_threshold_radians)), (x, 0.0))
        rod = transform([Line((0.0, 0.0), (0.0, pole), 0.11, palette.ORANGE)], (x, _AXLE), -theta)
        axle = Circle((x, _AXLE), 0.05, palette.PAPER, outline=palette.INK, outline_width=0.03)
        return Scene(
            camera=Camera((0.0, (_AXLE + pole) / 2), 2.4 * edge, pole + _AXLE + 1.2),
            shapes=(*cart, *rod, axle),
            backdrop=_track(edge),
            background=palette.PAPER,
        )


_AXLE = 0.3  # height of the pole's foot above the track, in the picture


def _cart(pole: jax.Array, lean: jax.Array) -> list[Shape]:
    """At the middle of the track."""
    ticks = [Line((0.0, pole + 0.12), (0.0, pole + 0.26), 0.035, palette.STONE)]
    return [
        *transform(ticks, (0.0, _AXLE), -lean),
        *transform(ticks, (0.0, _AXLE), lean),
        Circle((-0.16, 0.08), 0.08, palette.STONE),
        Circle((0.16, 0.08), 0.08, palette.STONE),
        Rectangle((0.0, 0.21), (0.56, 0.2), palette.INK, corner_radius=0.05),
    ]


def _track(edge: jax.Array) -> tuple[Shape, ...]:
    ends = (
        shape
        for end, far in ((-edge, -100 * edge), (edge, 100 * edge))
        for shape in (
            Line((end, 0.0), (far, 0.0), 0.035, palette.RED),
            Line((end, -0.14), (end, 0.14), 0.05, palette.RED),
        )
    )
    rail = Line((-edge, 0.0), (edge, 0.0), 0.035, palette.STONE, cap="butt")
    return Terrain(np.zeros(2), -1.0, 1.0, palette.MIST), rail, *ends

"""The reward of the control suite for a number within bounds.

Tassa et al., "DeepMind Control Suite", 2018, section 3.2; the sigmoids are those of dm_control 1.0.50
(`dm_control/utils/rewards.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

DEFAULT_VALUE_AT_MARGIN = 0.1


def tolerance(
    x: Float[Array, "*shape"],
    bounds: tuple[float, float] = (0.0, 0.0),
    margin: float = 0.0,
    sigmoid: str = "gaussian",
    value_at_margin: float = DEFAULT_VALUE_AT_MARGIN,
) -> Float[Array, "*shape"]:
    """Return 1 where a number lies within bounds, and less outside of them.

    Args:
        x: the numbers.
        bounds: the lower and the upper bound, both inclusive; either may be infinite.
        margin: distance from the bounds at which the result is `value_at_margin`. With 0 it is 0 outside of them.
        sigmoid: the shape of the decrease: "gaussian", "linear", "quadratic", "long_tail" or "reciprocal".
        value_at_margin: see `margin`; linear and quadratic sigmoids allow 0.

    >>> tolerance(jnp.array([0.0, 0.5, 1.0, 2.0]), margin=1.0, sigmoid="linear", value_at_margin=0.0).tolist()
    [1.0, 0.5, 0.0, 0.0]
    >>> tolerance(jnp.array([-0.1, 0.0, 3.0]), bounds=(0.0, math.inf)).tolist()
    [0.0, 1.0, 1.0]
    """
    low, high = bounds
    x = jnp.asarray(x, float)
    is_within = (low <= x) & (x <= high)
    if margin == 0:
        return is_within.astype(x.dtype)
    distance = jnp.where(x < low, low - x, x - high) / margin
    outside = _SIGMOIDS[sigmoid](jnp.where(is_within, 1.0, distance).astype(x.dtype), value_at_margin)
    return jnp.where(is_within, 1.0, outside).astype(x.dtype)


def small_control(action: jax.Array) -> Float[Array, ""]:
    """Return the factor of the reward for small controls, from 0.8 to 1: the mean over the actuators."""
    each = tolerance(action, margin=1.0, sigmoid="quadratic", value_at_margin=0.0)
    return (4 + jnp.mean(each)) / 5


def _gaussian(x: jax.Array, value: float) -> jax.Array:
    return jnp.exp(-0.5 * jnp.square(x * math.sqrt(-2 * math.log(value))))


def _linear(x: jax.Array, value: float) -> jax.Array:
    scaled = x * (1 - value)
    return jnp.where(jnp.abs(scaled) < 1, 1 - scaled, 0.0)


def _quadratic(x: jax.Array, value: float) -> jax.Array:
    scaled = x * math.sqrt(1 - value)
    return jnp.where(jnp.abs(scaled) < 1, 1 - jnp.square(scaled), 0.0)


def _long_tail(x: jax.Array, value: float) -> jax.Array:
    return 1 / (jnp.square(x * math.sqrt(1 / value - 1)) + 1)


def _reciprocal(x: jax.Array, value: float) -> jax.Array:
    return 1 / (jnp.abs(x) * (1 / value - 1) + 1)


_SIGMOIDS: dict[str, Callable[[jax.Array, float], jax.Array]] = {
    "gaussian": _gaussian,
    "linear": _linear,
    "quadratic": _quadratic,
    "long_tail": _long_tail,
    "reciprocal": _reciprocal,
}

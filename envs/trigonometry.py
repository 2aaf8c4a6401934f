"""Vectorized sine, cosine and angle wrapping.

On a CPU, XLA computes float32 sines one by one. The polynomials here vectorize, and their arithmetic does not depend on
where they are compiled. The angle is reduced as by Cody and Waite ("Software Manual for the Elementary Functions",
1980), with pi/2 split into three parts. The polynomials are those of the Cephes library (Moshier, 1989) for single
precision.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_HALF_PI_PARTS = (1.5703125, 4.837512969970703e-4, 7.549789948768648e-8)  # they add up to pi/2; the first have few bits
_SINE_COEFFICIENTS = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)  # powers of x^2, the highest first
_COSINE_COEFFICIENTS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def sincos(angle: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Return the sine and cosine of an angle in radians, NaN for an angle that is not finite.

    For float32, the error is at most 1e-7 up to an angle of 8192, and 1e-6 up to 10^5; that of derivatives is 1e-6.
    Other dtypes use `jnp.sin` and `jnp.cos`.

    >>> sine, cosine = sincos(jnp.float32(np.pi / 6))
    >>> round(float(sine), 6), round(float(cosine), 6)
    (0.5, 0.866025)
    """
    angle = jnp.asarray(angle)
    if angle.dtype != jnp.float32:
        return jnp.sin(angle), jnp.cos(angle)
    turns = jax.lax.round(angle * np.float32(2 / np.pi), jax.lax.RoundingMethod.TO_NEAREST_EVEN)
    rest = angle
    for part in _HALF_PI_PARTS:
        rest = rest - turns * np.float32(part)
    z = rest * rest
    sine = _horner(z, _SINE_COEFFICIENTS) * z * rest + rest
    cosine = _horner(z, _COSINE_COEFFICIENTS) * z * z - np.float32(0.5) * z + np.float32(1)
    quadrant = turns.astype(jnp.int32) & 3
    odd = (quadrant & 1) == 1
    first, second = jnp.where(odd, cosine, sine), jnp.where(odd, sine, cosine)
    return jnp.where(quadrant >= 2, -first, first), jnp.where((quadrant == 1) | (quadrant == 2), -second, second)


def wrap_angle(angle: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the same direction in [-pi, pi], NaN for an angle that is not finite.

    This avoids a remainder, which XLA does not vectorize on a CPU. For float32, the error is at most 1e-6 up to an
    angle of 8192.

    >>> round(float(wrap_angle(jnp.float32(3 * np.pi / 2))), 5), float(wrap_angle(jnp.float32(-1.0)))
    (-1.5708, -1.0)
    """
    angle = jnp.asarray(angle)
    turns = jnp.floor((angle + np.pi) * (0.5 / np.pi))
    parts = [4 * part for part in _HALF_PI_PARTS] if angle.dtype == jnp.float32 else [2 * np.pi]
    for part in parts:
        angle = angle - turns * part
    angle = jnp.where(angle > np.pi, angle - 2 * np.pi, angle)  # rounding may give one turn too few
    return jnp.where(angle < -np.pi, angle + 2 * np.pi, angle)  # or one too many


def _horner(z: jax.Array, coefficients: tuple[float, ...]) -> jax.Array:
    first, *others = coefficients
    total = jnp.full_like(z, first)
    for coefficient in others:
        total = total * z + np.float32(coefficient)
    return total

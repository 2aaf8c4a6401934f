"""Sine and cosine, and angles within half a turn, that vectorize.

XLA computes float32 sines on a CPU one by one, at 1 to 3 ns each; the more, the larger and the more varied the angles
are. Polynomials on a reduced angle need 0.5 ns for the pair, and are the same arithmetic wherever they are compiled.
The reduction is that of Cody and Waite ("Software Manual for the Elementary Functions", 1980), pi/2 being split in
three parts; the polynomials are those of the Cephes library (Moshier, 1989) for single precision.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_PARTS = (1.5703125, 4.837512969970703e-4, 7.549789948768648e-8)  # of pi/2, the first two with few bits
_SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)  # of z = x^2, from the highest power down
_COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def sincos(angle: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Sine and cosine of an angle in radians.

    float32 angles up to 8192 are off by at most 1e-7, and up to 10^5 by 1e-6; derivatives by 1e-6. Of other dtypes it
    is `jnp.sin` and `jnp.cos`. Not a number for what is not finite.

    >>> sine, cosine = sincos(jnp.float32(np.pi / 6))
    >>> round(float(sine), 6), round(float(cosine), 6)
    (0.5, 0.866025)
    """
    angle = jnp.asarray(angle)
    if angle.dtype != jnp.float32:
        return jnp.sin(angle), jnp.cos(angle)
    turns = jax.lax.round(angle * np.float32(2 / np.pi), jax.lax.RoundingMethod.TO_NEAREST_EVEN)
    rest = angle
    for part in _PARTS:
        rest = rest - turns * np.float32(part)
    z = rest * rest
    sine = _horner(z, _SINE) * z * rest + rest
    cosine = _horner(z, _COSINE) * z * z - np.float32(0.5) * z + np.float32(1)
    quadrant = turns.astype(jnp.int32) & 3
    odd = (quadrant & 1) == 1
    first, second = jnp.where(odd, cosine, sine), jnp.where(odd, sine, cosine)
    return jnp.where(quadrant >= 2, -first, first), jnp.where((quadrant == 1) | (quadrant == 2), -second, second)


def wrapped(angle: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The same direction in [-pi, pi], of an angle in radians.

    A remainder would do it, which XLA computes on a CPU one by one, at 5 ns each. float32 angles up to 8192 are off by
    at most 1e-6. Not a number for what is not finite.

    >>> round(float(wrapped(jnp.float32(3 * np.pi / 2))), 5), float(wrapped(jnp.float32(-1.0)))
    (-1.5708, -1.0)
    """
    angle = jnp.asarray(angle)
    turns = jnp.floor((angle + np.pi) * (0.5 / np.pi))
    parts = [4 * part for part in _PARTS] if angle.dtype == jnp.float32 else [2 * np.pi]
    for part in parts:
        angle = angle - turns * part
    angle = jnp.where(angle > np.pi, angle - 2 * np.pi, angle)  # where rounding made it one turn too few
    return jnp.where(angle < -np.pi, angle + 2 * np.pi, angle)  # or too many


def _horner(z: jax.Array, coefficients: tuple[float, ...]) -> jax.Array:
    first, *others = coefficients
    total = jnp.full_like(z, first)
    for coefficient in others:
        total = total * z + np.float32(coefficient)
    return total

"""Vectors, rotations and transforms of the plane, component by component.

A vector is a pair of numbers, a rotation the pair (sine, cosine), and a transform a pair of a position and a rotation.
Every number is a scalar of dtype float32, or an array of them: the solver calls these functions with scalars and leaves
the batch axis to `jax.vmap`, so that a batch is computed on flat arrays. Sums and products are written in the order of
Box2D's `b2Math.h`, because the order decides the last bit.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

Number: TypeAlias = Any  # a float32: a NumPy scalar, a JAX scalar, or an array of either
Vector: TypeAlias = tuple[Number, Number]
Rotation: TypeAlias = tuple[Number, Number]  # sine and cosine of the angle
Transform: TypeAlias = tuple[Vector, Rotation]  # of the body's origin

PI = np.float32(3.14159265359)
EPSILON = np.finfo(np.float32).eps
ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)


def float32(value: Any) -> Number:
    """Return a number or array as float32: on the host, if it is known there."""
    return jnp.asarray(value, jnp.float32) if isinstance(value, jax.Array) else np.asarray(value, np.float32)[()]


def is_known(*values: Any) -> bool:
    """Return whether all numbers are known on the host, so that Python may branch on them."""
    return not any(isinstance(value, jax.Array) for value in values)


def opaque(values: Any) -> Any:
    """Return a tree of numbers that the compiler does not know.

    XLA gathers known numbers in products and sums, as in `h (m f) = (h m) f` and `(x - r) - s = x - (r + s)`, which
    changes the last bit.
    """
    numbers = jax.tree.map(lambda value: value if isinstance(value, jax.Array) else float32(value), values)
    return jax.lax.optimization_barrier(numbers)  # type: ignore[no-untyped-call]  # JAX has no annotation there


def once(values: Any) -> Any:
    """Return a tree of numbers that XLA computes once, and not again for each result that depends on them.

    XLA repeats cheap operations where their results are used several times, which multiplies along a chain of them, and
    with it the time of compiling. It repeats no division, and does not see here that the divisor is 1. LLVM sees it,
    and removes the division.
    """
    ones: dict[Any, jax.Array] = {}

    def one_of(dtype: Any) -> jax.Array:
        if dtype not in ones:
            ones[dtype] = jax.lax.optimization_barrier(jnp.ones((), dtype))  # type: ignore[no-untyped-call]  # JAX's
        return ones[dtype]

    def divided(value: Any) -> Any:
        if not isinstance(value, jax.Array):
            return value
        if value.dtype == bool:
            return divided(value.astype(jnp.int32)) != 0
        return jax.lax.div(value, jnp.broadcast_to(one_of(value.dtype), value.shape))

    return jax.tree.map(divided, values)


def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1]


def sub(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1]


def neg(a: Vector) -> Vector:
    """Return -a."""
    return -a[0], -a[1]


def mul(s: Number, a: Vector) -> Vector:
    """Return s a."""
    return s * a[0], s * a[1]


def dot(a: Vector, b: Vector) -> Number:
    """Return the inner product."""
    return a[0] * b[0] + a[1] * b[1]


def cross(a: Vector, b: Vector) -> Number:
    """Return the component of the cross product out of the plane."""
    return a[0] * b[1] - a[1] * b[0]


def spin(w: Number, r: Vector) -> Vector:
    """Return the velocity of the point r of a body that turns about its origin at the rate w."""
    return -w * r[1], w * r[0]


def right(a: Vector) -> Vector:
    """Return the vector turned by a quarter clockwise."""
    return a[1], -a[0]


def length(a: Vector) -> Number:
    """Return the Euclidean norm."""
    return jnp.sqrt(a[0] * a[0] + a[1] * a[1])


def normalize(a: Vector) -> tuple[Vector, Number]:
    """Return the unit vector, and the length; a vector shorter than `EPSILON` as it is, with length 0."""
    size = length(a)
    is_short = size < EPSILON
    inverse = ONE / where(is_short, ONE, size)
    unit = where(is_short, a[0], a[0] * inverse), where(is_short, a[1], a[1] * inverse)
    return unit, where(is_short, ZERO, size)


def where(condition: Any, a: Any, b: Any) -> Number:
    """Return a where the condition holds, else b. It traces faster than `jnp.where`, of which the solver has many."""
    known = next((value for value in (a, b) if hasattr(value, "dtype")), None)
    dtype = jnp.int32 if known is None else known.dtype
    shape = np.broadcast_shapes(np.shape(condition), np.shape(a), np.shape(b))
    picked = condition if isinstance(condition, jax.Array) else jnp.asarray(condition, bool)
    return jax.lax.select(*(_spread(value, shape, kind) for value, kind in ((picked, bool), (a, dtype), (b, dtype))))


def _spread(value: Any, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return an array of a shape, with axes of length 1 added in front."""
    array = value if isinstance(value, jax.Array) else jnp.asarray(value, dtype)
    if array.shape == shape:
        return array
    return jax.lax.broadcast_in_dim(array, shape, tuple(range(len(shape) - array.ndim, len(shape))))


def greatest(values: jax.Array) -> jax.Array:
    """Return the index of the greatest value, the first of several, as int32."""
    return jax.lax.argmax(values, 0, jnp.int32)


def select(condition: Any, a: Vector, b: Vector) -> Vector:
    """Return a where the condition holds, else b."""
    return where(condition, a[0], b[0]), where(condition, a[1], b[1])


def clamp(x: Number, low: Number, high: Number) -> Number:
    """Return x within [low, high]."""
    return jnp.maximum(low, jnp.minimum(x, high))


def rotation(angle: Number) -> Rotation:
    """Return the rotation by an angle. `jnp.sin` and `jnp.cos` agree with the C library's to the last bit on a CPU."""
    return jnp.sin(angle), jnp.cos(angle)


def rotate(q: Rotation, v: Vector) -> Vector:
    """Return the vector v of a body in world coordinates."""
    return q[1] * v[0] - q[0] * v[1], q[0] * v[0] + q[1] * v[1]


def unrotate(q: Rotation, v: Vector) -> Vector:
    """Return the vector v of the world in the coordinates of a body."""
    return q[1] * v[0] + q[0] * v[1], -q[0] * v[0] + q[1] * v[1]


def apply(xf: Transform, v: Vector) -> Vector:
    """Return the point v of a body in world coordinates."""
    p, q = xf
    return (q[1] * v[0] - q[0] * v[1]) + p[0], (q[0] * v[0] + q[1] * v[1]) + p[1]


def unapply(xf: Transform, v: Vector) -> Vector:
    """Return the point v of the world in the coordinates of a body."""
    p, q = xf
    return unrotate(q, (v[0] - p[0], v[1] - p[1]))


def relative(a: Transform, b: Transform) -> Transform:
    """Return the transform from the coordinates of b to those of a."""
    (pa, (sa, ca)), (pb, (sb, cb)) = a, b
    return unrotate((sa, ca), sub(pb, pa)), (ca * sb - sa * cb, ca * cb + sa * sb)


def origin(center: Vector, angle: Number, local_center: Vector) -> Transform:
    """Return the transform of a body's origin from the position of its centre of mass."""
    q = rotation(angle)
    return sub(center, rotate(q, local_center)), q

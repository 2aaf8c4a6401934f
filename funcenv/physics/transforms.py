"""Rotations and transforms of the plane, written in the order of Box2D's `b2Math.h`, as vectors are."""

from __future__ import annotations

from typing import TypeAlias

import jax.numpy as jnp
import numpy as np

from funcenv.physics.scalars import ONE, ZERO, Number, is_known
from funcenv.physics.vectors import Vector, sub

Rotation: TypeAlias = tuple[Number, Number]  # sine and cosine of the angle
Transform: TypeAlias = tuple[Vector, Rotation]  # position and rotation of the body's origin


IDENTITY: Transform = ((ZERO, ZERO), (ZERO, ONE))


def is_identity(xf: Transform) -> bool:
    """Return whether a transform is known to change nothing."""
    (x, y), (sine, cosine) = xf
    return is_known(x, y, sine, cosine) and not any(np.any(number) for number in (x, y, sine)) and bool(cosine == 1)


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
    if is_identity(xf):
        return v
    p, q = xf
    return (q[1] * v[0] - q[0] * v[1]) + p[0], (q[0] * v[0] + q[1] * v[1]) + p[1]


def unapply(xf: Transform, v: Vector) -> Vector:
    """Return the point v of the world in the coordinates of a body."""
    if is_identity(xf):
        return v
    p, q = xf
    return unrotate(q, (v[0] - p[0], v[1] - p[1]))


def relative(a: Transform, b: Transform) -> Transform:
    """Return the transform from the coordinates of b to those of a."""
    if is_identity(a):
        return b
    (pa, (sa, ca)), (pb, (sb, cb)) = a, b
    return unrotate((sa, ca), sub(pb, pa)), (ca * sb - sa * cb, ca * cb + sa * sb)


def origin(center: Vector, angle: Number, local_center: Vector) -> Transform:
    """Return the transform of a body's origin from the position of its centre of mass."""
    q = rotation(angle)
    return sub(center, rotate(q, local_center)), q

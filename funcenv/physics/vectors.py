"""Vectors of the plane, component by component.

Sums and products are written in the order of Box2D's `b2Math.h`, because the order decides the last bit.
"""

from __future__ import annotations

from typing import TypeAlias

import jax.numpy as jnp

from funcenv.physics.scalars import EPSILON, ONE, ZERO, Number, where

Vector: TypeAlias = tuple[Number, Number]


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

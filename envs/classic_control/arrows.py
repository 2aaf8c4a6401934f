"""Arrows in the drawings of forces and torques. They grow from nothing, so a small force is a small arrow."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.scene import Arc, Line, Polygon, Shape, transform

_FULL_HEAD_AT = 0.4  # part of the greatest strength from which on the head has its full size


def straight_arrow(strength: Any, length: float, head: float, color: Any) -> tuple[Shape, ...]:
    """Return an arrow from the origin along the x axis.

    Args:
        strength: from -1, full length to the left, to 1.
        length: greatest length of the shaft.
        head: length of the head at full size.
        color: colour of the arrow.

    >>> shaft, head = straight_arrow(0.5, 2.0, 0.2, (0.0, 0.0, 0.0, 1.0))
    >>> float(head.points[2, 0])
    1.2...
    """
    strength = jnp.float32(strength)
    size, end = _head_size(strength, head), strength * length
    shaft = Line((0.0, 0.0), (end, 0.0), 0.3 * size, color, cap="butt")
    return shaft, *transform([_head(strength, size, color)], (end, 0.0))


def curved_arrow(strength: Any, radius: float, start: Any, turn: float, head: float, color: Any) -> tuple[Shape, ...]:
    """Return an arrow around the origin, anticlockwise where the strength is above 0.

    Args:
        strength: from -1, a full turn clockwise, to 1.
        radius: radius of the shaft.
        start: angle at which the arrow starts.
        turn: greatest angle of the shaft.
        head: length of the head at full size.
        color: colour of the arrow.

    >>> shaft, _ = curved_arrow(-1.0, 0.5, 0.0, 2.0, 0.2, (0.0, 0.0, 0.0, 1.0))
    >>> float(shaft.sweep)
    -2.0
    """
    strength = jnp.float32(strength)
    size, sweep = _head_size(strength, head), strength * turn
    shaft = Arc((0.0, 0.0), radius, start, sweep, 0.3 * size, color)
    end = start + sweep
    upwards = transform([_head(strength, size, color)], (radius, 0.0), math.pi / 2)
    return shaft, *transform(upwards, angle=end)


def _head_size(strength: jax.Array, head: float) -> jax.Array:
    return head * jnp.minimum(jnp.abs(strength) / _FULL_HEAD_AT, 1.0)


def _head(strength: jax.Array, size: jax.Array, color: Any) -> Polygon:
    """Return a triangle at the origin that points along the x axis, or against it."""
    half, none = size / 2, jnp.zeros_like(size)
    corners = (none, -half), (none, half), (jnp.sign(strength) * size, none)
    return Polygon(jnp.stack([jnp.stack(corner) for corner in corners]), color)

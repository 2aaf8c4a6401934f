"""Coverage: the part of each pixel that a shape covers, which anti-aliases the edges of shapes.

A pixel is a square, and `density` pixels fit into a unit of length. Straight edges are exact: `polygon` computes the
area shared with each pixel, `strip` that of a straight strip at any angle, and a rectangle is two crossed strips.
Round edges use the signed distance from the centre of a pixel to the edge, negative inside (`inside`, `within`). Their
coverage is off by at most 5% of a pixel, and `rasterize(supersample=)` divides that error.

All functions are elementwise. Arrays have the shape of the pixels, `[height, width]`, or broadcast to it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv._compile.materialize import materialize

_Point = tuple[Any, Any]

_MIN_RISE = 4e-3  # pixels; a level edge is taken to rise by this within a pixel, which is off by 1/2000


def inside(distance: jax.Array, density: Any) -> jax.Array:
    """Return the coverage by a region, given the signed distance to its edge.

    >>> inside(jnp.array([-1.0, 0.0, 0.25, 1.0]), 1.0)
    Array([1.  , 0.5 , 0.25, 0.  ], dtype=float32)
    """
    return _clip(0.5 - distance * density)


def within(distance: jax.Array, reach: Any, density: Any) -> jax.Array:
    """Return the coverage by all points within `reach` of something; regions thinner than a pixel fade.

    >>> within(jnp.array([0.0, 0.0, 2.0]), jnp.array([2.0, 0.25, 2.0]), 1.0)
    Array([1. , 0.5, 0.5], dtype=float32)
    """
    return _clip((reach - jnp.abs(distance)) * density + 0.5, high=_clip(2 * reach * density))


def disc(x: jax.Array, y: jax.Array, distance: jax.Array, radius: Any, density: Any) -> jax.Array:
    """Return the coverage by a disc around the origin.

    The soft edge would add pi / 12 pixels to the area, so a slightly smaller radius is drawn. A radius below 0.6
    pixels is drawn as the square of the same area, which cannot disappear between two pixels.

    Args:
        x: coordinates of the pixels.
        y: coordinates of the pixels.
        distance: length of (x, y).
        radius: radius of the disc.
        density: pixels per unit of length.

    >>> x, y = jnp.meshgrid(jnp.arange(9.0) - 4.2, jnp.arange(9.0) - 3.9)
    >>> [round(float(disc(x, y, jnp.hypot(x, y), r, 1.0).sum() / (jnp.pi * r * r)), 2) for r in (0.01, 0.5, 1.0, 3.0)]
    [1.0, 1.0, 1.0, 1.0]
    """
    square = radius * radius
    smaller = jnp.sqrt(jnp.maximum(square - 1 / (12 * density * density), 0.1 / (density * density)))
    soft = within(distance, smaller, density)
    half = jnp.sqrt(jnp.pi) / 2 * radius
    return jnp.where(radius * density < 0.6, within(x, half, density) * within(y, half, density), soft)


def strip(distance: jax.Array, reach: Any, normal: _Point, density: Any) -> jax.Array:
    """Return the exact coverage by an infinite straight strip at any angle.

    Args:
        distance: distance of the pixels from the middle of the strip, along its normal.
        reach: half the width of the strip.
        normal: unit vector across the strip.
        density: pixels per unit of length.

    >>> [round(float(part), 4) for part in strip(jnp.array([0.0, 0.5]), 0.5, (0.6, 0.8), 1.0)]
    [0.9167, 0.5]
    """
    nx, ny = jnp.abs(normal[0]), jnp.abs(normal[1])
    # Projected on the normal, a pixel is a trapezoid: `slant` is the width of each slope, 1 / steep the height between.
    slant, steep = jnp.maximum(jnp.minimum(nx, ny), 1e-3), jnp.maximum(jnp.maximum(nx, ny), 1e-3)
    far, scale = (slant + steep) / 2, 1 / (slant * steep)

    def beyond(distance: jax.Array) -> jax.Array:
        """Return the part of a pixel on the other side of a straight line at this distance."""
        depth = far - distance
        sloping = _clip(depth, high=slant)
        return sloping * (depth - sloping / 2) * scale

    from_middle = jnp.abs(distance) * density
    to_edge = from_middle - reach * density
    part = beyond(jnp.abs(to_edge))
    return _clip(jnp.where(to_edge < 0, 1 - part, part) - beyond(from_middle + reach * density))


def polygon(corners: Any, x: jax.Array, y: jax.Array, density: Any) -> jax.Array:
    """Return the exact coverage by a polygon that does not cross itself, with `corners` `[corners, 2]`.

    This is the trapezoid formula: the area under each edge within a pixel is added for edges that run to the right and
    subtracted for edges that run to the left. An edge that passes through the column of a pixel from height t0 to t1,
    in pixels above the bottom of the pixel, has the mean of clip(t, 0, 1) over [t0, t1] below it.

    >>> triangle = jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> polygon(triangle, jnp.array([[0.5, 1.5]]), jnp.array([[1.5], [0.5]]), 1.0).round(3)
    Array([[0.5, 0. ],
           [1. , 0.5]], dtype=float32)
    """
    x, y = x * density, y * density
    start = jnp.asarray(corners) * density
    (ax, ay), (bx, by) = start.T[:, :, None], jnp.roll(start, -1, axis=0).T[:, :, None]  # [corners, 1] each
    # Terms that depend on the column alone: [corners, width].
    first, last = (_clip(x + side, jnp.minimum(ax, bx), jnp.maximum(ax, bx)) for side in (-0.5, 0.5))
    run = bx - ax
    slope = (by - ay) / jnp.where(run == 0, 1.0, run)
    rise = _clip(jnp.abs((last - first) * slope), _MIN_RISE, jnp.inf)
    middle = ay + ((first + last) / 2 - ax) * slope + 0.5
    weight = (last - first) * jnp.sign(run) / rise
    edges = materialize(jnp.stack([middle - rise / 2, middle + rise / 2, rise, weight], axis=1))
    # Terms that depend on the row too: the integral of clip(t, 0, 1), from 0 to 1 and above 1.
    total: Any = 0.0
    for bottom, top, climb, share in edges[:, :, None, :]:
        t0, t1 = bottom - y, top - y
        c0, c1 = _clip(t0), _clip(t1)
        above = jnp.where(t1 >= 1, jnp.where(t0 > 1, climb, t1 - 1), 0.0)  # >=: at 1 the gradient of c1 is 0
        total = total + share * ((c1 - c0) * (c1 + c0) / 2 + above)
    return _clip(jnp.abs(total))


def distance_to_segment(x: jax.Array, y: jax.Array, start: _Point, end: _Point) -> jax.Array:
    """Return the distance from a point to a line segment, which may have length 0.

    >>> float(distance_to_segment(jnp.array(3.0), jnp.array(4.0), (-1.0, 0.0), (0.0, 0.0)))
    5.0
    """
    (ax, ay), (bx, by) = start, end
    ex, ey = bx - ax, by - ay
    scale = 1 / jnp.maximum(ex * ex + ey * ey, 1e-12)
    dx, dy = x - ax, y - ay
    along = _clip(dx * (ex * scale) + dy * (ey * scale))
    return length(dx - along * ex, dy - along * ey)


def distance_to_box(x: jax.Array, y: jax.Array, half_width: Any, half_height: Any) -> jax.Array:
    """Return the signed distance from a point to the edge of an upright rectangle around 0, negative inside.

    >>> [float(distance_to_box(*point, 2.0, 1.0)) for point in ((5.0, 5.0), (0.0, 4.0), (1.5, 0.0))]
    [5.0, 3.0, -0.5]
    """
    right, up = jnp.abs(x) - half_width, jnp.abs(y) - half_height
    outside = length(_clip(right, high=jnp.inf), _clip(up, high=jnp.inf))
    nearest = jnp.where(right > up, right, up)
    return outside + jnp.where(nearest < 0, nearest, 0.0)


def length(x: Any, y: Any) -> jax.Array:
    """Return the length of a vector, at least 1e-12; its gradient at 0 is 0.

    No second `where` turns 1e-12 into 0: a compiler may compute its condition again, round it differently, and choose
    the placeholder.

    >>> float(length(3.0, 4.0)), float(jax.grad(length)(0.0, 0.0))
    (5.0, 0.0)
    """
    square = x * x + y * y
    return jnp.sqrt(jnp.where(square < 1e-24, 1e-24, square))


def _clip(value: Any, low: Any = 0.0, high: Any = 1.0) -> Any:
    """Return `jnp.clip`, but `low` for NaN, in two instructions instead of eight."""
    return jnp.where(value > low, jnp.where(value < high, value, high), low)

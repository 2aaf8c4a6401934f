"""How much of a pixel a shape covers: the anti-aliasing of the rasteriser.

A pixel is a square, and `density` of them fit into a unit of length. What has straight edges is worked out exactly: a
polygon's share of each pixel (`polygon`), a straight strip's at any angle (`strip`), of which a rectangle is two that
cross. What is round tells the signed distance from a pixel's middle to its edge, negative inside, which says the
covered part to within 5% of a pixel at the edge (`inside`, `within`); `rasterize(supersample=)` divides that.

All functions are elementwise; the shapes of arrays are those of the pixels, `[height, width]` or what broadcasts to it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.scene._materialize import settled

_Point = tuple[Any, Any]

_LEAST_RISE = 4e-3  # of an edge within a pixel; taking a level one to rise so much is off by 1/2000


def inside(distance: jax.Array, density: Any) -> jax.Array:
    """Coverage by a region with this signed distance to its edge.

    >>> inside(jnp.array([-1.0, 0.0, 0.25, 1.0]), 1.0)
    Array([1.  , 0.5 , 0.25, 0.  ], dtype=float32)
    """
    return _clip(0.5 - distance * density)


def within(distance: jax.Array, reach: Any, density: Any) -> jax.Array:
    """Coverage by all that lies within `reach` of something; thinner than a pixel, it fades as it thins.

    >>> within(jnp.array([0.0, 0.0, 2.0]), jnp.array([2.0, 0.25, 2.0]), 1.0)
    Array([1. , 0.5, 0.5], dtype=float32)
    """
    return _clip((reach - jnp.abs(distance)) * density + 0.5, high=_clip(2 * reach * density))


def disc(x: jax.Array, y: jax.Array, away: jax.Array, radius: Any, density: Any) -> jax.Array:
    """Coverage by a disc with its centre at 0; `away` is the length of (x, y).

    A soft edge adds pi / 12 of a pixel to a disc's area, so its radius is taken a little smaller. A dot, with a radius
    below 0.6 pixels, is drawn as the square of the same area, which loses nothing between the middles of pixels.

    >>> x, y = jnp.meshgrid(jnp.arange(9.0) - 4.2, jnp.arange(9.0) - 3.9)
    >>> [round(float(disc(x, y, jnp.hypot(x, y), r, 1.0).sum() / (jnp.pi * r * r)), 2) for r in (0.01, 0.5, 1.0, 3.0)]
    [1.0, 1.0, 1.0, 1.0]
    """
    square = radius * radius
    smaller = jnp.sqrt(jnp.maximum(square - 1 / (12 * density * density), 0.1 / (density * density)))
    soft = within(away, smaller, density)
    half = jnp.sqrt(jnp.pi) / 2 * radius
    return jnp.where(radius * density < 0.6, within(x, half, density) * within(y, half, density), soft)


def strip(distance: jax.Array, reach: Any, normal: _Point, density: Any) -> jax.Array:
    """Coverage by a straight strip of the width `2 * reach` at any angle, exactly; `distance` is from its middle.

    Args:
        distance: along the normal, from the middle of the strip.
        reach: half its width.
        normal: a vector of length 1 across the strip.
        density: pixels per unit of length.

    >>> [round(float(part), 4) for part in strip(jnp.array([0.0, 0.5]), 0.5, (0.6, 0.8), 1.0)]
    [0.9167, 0.5]
    """
    nx, ny = jnp.abs(normal[0]), jnp.abs(normal[1])
    # Seen along the strip, a pixel is a trapezoid: it slopes over `slant` at either end and is 1 / steep high between.
    slant, steep = jnp.maximum(jnp.minimum(nx, ny), 1e-3), jnp.maximum(jnp.maximum(nx, ny), 1e-3)
    far, scale = (slant + steep) / 2, 1 / (slant * steep)

    def beyond(away: jax.Array) -> jax.Array:
        """The part of a pixel on the other side of a straight line that is so far away."""
        depth = far - away
        sloping = _clip(depth, high=slant)
        return sloping * (depth - sloping / 2) * scale

    from_middle = jnp.abs(distance) * density
    to_edge = from_middle - reach * density
    part = beyond(jnp.abs(to_edge))
    return _clip(jnp.where(to_edge < 0, 1 - part, part) - beyond(from_middle + reach * density))


def polygon(corners: Any, x: jax.Array, y: jax.Array, density: Any) -> jax.Array:
    """Coverage by a polygon that does not cross itself, `corners` `[corners, 2]`: the area it shares with each pixel.

    Under each edge lies a part of the pixel's column; from left to right it counts as positive, from right to left as
    negative, and what remains is inside (the trapezoid formula). An edge that runs through a column from the height t0
    to t1, in pixels from the pixel's foot, leaves below it the mean of clip(t, 0, 1) over [t0, t1].

    >>> triangle = jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> polygon(triangle, jnp.array([[0.5, 1.5]]), jnp.array([[1.5], [0.5]]), 1.0).round(3)
    Array([[0.5, 0. ],
           [1. , 0.5]], dtype=float32)
    """
    x, y = x * density, y * density
    start = jnp.asarray(corners) * density
    (ax, ay), (bx, by) = start.T[:, :, None], jnp.roll(start, -1, axis=0).T[:, :, None]  # [corners, 1] each
    # What depends on the column alone: [corners, width].
    first, last = (_clip(x + side, jnp.minimum(ax, bx), jnp.maximum(ax, bx)) for side in (-0.5, 0.5))
    run = bx - ax
    slope = (by - ay) / jnp.where(run == 0, 1.0, run)
    rise = _clip(jnp.abs((last - first) * slope), _LEAST_RISE, jnp.inf)
    middle = ay + ((first + last) / 2 - ax) * slope + 0.5
    weight = (last - first) * jnp.sign(run) / rise
    edges = settled(jnp.stack([middle - rise / 2, middle + rise / 2, rise, weight], axis=1))
    # And on the row: the integral of clip(t, 0, 1), from 0 to 1 and above.
    total: Any = 0.0
    for bottom, top, climb, share in edges[:, :, None, :]:
        t0, t1 = bottom - y, top - y
        c0, c1 = _clip(t0), _clip(t1)
        above = jnp.where(t1 > 1, jnp.where(t0 > 1, climb, t1 - 1), 0.0)
        total = total + share * ((c1 - c0) * (c1 + c0) / 2 + above)
    return _clip(jnp.abs(total))


def distance_to_segment(x: jax.Array, y: jax.Array, start: _Point, end: _Point) -> jax.Array:
    """From a point to a line segment; to its point, if it has no length.

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
    """From a point to the edge of an upright rectangle around 0, negative inside.

    >>> [float(distance_to_box(*point, 2.0, 1.0)) for point in ((5.0, 5.0), (0.0, 4.0), (1.5, 0.0))]
    [5.0, 3.0, -0.5]
    """
    right, up = jnp.abs(x) - half_width, jnp.abs(y) - half_height
    outside = length(_clip(right, high=jnp.inf), _clip(up, high=jnp.inf))
    nearest = jnp.where(right > up, right, up)
    return outside + jnp.where(nearest < 0, nearest, 0.0)


def length(x: Any, y: Any) -> jax.Array:
    """Of a vector, at least 1e-12; its gradient at 0 is 0.

    No second `where` puts a 0 there: a compiler may work out its condition anew, round it differently, and choose the
    placeholder.

    >>> float(length(3.0, 4.0)), float(jax.grad(length)(0.0, 0.0))
    (5.0, 0.0)
    """
    square = x * x + y * y
    return jnp.sqrt(jnp.where(square < 1e-24, 1e-24, square))


def _clip(value: Any, low: Any = 0.0, high: Any = 1.0) -> Any:
    """As `jnp.clip`, but for NaN, which becomes `low`: two instructions instead of eight."""
    return jnp.where(value > low, jnp.where(value < high, value, high), low)

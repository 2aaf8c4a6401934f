"""Rays: how far one can go from a point to another before a shape is in the way, as `b2World::RayCast` of Box2D.

The formulas are those of `RayCast` in Box2D's `b2EdgeShape.cpp`, `b2PolygonShape.cpp` and `b2CircleShape.cpp`. Skins do
not count, and a ray that begins inside of a polygon or circle does not meet it.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.scalars import EPSILON, ONE, ZERO, Number, float32, opaque, where
from funcenv.physics.shapes import Boxes, Circle, Edges, Shape
from funcenv.physics.transforms import Transform, unapply
from funcenv.physics.vectors import Vector, add, dot, mul, normalize, right, sub


def cast_ray(shape: Shape, start: Vector, end: Vector, transform: Transform | None = None) -> jax.Array:
    """Return at which part of the way from `start` to `end` a ray meets a shape first, from 0 to 1; 1 if it does not.

    Args:
        shape: what to look for. Of `Edges` and `Boxes` the nearest counts.
        start: where the ray begins, in world coordinates [m]. Both points may be arrays `[rays]`, and so is the result
            then.
        end: where the ray ends, in world coordinates [m].
        transform: position and rotation of the body, as `transform_of` returns it; the origin by default.

    >>> wall = Edges(*np.array([[2.0, 3.0], [-1.0, -1.0], [2.0, 3.0], [1.0, 1.0]]))
    >>> cast_ray(wall, (0.0, 0.0), (np.array([4.0, 1.0]), np.array([0.0, 0.0]))).tolist()
    [0.5, 1.0]
    """
    points = [(float32(x), float32(y)) for x, y in (start, end)]
    if transform is not None:
        points = [unapply(transform, point) for point in points]
    shape_of_rays = np.broadcast_shapes(*(np.shape(number) for point in points for number in point))
    start, end = (
        (jnp.broadcast_to(x, shape_of_rays)[..., None], jnp.broadcast_to(y, shape_of_rays)[..., None])
        for x, y in points
    )

    def beside(vectors: Sequence[Vector]) -> list[Vector]:
        """Return vectors of shapes on an axis after those of the rays."""
        size = (1,) * len(shape_of_rays) + (-1,)
        return [(jnp.reshape(x, size), jnp.reshape(y, size)) for x, y in vectors]

    if isinstance(shape, Edges):
        ends = [(float32(shape.x1), float32(shape.y1)), (float32(shape.x2), float32(shape.y2))]
        found = _meet_edges(start, end, *beside(ends))
    elif isinstance(shape, Circle):
        found = _meet_circle(start, end, shape)
    else:
        vertices = shape.vertices() if isinstance(shape, Boxes) else shape.vertices
        found = _meet_polygons(start, end, beside(vertices), beside(shape.normals()))
    return jnp.min(found, axis=-1, initial=1.0)


def _meet_edges(start: Vector, end: Vector, v1: Vector, v2: Vector) -> Number:
    along, edge = sub(end, start), sub(v2, v1)
    normal, _ = normalize(right(edge))
    numerator, denominator = dot(normal, sub(v1, start)), dot(normal, along)
    crosses = denominator != 0
    t = numerator / where(crosses, denominator, ONE)
    size = dot(edge, edge)
    is_edge = size != 0
    place = dot(sub(add(start, mul(t, along)), v1), edge)
    # XLA would turn a division by numbers that repeat into a product, which changes the last bit
    s = place / opaque(jnp.broadcast_to(where(is_edge, size, ONE), place.shape))
    return where(crosses & (t >= 0) & (t <= 1) & is_edge & (s >= 0) & (s <= 1), t, ONE)


def _meet_polygons(start: Vector, end: Vector, vertices: Sequence[Vector], normals: Sequence[Vector]) -> Number:
    along = sub(end, start)
    shape = np.broadcast_shapes(np.shape(start[0]), np.shape(vertices[0][0]))
    enter, leave = jnp.zeros(shape, jnp.float32), jnp.ones(shape, jnp.float32)
    enters, passes = jnp.zeros(shape, bool), jnp.zeros(shape, bool)
    for vertex, normal in zip(vertices, normals, strict=True):
        numerator, denominator = dot(normal, sub(vertex, start)), dot(normal, along)
        passes = passes | ((denominator == 0) & (numerator < 0))
        goes_in = (denominator < 0) & (numerator < enter * denominator)
        goes_out = (denominator > 0) & (numerator < leave * denominator)
        t = numerator / where(denominator != 0, denominator, ONE)
        enter, leave, enters = where(goes_in, t, enter), where(goes_out, t, leave), enters | goes_in
    return where(enters & ~passes & (leave >= enter), enter, ONE)


def _meet_circle(start: Vector, end: Vector, circle: Circle) -> Number:
    away = sub(start, (float32(circle.center[0]), float32(circle.center[1])))
    along, radius = sub(end, start), float32(circle.radius)
    b = dot(away, away) - radius * radius
    c, size = dot(away, along), dot(along, along)
    sigma = c * c - size * b
    meets = (sigma >= 0) & (size >= EPSILON)
    root = -(c + jnp.sqrt(where(meets, sigma, ZERO)))
    meets = meets & (root >= 0) & (root <= size)
    return where(meets, root / where(meets, size, ONE), ONE)

"""The distance of two convex shapes, by the algorithm of Gilbert, Johnson and Keerthi (1988).

The search keeps a simplex of one to three pairs of vertices, whose differences surround the point of the Minkowski
difference that is closest to the origin. Box2D's `b2Distance.cpp` computes the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.manifold import Convex, support, vertex_at
from funcenv.physics.scalars import EPSILON, ONE, ZERO, Number, choose, once, row_at, select, where
from funcenv.physics.shapes import MAX_VERTICES
from funcenv.physics.transforms import Transform, apply, unrotate
from funcenv.physics.vectors import Vector, add, cross, dot, length, mul, neg, right, sub

MAX_ITERATIONS = 20
_CODE_BITS = 4  # bits of an index, of which there are `MAX_VERTICES`


class Vertex(NamedTuple):
    """A vertex of a simplex: a pair of vertices of the shapes."""

    code: Number  # the index of A's vertex, times `MAX_VERTICES`, plus the index of B's
    w: Vector  # vector from A to B, in world coordinates


class Simplex(NamedTuple):
    """The first `count` of three vertices."""

    count: Number
    vertices: tuple[Vertex, Vertex, Vertex]
    weights: tuple[Number, Number]  # barycentric coordinates of the closest point of a segment


class Cache(NamedTuple):
    """The simplex that the next query starts from, and how large it was; count 0 is an empty cache."""

    count: Number
    codes: tuple[Number, Number]
    metric: Number


class Closest(NamedTuple):
    """The first two pairs of vertices of the simplex with the closest points, in the coordinates of the bodies."""

    count: Number
    is_one_a: Number  # true if both pairs have the same vertex of A
    of_a: tuple[Vector, Vector]
    of_b: tuple[Vector, Vector]


def empty_cache() -> Cache:
    """Return a cache that holds nothing."""
    zero = jnp.int32(0)
    return Cache(zero, (zero, zero), jnp.float32(0))


def distance(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform, cache: Cache) -> tuple[Number, Cache, Closest]:
    """Return the distance without the skins, 0 for shapes that overlap, and the cache for the next query."""
    first, second, zero = (_vertex(a, xf_a, b, xf_b, code) for code in (*cache.codes, np.int32(0)))
    metric = length(sub(first.w, second.w))
    has_changed = (metric < np.float32(0.5) * cache.metric) | (np.float32(2) * cache.metric < metric)
    has_changed = has_changed | (metric < EPSILON)
    is_used = (cache.count == 1) | ((cache.count == 2) & ~has_changed)
    first = select(is_used, first, zero)
    none = jnp.zeros_like(metric)
    start = Simplex(where(is_used, cache.count, 1), (first, second, second), (none, none))

    def refine(carry: Any) -> Any:
        iteration, _, simplex = carry
        solved = once(_solve(simplex))
        direction = _search_direction(solved)
        index_a = support(a.vertices, unrotate(xf_a[1], neg(direction)))
        index_b = support(b.vertices, unrotate(xf_b[1], direction))
        code = once(index_a * np.int32(MAX_VERTICES) + index_b)
        new = once(_vertex(a, xf_a, b, xf_b, code))
        is_known = jnp.zeros_like(solved.count, bool)
        for i, vertex in enumerate(simplex.vertices):
            is_known = is_known | ((simplex.count > i) & (vertex.code == code))
        ends = (solved.count == 3) | (dot(direction, direction) < EPSILON * EPSILON)
        grows = once(~(ends | is_known))
        one, two, three = solved.vertices
        two = select(grows & (solved.count == 1), new, two)
        three = select(grows & (solved.count == 2), new, three)
        grown = Simplex(solved.count + grows.astype(jnp.int32), (one, two, three), solved.weights)
        return iteration + where(ends, 0, 1), ~grows, grown

    begin = jnp.int32(0), jnp.zeros_like(start.count, bool), start
    _, _, simplex = jax.lax.while_loop(lambda carry: (carry[0] < MAX_ITERATIONS) & ~carry[1], refine, begin)
    (one, two, _), weights = simplex.vertices, simplex.weights
    is_point, is_segment = simplex.count == 1, simplex.count == 2
    (a1, b1), (a2, b2) = (_ends(a, b, vertex.code) for vertex in (one, two))
    on_a, on_b = (
        select(is_point, apply(xf, p1), add(mul(weights[0], apply(xf, p1)), mul(weights[1], apply(xf, p2))))
        for xf, p1, p2 in ((xf_a, a1, a2), (xf_b, b1, b2))
    )
    found = where(is_point | is_segment, length(sub(on_a, on_b)), ZERO)
    cache = Cache(simplex.count, (one.code, two.code), where(is_segment, length(sub(one.w, two.w)), ZERO))
    is_one_a = _index_a(one.code) == _index_a(two.code)
    return found, cache, Closest(simplex.count, is_one_a, (a1, a2), (b1, b2))


def overlaps(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Number:
    """Return whether two shapes overlap, with their skins."""
    found, _, _ = distance(a, xf_a, b, xf_b, empty_cache())
    radius = a.radius + b.radius
    gap = where((found > radius) & (found > EPSILON), found - radius, ZERO)
    return gap < np.float32(10) * EPSILON


def _vertex(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform, code: Number) -> Vertex:
    on_a, on_b = _ends(a, b, code)
    return Vertex(code, sub(apply(xf_b, on_b), apply(xf_a, on_a)))


def _ends(a: Convex, b: Convex, code: Number) -> tuple[Vector, Vector]:
    """Return a pair of vertices in the coordinates of the bodies."""
    return vertex_at(a.vertices, _index_a(code)), vertex_at(b.vertices, code & np.int32(MAX_VERTICES - 1))


def _index_a(code: Number) -> Number:
    return code >> np.int32(_CODE_BITS)


def _solve(simplex: Simplex) -> Simplex:
    """Return the smallest part of the simplex that holds the point closest to the origin.

    There are seven parts: vertex 1, edges 12 and 13, vertices 2 and 3, edge 23, and the triangle.
    """
    one, two, three = simplex.vertices
    e12, e13, e23 = sub(two.w, one.w), sub(three.w, one.w), sub(three.w, two.w)
    d12 = dot(two.w, e12), -dot(one.w, e12)
    d13 = dot(three.w, e13), -dot(one.w, e13)
    d23 = dot(three.w, e23), -dot(two.w, e23)
    area = cross(e12, e13)
    d1, d2, d3 = area * cross(two.w, three.w), area * cross(three.w, one.w), area * cross(one.w, two.w)
    regions = (
        (d12[1] <= 0) & (d13[1] <= 0),
        (d12[0] > 0) & (d12[1] > 0) & (d3 <= 0),
        (d13[0] > 0) & (d13[1] > 0) & (d2 <= 0),
        (d12[0] <= 0) & (d23[1] <= 0),
        (d13[0] <= 0) & (d23[0] <= 0),
        (d23[0] > 0) & (d23[1] > 0) & (d1 <= 0),
    )
    part: Number = np.int32(6)
    for i, region in reversed(list(enumerate(regions))):
        part = where(region, np.int32(i), part)
    of_segment = where(d12[1] <= 0, np.int32(0), where(d12[0] <= 0, np.int32(3), np.int32(1)))
    part = where(simplex.count == 3, part, where(simplex.count == 2, of_segment, np.int32(0)))
    part = once(part)
    # edge 23 begins with vertex 3
    shares = select(part == 1, d12, select(part == 2, d13, d23[::-1]))
    total = shares[0] + shares[1]
    inverse = ONE / where(total != 0, total, ONE)
    first, second, count = (row_at(jnp.asarray(table), part) for table in (_FIRST, _SECOND, _COUNT))
    return Simplex(
        count,
        (choose((one, two, three), first), select(second == 1, two, three), three),
        (shares[0] * inverse, shares[1] * inverse),
    )


_FIRST = np.array([0, 0, 0, 1, 2, 2, 0], np.int32)  # vertex that becomes the first, by the part of the simplex
_SECOND = np.array([1, 1, 2, 1, 1, 1, 1], np.int32)
_COUNT = np.array([1, 2, 2, 1, 1, 2, 3], np.int32)  # number of vertices of the part


def _search_direction(simplex: Simplex) -> Vector:
    """Return the direction from the simplex towards the origin."""
    one, two, _ = simplex.vertices
    along = sub(two.w, one.w)
    is_left = cross(along, neg(one.w)) > 0
    across = select(is_left, neg(right(along)), right(along))
    return select(simplex.count == 1, neg(one.w), across)

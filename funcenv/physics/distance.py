"""The distance of two convex shapes, by the algorithm of Gilbert, Johnson and Keerthi (1988).

The search keeps a simplex of one to three pairs of vertices, whose differences surround the point of the Minkowski
difference that is closest to the origin. Box2D's `b2Distance.cpp` computes the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.manifold import Convex, support
from funcenv.physics.scalars import EPSILON, ONE, ZERO, Number, choose, once, select, where
from funcenv.physics.transforms import Transform, apply, unrotate
from funcenv.physics.vectors import Vector, add, cross, dot, length, mul, neg, right, sub

MAX_ITERATIONS = 20


class Vertex(NamedTuple):
    """A vertex of a simplex: a pair of vertices of the shapes."""

    index_a: Number
    index_b: Number
    w: Vector  # vector from A to B, in world coordinates
    weight: Number  # barycentric coordinate of the closest point


class Simplex(NamedTuple):
    """The first `count` of three vertices."""

    count: Number
    vertices: tuple[Vertex, Vertex, Vertex]


class Cache(NamedTuple):
    """The simplex that the next query starts from, and how large it was; count 0 is an empty cache."""

    count: Number
    index_a: tuple[Number, Number]
    index_b: tuple[Number, Number]
    metric: Number


def empty_cache() -> Cache:
    """Return a cache that holds nothing."""
    zero = jnp.int32(0)
    return Cache(zero, (zero, zero), (zero, zero), jnp.float32(0))


def distance(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform, cache: Cache) -> tuple[Number, Cache]:
    """Return the distance without the skins, 0 for shapes that overlap, and the cache for the next query."""
    first = _vertex(a, xf_a, b, xf_b, cache.index_a[0], cache.index_b[0])
    second = _vertex(a, xf_a, b, xf_b, cache.index_a[1], cache.index_b[1])
    metric = length(sub(first.w, second.w))
    has_changed = (metric < np.float32(0.5) * cache.metric) | (np.float32(2) * cache.metric < metric)
    has_changed = has_changed | (metric < EPSILON)
    is_used = (cache.count == 1) | ((cache.count == 2) & ~has_changed)
    zero = jnp.zeros_like(cache.count)
    first = select(is_used, first, _vertex(a, xf_a, b, xf_b, zero, zero))
    first = first._replace(weight=where(is_used, ZERO, ONE))
    # a cached point has the weight 0 until it is solved; Box2D does not solve a single one again
    start = Simplex(where(is_used, cache.count, 1), (first, second, second))

    def refine(carry: Any) -> Any:
        iteration, _, simplex = carry
        solved = once(_solve(simplex))
        direction = _search_direction(solved)
        index_a = support(a.vertices, unrotate(xf_a[1], neg(direction)))
        index_b = support(b.vertices, unrotate(xf_b[1], direction))
        index_a, index_b = once((index_a, index_b))
        new = once(_vertex(a, xf_a, b, xf_b, index_a, index_b))
        is_known = jnp.zeros_like(solved.count, bool)
        for i, vertex in enumerate(simplex.vertices):
            is_known = is_known | ((simplex.count > i) & (vertex.index_a == index_a) & (vertex.index_b == index_b))
        ends = (solved.count == 3) | (dot(direction, direction) < EPSILON * EPSILON)
        grows = once(~(ends | is_known))
        one, two, three = solved.vertices
        two = select(grows & (solved.count == 1), new, two)
        three = select(grows & (solved.count == 2), new, three)
        grown = Simplex(solved.count + grows.astype(jnp.int32), (one, two, three))
        return iteration + where(ends, 0, 1), ~grows, grown

    begin = jnp.int32(0), jnp.zeros_like(start.count, bool), start
    _, _, simplex = jax.lax.while_loop(lambda carry: (carry[0] < MAX_ITERATIONS) & ~carry[1], refine, begin)
    one, two, _ = simplex.vertices
    is_point, is_segment = simplex.count == 1, simplex.count == 2
    (one_a, one_b), (two_a, two_b) = (_ends(a, xf_a, b, xf_b, v.index_a, v.index_b) for v in (one, two))
    on_a = select(is_point, one_a, add(mul(one.weight, one_a), mul(two.weight, two_a)))
    on_b = select(is_point, one_b, add(mul(one.weight, one_b), mul(two.weight, two_b)))
    found = where(is_point | is_segment, length(sub(on_a, on_b)), ZERO)
    return found, Cache(
        simplex.count,
        (one.index_a, two.index_a),
        (one.index_b, two.index_b),
        where(is_segment, length(sub(one.w, two.w)), ZERO),
    )


def overlaps(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Number:
    """Return whether two shapes overlap, with their skins."""
    found, _ = distance(a, xf_a, b, xf_b, empty_cache())
    radius = a.radius + b.radius
    gap = where((found > radius) & (found > EPSILON), found - radius, ZERO)
    return gap < np.float32(10) * EPSILON


def _vertex(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform, index_a: Number, index_b: Number) -> Vertex:
    on_a, on_b = _ends(a, xf_a, b, xf_b, index_a, index_b)
    return Vertex(index_a, index_b, sub(on_b, on_a), jnp.zeros_like(on_a[0]))


def _ends(
    a: Convex, xf_a: Transform, b: Convex, xf_b: Transform, index_a: Number, index_b: Number
) -> tuple[Vector, Vector]:
    return apply(xf_a, choose(a.vertices, index_a)), apply(xf_b, choose(b.vertices, index_b))


def _solve(simplex: Simplex) -> Simplex:
    """Return the smallest part of the simplex that holds the point closest to the origin."""
    two, three = _solve_segment(simplex), _solve_triangle(simplex)
    return select(simplex.count == 1, simplex, select(simplex.count == 2, two, three))


def _weighted(vertex: Vertex, weight: Number) -> Vertex:
    return vertex._replace(weight=weight)


def _solve_segment(simplex: Simplex) -> Simplex:
    one, two, three = simplex.vertices
    along = sub(two.w, one.w)
    part2, part1 = -dot(one.w, along), dot(two.w, along)
    at_one = part2 <= 0
    at_two = ~at_one & (part1 <= 0)
    total = part1 + part2
    inverse = ONE / where(total != 0, total, ONE)
    first = select(at_two, two, one)
    first = _weighted(first, where(at_one | at_two, ONE, part1 * inverse))
    return Simplex(
        where(at_one | at_two, 1, 2),
        (first, _weighted(two, where(at_two, ONE, part2 * inverse)), three),
    )


def _solve_triangle(simplex: Simplex) -> Simplex:
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

    def share(parts: tuple[Number, ...]) -> list[Number]:
        total = parts[0] + parts[1] if len(parts) == 2 else parts[0] + parts[1] + parts[2]
        inverse = ONE / where(total != 0, total, ONE)
        return [part * inverse for part in parts]

    s12, s13, s23, s123 = share(d12), share(d13), share(d23), share((d1, d2, d3))
    answers = (
        Simplex(np.int32(1), (_weighted(one, ONE), two, three)),
        Simplex(np.int32(2), (_weighted(one, s12[0]), _weighted(two, s12[1]), three)),
        Simplex(np.int32(2), (_weighted(one, s13[0]), _weighted(three, s13[1]), three)),
        Simplex(np.int32(1), (_weighted(two, ONE), two, three)),
        Simplex(np.int32(1), (_weighted(three, ONE), two, three)),
        Simplex(np.int32(2), (_weighted(three, s23[1]), _weighted(two, s23[0]), three)),
    )
    result = Simplex(
        jnp.full_like(simplex.count, 3), (_weighted(one, s123[0]), _weighted(two, s123[1]), _weighted(three, s123[2]))
    )
    for region, answer in zip(regions[::-1], answers[::-1], strict=True):
        result = select(region, answer, result)
    return result


def _search_direction(simplex: Simplex) -> Vector:
    """Return the direction from the simplex towards the origin."""
    one, two, _ = simplex.vertices
    along = sub(two.w, one.w)
    is_left = cross(along, neg(one.w)) > 0
    across = select(is_left, neg(right(along)), right(along))
    return select(simplex.count == 1, neg(one.w), across)

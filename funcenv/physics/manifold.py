"""Contact manifolds: up to two points with a common normal.

A manifold is given in the coordinates of the bodies, so that it can follow them while positions are corrected. Each
point has a key of the features that meet, by which the next step recognizes it. The functions compute one pair or, on
arrays, many pairs at once; shapes are padded to the same number of vertices with copies of the first, which never win a
comparison. The algorithms are those of Box2D's `b2CollideEdge.cpp`, `b2CollidePolygon.cpp` and `b2CollideCircle.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from funcenv.physics.scalars import EPSILON, HALF, ONE, ZERO, Number, choose, once, select, where
from funcenv.physics.shapes import POLYGON_RADIUS
from funcenv.physics.transforms import Transform, apply, relative, rotate, unapply, unrotate
from funcenv.physics.vectors import Vector, add, dot, mul, neg, normalize, right, sub

CIRCLES, FACE_A, FACE_B = np.int32(0), np.int32(1), np.int32(2)  # owner of a manifold's normal
FACE = np.int32(1)  # a feature that is a face; a vertex is 0
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = np.float32(0.98), np.float32(0.001)  # when the reference face changes
GREATEST = np.finfo(np.float32).max


class Convex(NamedTuple):
    """A polygon, edge or circle of a pair, in the coordinates of its body."""

    vertices: Sequence[Vector]  # a circle has one, its centre
    normals: Sequence[Vector]  # normals of the edges of a polygon
    count: Number  # number of vertices, without the padding
    centroid: Vector
    radius: Number


class Manifold(NamedTuple):
    """Contact points; `count` says how many of the two are meant."""

    count: Number
    kind: Number
    normal: Vector  # normal in the coordinates of the body of the reference face
    point: Vector  # point on the reference face
    points: tuple[Vector, Vector]  # contact points in the coordinates of the other body
    keys: tuple[Number, Number]


def support(vertices: Sequence[Vector], direction: Vector) -> Number:
    """Return the index of the vertex that lies farthest in a direction, the first of several."""
    index: Number = np.int32(0)
    best = dot(vertices[0], direction)
    for i, vertex in enumerate(vertices[1:], start=1):
        value = dot(vertex, direction)
        is_better = value > best
        index, best = where(is_better, np.int32(i), index), where(is_better, value, best)
    return index


def collide_edge_polygon(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Manifold:
    """Return the contact points of an edge without neighbours, which collides on both sides, and a polygon."""
    xf = once(relative(xf_a, xf_b))
    v1, v2 = a.vertices[0], a.vertices[1]
    normal1 = once(right(normalize(sub(v2, v1))[0]))
    is_front = once(dot(normal1, sub(apply(xf, b.centroid), v1)) >= 0)
    normal = once(select(is_front, normal1, neg(normal1)))
    vertices = [once(apply(xf, vertex)) for vertex in b.vertices]
    normals = [once(rotate(xf[1], n)) for n in b.normals]
    radius = np.float32(2) * POLYGON_RADIUS

    edge_separation: Number = GREATEST
    for vertex in vertices:
        edge_separation = jnp.minimum(edge_separation, dot(normal, sub(vertex, v1)))
    separation: Number = -GREATEST
    index: Number = np.int32(0)
    for i, (vertex, n) in enumerate(zip(vertices, normals, strict=True)):
        s = jnp.minimum(dot(neg(n), sub(vertex, v1)), dot(neg(n), sub(vertex, v2)))
        is_better = s > separation
        index, separation = where(is_better, np.int32(i), index), where(is_better, s, separation)
    index, edge_separation, separation = once((index, edge_separation, separation))
    is_apart = (edge_separation > radius) | (separation > radius)
    is_b = separation > RELATIVE_TOLERANCE * edge_separation + ABSOLUTE_TOLERANCE

    incident: Number = np.int32(0)  # the edge of the polygon that faces the edge most
    best = dot(normal, normals[0])
    for i, n in enumerate(normals[1:], start=1):
        value = dot(normal, n)
        is_better = value < best
        incident, best = where(is_better, np.int32(i), incident), where(is_better, value, best)
    first = once(where(is_b, index, incident))
    second = where(first + 1 < b.count, first + 1, 0)
    start, end = once((choose(vertices, first), choose(vertices, second)))
    # the reference face, and the edge that is cut to it
    face_index = where(is_b, first, where(is_front, 0, 1)), where(is_b, second, where(is_front, 1, 0))
    face = select(is_b, start, select(is_front, v1, v2)), select(is_b, end, select(is_front, v2, v1))
    face_normal = select(is_b, choose(normals, first), normal)
    cut = select(is_b, v1, start), select(is_b, v2, end)
    face, face_normal, cut = once((face, face_normal, cut))
    keys = (
        where(is_b, _key(0, first, 0, FACE), _key(0, first, FACE, 0)),
        where(is_b, _key(0, first, 0, FACE), _key(0, second, FACE, 0)),
    )
    side = right(face_normal)
    cut, keys, is_cut1 = _clip(cut, keys, side, dot(side, face[0]), face_index[0])
    cut, keys, is_cut2 = _clip(cut, keys, neg(side), dot(neg(side), face[1]), face_index[1])
    keep = [dot(face_normal, sub(point, face[0])) <= radius for point in cut]
    points = [select(is_b, point, unapply(xf, point)) for point in cut]
    keys = where(is_b, _swap(keys[0]), keys[0]), where(is_b, _swap(keys[1]), keys[1])
    return _manifold(
        is_valid=~is_apart & is_cut1 & is_cut2,
        kind=where(is_b, FACE_B, FACE_A),
        normal=select(is_b, choose(b.normals, first), face_normal),
        point=select(is_b, choose(b.vertices, first), face[0]),
        points=points,
        keys=keys,
        keep=keep,
    )


def collide_polygons(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Manifold:
    """Return the contact points of two polygons."""
    radius = a.radius + b.radius
    separation_a, edge_a = _greatest_separation(a, xf_a, b, xf_b)
    separation_b, edge_b = _greatest_separation(b, xf_b, a, xf_a)
    is_b = separation_b > RELATIVE_TOLERANCE * separation_a + ABSOLUTE_TOLERANCE
    size = max(len(a.vertices), len(b.vertices))
    one, two = select(is_b, _padded(b, size), _padded(a, size)), select(is_b, _padded(a, size), _padded(b, size))
    xf1, xf2 = select(is_b, xf_b, xf_a), select(is_b, xf_a, xf_b)
    edge = where(is_b, edge_b, edge_a)

    direction = unrotate(xf2[1], rotate(xf1[1], choose(one.normals, edge)))
    first: Number = np.int32(0)
    best = dot(direction, two.normals[0])
    for i, n in enumerate(two.normals[1:], start=1):
        value = dot(direction, n)
        is_better = value < best
        first, best = where(is_better, np.int32(i), first), where(is_better, value, best)
    second = where(first + 1 < two.count, first + 1, 0)
    cut = apply(xf2, choose(two.vertices, first)), apply(xf2, choose(two.vertices, second))
    keys = _key(edge, first, FACE, 0), _key(edge, second, FACE, 0)

    next_edge = where(edge + 1 < one.count, edge + 1, 0)
    local1, local2 = choose(one.vertices, edge), choose(one.vertices, next_edge)
    local_tangent, _ = normalize(sub(local2, local1))
    tangent = rotate(xf1[1], local_tangent)
    normal = right(tangent)
    v1, v2 = apply(xf1, local1), apply(xf1, local2)
    cut, keys, is_cut1 = _clip(cut, keys, neg(tangent), -dot(tangent, v1) + radius, edge)
    cut, keys, is_cut2 = _clip(cut, keys, tangent, dot(tangent, v2) + radius, next_edge)
    offset = dot(normal, v1)
    keep = [dot(normal, point) - offset <= radius for point in cut]
    return _manifold(
        is_valid=(separation_a <= radius) & (separation_b <= radius) & is_cut1 & is_cut2,
        kind=where(is_b, FACE_B, FACE_A),
        normal=right(local_tangent),
        point=mul(HALF, add(local1, local2)),
        points=[unapply(xf2, point) for point in cut],
        keys=tuple(where(is_b, _swap(key), key) for key in keys),
        keep=keep,
    )


def collide_edge_circle(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Manifold:
    """Return the contact point of an edge without neighbours and a circle."""
    center = b.vertices[0]
    q = unapply(xf_a, apply(xf_b, center))
    start, end = a.vertices[0], a.vertices[1]
    along = sub(end, start)
    u, v = dot(along, sub(end, q)), dot(along, sub(q, start))
    at_start, at_end = v <= 0, u <= 0
    is_corner = at_start | at_end
    size = dot(along, along)
    inside = mul(ONE / where(size > 0, size, ONE), add(mul(u, start), mul(v, end)))
    nearest = select(at_start, start, select(at_end, end, inside))
    distance = sub(q, nearest)
    radius = a.radius + b.radius
    side = -along[1], along[0]
    side, _ = normalize(select(dot(side, sub(q, start)) < 0, neg(side), side))
    zero = jnp.zeros_like(u)
    key = where(is_corner, _key(where(at_start, 0, 1), 0, 0, 0), _key(0, 0, FACE, 0))
    return _single_point(
        is_valid=dot(distance, distance) <= radius * radius,
        kind=where(is_corner, CIRCLES, FACE_A),
        normal=select(is_corner, (zero, zero), side),
        point=select(is_corner & ~at_start, end, start),
        center=center,
        key=key,
    )


def collide_polygon_circle(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Manifold:
    """Return the contact point of a polygon and a circle."""
    center = b.vertices[0]
    c = unapply(xf_a, apply(xf_b, center))
    radius = a.radius + b.radius
    separation: Number = -GREATEST
    index: Number = np.int32(0)
    for i, (vertex, n) in enumerate(zip(a.vertices, a.normals, strict=True)):
        s = dot(n, sub(c, vertex))
        is_better = s > separation
        index, separation = where(is_better, np.int32(i), index), where(is_better, s, separation)
    v1, v2 = choose(a.vertices, index), choose(a.vertices, where(index + 1 < a.count, index + 1, 0))
    normal, middle = choose(a.normals, index), mul(HALF, add(v1, v2))
    is_inside = separation < EPSILON
    at_first = ~is_inside & (dot(sub(c, v1), sub(v2, v1)) <= 0)
    at_second = ~is_inside & ~at_first & (dot(sub(c, v2), sub(v1, v2)) <= 0)
    corner = select(at_first, v1, v2)
    distance = sub(c, corner)
    at_corner = at_first | at_second
    is_near = dot(distance, distance) <= radius * radius
    on_face = is_inside | (dot(sub(c, middle), normal) <= radius)
    return _single_point(
        is_valid=(separation <= radius) & where(at_corner, is_near, on_face),
        kind=jnp.zeros_like(index) + FACE_A,
        normal=select(at_corner, normalize(distance)[0], normal),
        point=select(at_corner, corner, middle),
        center=center,
        key=jnp.zeros_like(index),
    )


def collide_circles(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Manifold:
    """Return the contact point of two circles."""
    distance = sub(apply(xf_b, b.vertices[0]), apply(xf_a, a.vertices[0]))
    radius = a.radius + b.radius
    square = dot(distance, distance)
    zero = jnp.zeros_like(square)
    return _single_point(
        is_valid=square <= radius * radius,
        kind=jnp.zeros_like(square, jnp.int32),
        normal=(zero, zero),
        point=a.vertices[0],
        center=b.vertices[0],
        key=jnp.zeros_like(square, jnp.int32),
    )


def _greatest_separation(one: Convex, xf1: Transform, two: Convex, xf2: Transform) -> tuple[Number, Number]:
    """Return the greatest separation along a normal of the first polygon that a local search finds, and its edge."""
    toward = unrotate(xf1[1], sub(apply(xf2, two.centroid), apply(xf1, one.centroid)))
    edge = support(one.normals, toward)
    separations = []
    for vertex, n in zip(one.vertices, one.normals, strict=True):
        world_normal = rotate(xf1[1], n)
        deepest = support(two.vertices, neg(unrotate(xf2[1], world_normal)))
        farthest = apply(xf2, choose(two.vertices, deepest))
        separations.append((dot(sub(farthest, apply(xf1, vertex)), world_normal), ZERO))
    before = where(edge - 1 >= 0, edge - 1, one.count - 1)
    after = where(edge + 1 < one.count, edge + 1, 0)
    here, previous, following = (choose(separations, i)[0] for i in (edge, before, after))
    goes_back = (previous > here) & (previous > following)
    goes_on = ~goes_back & (following > here)
    moves = goes_back | goes_on
    best = where(goes_back, previous, where(goes_on, following, here))
    edge = where(goes_back, before, where(goes_on, after, edge))
    for _ in range(len(one.vertices) - 2):
        back = where(edge - 1 >= 0, edge - 1, one.count - 1)
        on = where(edge + 1 < one.count, edge + 1, 0)
        following_edge = where(goes_back, back, on)
        value = choose(separations, following_edge)[0]
        moves = moves & (value > best)
        best, edge = where(moves, value, best), where(moves, following_edge, edge)
    return best, edge


def _clip(
    points: tuple[Vector, Vector], keys: tuple[Number, Number], normal: Vector, offset: Number, vertex: Number
) -> tuple[tuple[Vector, Vector], tuple[Number, Number], Number]:
    """Cut a segment at a line, and return what lies behind it, and whether that has two points."""
    d0, d1 = dot(normal, points[0]) - offset, dot(normal, points[1]) - offset
    in0, in1 = d0 <= 0, d1 <= 0
    crosses = d0 * d1 < 0
    part = d0 / where(crosses, d0 - d1, ONE)
    d0, d1 = once((d0, d1))
    middle = add(points[0], mul(part, sub(points[1], points[0])))
    key = _key(vertex, (keys[0] >> 8) & 0xFF, 0, FACE)
    both = in0 & in1
    return (
        (select(in0, points[0], points[1]), select(both, points[1], middle)),
        (where(in0, keys[0], keys[1]), where(both, keys[1], key)),
        both | crosses,
    )


def _manifold(
    is_valid: Number, kind: Number, normal: Vector, point: Vector, points: Any, keys: Any, keep: Any
) -> Manifold:
    """Return a manifold of the points to keep, the first of them first."""
    count = where(is_valid, keep[0].astype(jnp.int32) + keep[1].astype(jnp.int32), 0)
    return Manifold(
        count=count,
        kind=kind,
        normal=normal,
        point=point,
        points=(select(keep[0], points[0], points[1]), points[1]),
        keys=(where(keep[0], keys[0], keys[1]), keys[1]),
    )


def _single_point(
    is_valid: Number, kind: Number, normal: Vector, point: Vector, center: Vector, key: Number
) -> Manifold:
    key = jnp.asarray(key, jnp.int32)
    return Manifold(
        count=is_valid.astype(jnp.int32),
        kind=kind,
        normal=normal,
        point=point,
        points=(center, center),
        keys=(key, key),
    )


def _padded(shape: Convex, size: int) -> Convex:
    extra = size - len(shape.vertices)
    return shape._replace(
        vertices=[*shape.vertices, *[shape.vertices[0]] * extra], normals=[*shape.normals, *[shape.normals[0]] * extra]
    )


def _key(index_a: Number, index_b: Number, type_a: Number, type_b: Number) -> Number:
    """Return the key of two features that meet: vertices (0) or faces with their indices."""
    return jnp.int32(index_a) | jnp.int32(index_b) << 8 | jnp.int32(type_a) << 16 | jnp.int32(type_b) << 24


def _swap(key: Number) -> Number:
    """Return the key with A and B exchanged."""
    return (key >> 8) & 0x00FF00FF | (key & 0x00FF00FF) << 8

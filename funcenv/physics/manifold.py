"""Contact manifolds: up to two points with a common normal.

A manifold is given in the coordinates of the bodies, so that it can follow them while positions are corrected. Each
point has a key of the features that meet, by which the next step recognizes it. The functions compute one pair or, on
arrays, many pairs at once; shapes are padded to the same number of vertices with copies of the first, which never win a
comparison. The algorithms are those of Box2D's `b2CollideEdge.cpp`, `b2CollidePolygon.cpp` and `b2CollideCircle.cpp`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.scalars import (
    EPSILON,
    HALF,
    ONE,
    Number,
    greatest,
    is_known,
    least,
    once,
    row_at,
    select,
    where,
)
from funcenv.physics.shapes import POLYGON_RADIUS
from funcenv.physics.transforms import Transform, apply, relative, rotate, unapply, unrotate
from funcenv.physics.vectors import Vector, add, dot, mul, neg, normalize, right, sub

CIRCLES, FACE_A, FACE_B = np.int32(0), np.int32(1), np.int32(2)  # owner of a manifold's normal
FACE = np.int32(1)  # a feature that is a face; a vertex is 0
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = np.float32(0.98), np.float32(0.001)  # when the reference face changes


class Convex(NamedTuple):
    """A polygon, edge or circle of a pair, in the coordinates of its body."""

    vertices: Vector  # components `[vertices]`; a circle has one vertex, its centre
    normals: Vector  # components `[vertices]` of the normals of a polygon's edges
    count: Number  # number of vertices, without the padding
    centroid: Vector
    radius: Number

    @property
    def size(self) -> int:
        """The number of vertices with the padding."""
        return int(np.shape(self.vertices[0])[0])


class Manifold(NamedTuple):
    """Contact points; `count` says how many of the two are meant."""

    count: Number
    kind: Number
    normal: Vector  # normal in the coordinates of the body of the reference face
    point: Vector  # point on the reference face
    points: tuple[Vector, Vector]  # contact points in the coordinates of the other body
    keys: tuple[Number, Number]


def support(vertices: Vector, direction: Vector) -> Number:
    """Return the index of the vertex that lies farthest in a direction, the first of several."""
    if np.shape(vertices[0])[0] == 1:
        return np.int32(0)
    return greatest(dot(vertices, direction))


def vertex_at(vertices: Vector, index: Number) -> Vector:
    """Return a vertex, or a normal, by its index."""
    if np.shape(vertices[0])[0] == 1 or is_known(index):
        known = int(index) if is_known(index) else 0
        return vertices[0][known], vertices[1][known]
    return row_at((jnp.asarray(vertices[0]), jnp.asarray(vertices[1])), index)


def collide_edge_polygon(a: Convex, xf_a: Transform, b: Convex, xf_b: Transform) -> Manifold:
    """Return the contact points of an edge without neighbours, which collides on both sides, and a polygon."""
    xf = once(relative(xf_a, xf_b))
    v1, v2 = vertex_at(a.vertices, np.int32(0)), vertex_at(a.vertices, np.int32(1))
    normal1 = once(right(normalize(sub(v2, v1))[0]))
    is_front = once(dot(normal1, sub(apply(xf, b.centroid), v1)) >= 0)
    normal = once(select(is_front, normal1, neg(normal1)))
    vertices, normals = once((apply(xf, b.vertices), rotate(xf[1], b.normals)))
    radius = np.float32(2) * POLYGON_RADIUS

    from_v1, inward = sub(vertices, v1), neg(normals)
    edge_separation = dot(normal, from_v1).min()
    separations = once(jnp.minimum(dot(inward, from_v1), dot(inward, sub(vertices, v2))))
    index = greatest(separations)
    edge_separation, separation = once((edge_separation, separations.max()))
    is_apart = (edge_separation > radius) | (separation > radius)
    is_b = separation > RELATIVE_TOLERANCE * edge_separation + ABSOLUTE_TOLERANCE

    incident = least(dot(normal, normals))  # the edge of the polygon that faces the edge most
    first = once(where(is_b, index, incident))
    second = where(first + 1 < b.count, first + 1, 0)
    start, end, edge_normal = once((vertex_at(vertices, first), vertex_at(vertices, second), vertex_at(normals, first)))
    # the reference face, and the edge that is cut to it
    face_index = where(is_b, first, where(is_front, 0, 1)), where(is_b, second, where(is_front, 1, 0))
    face = select(is_b, start, select(is_front, v1, v2)), select(is_b, end, select(is_front, v2, v1))
    face_normal = select(is_b, edge_normal, normal)
    cut = select(is_b, v1, start), select(is_b, v2, end)
    face, face_normal, cut = once((face, face_normal, cut))
    kinds = where(is_b, _key(0, 0, 0, FACE), _key(0, 0, FACE, 0))
    keys = first << 8 | kinds, where(is_b, first, second) << 8 | kinds
    side = right(face_normal)
    cut, keys, is_cut1 = _clip(cut, keys, side, dot(side, face[0]), face_index[0])
    cut, keys, is_cut2 = _clip(cut, keys, neg(side), dot(neg(side), face[1]), face_index[1])
    keep = [dot(face_normal, sub(point, face[0])) <= radius for point in cut]
    points = [select(is_b, point, unapply(xf, point)) for point in cut]
    keys = where(is_b, _swap(keys[0]), keys[0]), where(is_b, _swap(keys[1]), keys[1])
    return _manifold(
        is_valid=~is_apart & is_cut1 & is_cut2,
        kind=where(is_b, FACE_B, FACE_A),
        normal=select(is_b, vertex_at(b.normals, first), face_normal),
        point=select(is_b, vertex_at(b.vertices, first), face[0]),
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
    size = max(a.size, b.size)
    one, two = select(is_b, _padded(b, size), _padded(a, size)), select(is_b, _padded(a, size), _padded(b, size))
    xf1, xf2 = select(is_b, xf_b, xf_a), select(is_b, xf_a, xf_b)
    edge = where(is_b, edge_b, edge_a)

    direction = unrotate(xf2[1], rotate(xf1[1], vertex_at(one.normals, edge)))
    first = least(dot(direction, two.normals))
    second = where(first + 1 < two.count, first + 1, 0)
    cut = apply(xf2, vertex_at(two.vertices, first)), apply(xf2, vertex_at(two.vertices, second))
    keys = _key(edge, first, FACE, 0), _key(edge, second, FACE, 0)

    next_edge = where(edge + 1 < one.count, edge + 1, 0)
    local1, local2 = vertex_at(one.vertices, edge), vertex_at(one.vertices, next_edge)
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
    center = vertex_at(b.vertices, np.int32(0))
    q = unapply(xf_a, apply(xf_b, center))
    start, end = vertex_at(a.vertices, np.int32(0)), vertex_at(a.vertices, np.int32(1))
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
    center = vertex_at(b.vertices, np.int32(0))
    c = unapply(xf_a, apply(xf_b, center))
    radius = a.radius + b.radius
    separations = once(dot(a.normals, sub(c, a.vertices)))
    index, separation = greatest(separations), separations.max()
    v1, v2 = vertex_at(a.vertices, index), vertex_at(a.vertices, where(index + 1 < a.count, index + 1, 0))
    normal, middle = vertex_at(a.normals, index), mul(HALF, add(v1, v2))
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
    center_a, center_b = vertex_at(a.vertices, np.int32(0)), vertex_at(b.vertices, np.int32(0))
    distance = sub(apply(xf_b, center_b), apply(xf_a, center_a))
    radius = a.radius + b.radius
    square = dot(distance, distance)
    zero = jnp.zeros_like(square)
    return _single_point(
        is_valid=square <= radius * radius,
        kind=jnp.zeros_like(square, jnp.int32),
        normal=(zero, zero),
        point=center_a,
        center=center_b,
        key=jnp.zeros_like(square, jnp.int32),
    )


def _greatest_separation(one: Convex, xf1: Transform, two: Convex, xf2: Transform) -> tuple[Number, Number]:
    """Return the greatest separation along a normal of the first polygon that a local search finds, and its edge."""
    toward = unrotate(xf1[1], sub(apply(xf2, two.centroid), apply(xf1, one.centroid)))
    edge = support(one.normals, toward)
    world_normals = rotate(xf1[1], one.normals)
    inward = neg(unrotate(xf2[1], world_normals))
    deepest = jax.lax.argmax(dot((two.vertices[0][None], two.vertices[1][None]), _as_columns(inward)), 1, jnp.int32)
    farthest = apply(
        xf2, (jnp.take(two.vertices[0], deepest, mode="clip"), jnp.take(two.vertices[1], deepest, mode="clip"))
    )
    separations = once(dot(sub(farthest, apply(xf1, one.vertices)), world_normals))
    before = where(edge - 1 >= 0, edge - 1, one.count - 1)
    after = where(edge + 1 < one.count, edge + 1, 0)
    here, previous, following = (row_at(separations, i) for i in (edge, before, after))
    goes_back = (previous > here) & (previous > following)
    goes_on = ~goes_back & (following > here)
    moves = goes_back | goes_on
    best = where(goes_back, previous, where(goes_on, following, here))
    edge = where(goes_back, before, where(goes_on, after, edge))

    def climb(_: Any, carry: Any) -> Any:
        moves, best, edge = carry
        back = where(edge - 1 >= 0, edge - 1, one.count - 1)
        on = where(edge + 1 < one.count, edge + 1, 0)
        following_edge = where(goes_back, back, on)
        value = row_at(separations, following_edge)
        moves = moves & (value > best)
        return moves, where(moves, value, best), where(moves, following_edge, edge)

    _, best, edge = jax.lax.fori_loop(0, one.size - 2, climb, (moves, best, edge))
    return best, edge


def _as_columns(vectors: Vector) -> Vector:
    return vectors[0][:, None], vectors[1][:, None]


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
    extra = size - shape.size
    if extra == 0:
        return shape

    def padded(column: Any) -> Any:
        return jnp.concatenate([column, jnp.broadcast_to(column[:1], (extra,))])

    vertices, normals = shape.vertices, shape.normals
    return shape._replace(
        vertices=(padded(vertices[0]), padded(vertices[1])), normals=(padded(normals[0]), padded(normals[1]))
    )


def _key(index_a: Number, index_b: Number, type_a: Number, type_b: Number) -> Number:
    """Return the key of two features that meet: vertices (0) or faces with their indices."""
    key: Number = np.int32(0)
    for shift, part in ((0, index_a), (8, index_b), (16, type_a), (24, type_b)):
        shifted = np.int32(int(part) << shift) if is_known(part) else part << shift if shift else part
        key = key | shifted
    return key


def _swap(key: Number) -> Number:
    """Return the key with A and B exchanged."""
    return (key >> 8) & 0x00FF00FF | (key & 0x00FF00FF) << 8

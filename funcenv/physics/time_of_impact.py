"""When two moving shapes first touch in a step.

The algorithm is conservative advancement along separating axes, as in Box2D's `b2TimeOfImpact.cpp`: find an axis on
which the shapes are apart, then the latest time at which they still are, and repeat from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.distance import Closest, distance, empty_cache
from funcenv.physics.manifold import Convex, support, vertex_at
from funcenv.physics.revolute import Position
from funcenv.physics.scalars import HALF, ONE, PI, Number, once, opaque, select, where
from funcenv.physics.shapes import LINEAR_SLOP, MAX_VERTICES
from funcenv.physics.transforms import Transform, apply, origin, rotate, unrotate
from funcenv.physics.vectors import Vector, add, dot, mul, neg, normalize, right, sub

MAX_AXES, MAX_ROOT_STEPS = 20, 50
TOLERANCE = np.float32(0.25) * LINEAR_SLOP  # tolerance of the distance at the time of impact [m]
POINTS, FACE_A, FACE_B = np.int32(0), np.int32(1), np.int32(2)  # owner of an axis


class Sweep(NamedTuple):
    """The motion of a body's centre of mass during a step, or the transform of a static body."""

    start: Position
    end: Position
    local_center: Vector
    is_fixed: Number  # a Python bool, where it is known
    fixed: Transform


class _Axis(NamedTuple):
    kind: Number
    axis: Vector
    point: Vector  # point on the face, in the coordinates of its body


def time_of_impact(a: Convex, sweep_a: Sweep, b: Convex, sweep_b: Sweep) -> tuple[Number, Number]:
    """Return whether the shapes come to touch, and when, as a part of the sweeps in [0, 1]."""
    target = jnp.maximum(LINEAR_SLOP, a.radius + b.radius - np.float32(3) * LINEAR_SLOP)
    sweep_a, sweep_b = _normalized(sweep_a), _normalized(sweep_b)

    def advance(carry: Any) -> Any:
        count, _, _, t1, cache = carry
        xf_a, xf_b = _at(sweep_a, t1), _at(sweep_b, t1)
        gap, cache, closest = distance(a, xf_a, b, xf_b, cache)
        overlaps = gap <= 0
        touches = ~overlaps & (gap < target + TOLERANCE)
        axis = _find_axis(xf_a, xf_b, closest)
        is_done, touches_later, t2 = _push_back(a, sweep_a, b, sweep_b, axis, t1, target, overlaps | touches)
        ends_here = overlaps | touches
        return (
            count + 1,
            ends_here | is_done,
            touches | (~ends_here & touches_later),
            where(ends_here, t1, t2),
            cache,
        )

    zero = jnp.zeros((), bool)
    start = jnp.int32(0), zero, zero, jnp.float32(0), empty_cache()
    _, _, touches, time, _ = jax.lax.while_loop(lambda c: (c[0] < MAX_AXES) & ~c[1], advance, start)
    return touches, time


def _push_back(
    a: Convex, sweep_a: Sweep, b: Convex, sweep_b: Sweep, axis: _Axis, t1: Number, target: Number, skip: Number
) -> tuple[Number, Number, Number]:
    """Return whether the search ends, whether the shapes touch then, and the latest time of separation on an axis."""

    def resolve(carry: Any) -> Any:
        count, _, _, _, t1, t2 = carry
        point_a, point_b, s2 = _deepest(a, sweep_a, b, sweep_b, axis, t2)
        is_separated = s2 > target + TOLERANCE
        is_reached = ~is_separated & (s2 > target - TOLERANCE)
        s1, root = _find_root(
            lambda t: _separation(_at(sweep_a, t), _at(sweep_b, t), axis, point_a, point_b),
            t1,
            (t2, s2),
            target,
            ~(is_separated | is_reached),
        )
        is_failed = s1 < target - TOLERANCE
        touches = ~is_failed & (s1 <= target + TOLERANCE)
        is_bracketed = ~(is_separated | is_reached | is_failed | touches)
        ends = ~is_reached & (is_separated | is_failed | touches)
        return (
            count + 1,
            is_reached | ends,
            ends,
            ends & ~is_separated & touches,
            where(is_reached, t2, t1),
            where(is_bracketed, root, t2),
        )

    zero = jnp.zeros((), bool)
    start = jnp.int32(0), skip, zero, zero, t1, jnp.float32(1)
    _, _, ends, touches, t1, _ = jax.lax.while_loop(lambda c: (c[0] < MAX_VERTICES) & ~c[1], resolve, start)
    return ends, touches, t1


def _find_root(function: Any, low: Number, high: Any, target: Number, is_on: Number) -> tuple[Number, Number]:
    """Return the separation at `low`, and when it is near the target, by bisection and the secant rule in turns.

    Args:
        function: separation by the time.
        low: time before the root.
        high: time behind it, and the separation then.
        target: separation to find. Unless it is clearly less than the separation at `low`, the search ends there.
        is_on: whether to search.
    """

    def narrow(carry: Any) -> Any:
        count, _, a1, s1, a2, s2, t2, at_low = carry
        is_first = count < 0
        secant = a1 + (target - s1) * (a2 - a1) / (s2 - s1)
        t = where(is_first, low, where(count & 1 == 1, secant, HALF * (a1 + a2)))
        s = function(t)
        is_found = where(is_first, s <= target + TOLERANCE, jnp.abs(s - target) < TOLERANCE)
        is_apart = is_first | (s > target)
        return (
            count + 1,
            is_found,
            where(is_apart, t, a1),
            where(is_apart, s, s1),
            where(is_apart, a2, t),
            where(is_apart, s2, s),
            where(is_found, t, t2),
            where(is_first, s, at_low),
        )

    start = jnp.int32(-1), ~is_on, low, jnp.zeros_like(low), high[0], high[1], high[0], jnp.zeros_like(low)
    *_, root, at_low = jax.lax.while_loop(lambda c: (c[0] < MAX_ROOT_STEPS) & ~c[1], narrow, start)
    return at_low, root


def _find_axis(xf_a: Transform, xf_b: Transform, closest: Closest) -> _Axis:
    """Return the axis through the closest points, or normal to the face that one of them lies on."""
    (a1, a2), (b1, b2) = closest.of_a, closest.of_b
    is_points, is_b = closest.count == 1, closest.is_one_a
    between, _ = normalize(sub(apply(xf_b, b1), apply(xf_a, a1)))
    face, _ = normalize(right(select(is_b, sub(b2, b1), sub(a2, a1))))
    middle = mul(HALF, select(is_b, add(b1, b2), add(a1, a2)))
    xf1 = select(is_b, xf_b[0], xf_a[0]), select(is_b, xf_b[1], xf_a[1])
    xf2 = select(is_b, xf_a[0], xf_b[0]), select(is_b, xf_a[1], xf_b[1])
    gap = dot(sub(apply(xf2, select(is_b, a1, b1)), apply(xf1, middle)), rotate(xf1[1], face))
    face = select(gap < 0, neg(face), face)
    kind = where(is_points, POINTS, where(is_b, FACE_B, FACE_A))
    return once(_Axis(kind, select(is_points, between, face), middle))


def _deepest(
    a: Convex, sweep_a: Sweep, b: Convex, sweep_b: Sweep, axis: _Axis, t: Number
) -> tuple[Vector, Vector, Number]:
    """Return the points that are closest along the axis, in the coordinates of the bodies, and their separation."""
    xf_a, xf_b = _at(sweep_a, t), _at(sweep_b, t)
    is_a, is_b = axis.kind == FACE_A, axis.kind == FACE_B
    normal = _world_axis(axis, xf_a, xf_b)
    index_a = support(a.vertices, unrotate(xf_a[1], select(is_b, neg(normal), axis.axis)))
    index_b = support(b.vertices, unrotate(xf_b[1], select(is_a, neg(normal), neg(axis.axis))))
    index_a, index_b = once((index_a, index_b))
    point_a = once(select(is_a, axis.point, vertex_at(a.vertices, index_a)))
    point_b = once(select(is_b, axis.point, vertex_at(b.vertices, index_b)))
    return point_a, point_b, _separation(xf_a, xf_b, axis, point_a, point_b)


def _separation(xf_a: Transform, xf_b: Transform, axis: _Axis, point_a: Vector, point_b: Vector) -> Number:
    """Return the separation of two points along the axis."""
    difference = sub(apply(xf_b, point_b), apply(xf_a, point_a))
    outward = select(axis.kind == FACE_B, neg(difference), difference)
    return dot(outward, _world_axis(axis, xf_a, xf_b))


def _world_axis(axis: _Axis, xf_a: Transform, xf_b: Transform) -> Vector:
    rotated = rotate(select(axis.kind == FACE_B, xf_b[1], xf_a[1]), axis.axis)
    return select(axis.kind == POINTS, axis.axis, rotated)


def _normalized(sweep: Sweep) -> Sweep:
    """Return the sweep with angles that begin in [0, 2 pi)."""
    if sweep.is_fixed is True:
        return sweep
    turn = opaque(np.float32(2) * PI)
    offset = once(turn * jnp.floor(sweep.start.angle / turn))
    return sweep._replace(
        start=sweep.start._replace(angle=sweep.start.angle - offset),
        end=sweep.end._replace(angle=sweep.end.angle - offset),
    )


def _at(sweep: Sweep, t: Number) -> Transform:
    """Return the transform of the body's origin at a time of the sweep."""
    if sweep.is_fixed is True:
        return sweep.fixed
    rest = ONE - t
    center = add(mul(rest, sweep.start.center), mul(t, sweep.end.center))
    xf = origin(center, rest * sweep.start.angle + t * sweep.end.angle, sweep.local_center)
    if sweep.is_fixed is False:
        return once(xf)
    return once((select(sweep.is_fixed, sweep.fixed[0], xf[0]), select(sweep.is_fixed, sweep.fixed[1], xf[1])))

"""Contacts as constraints: no approach of two bodies along the normal, and friction along the tangent.

Each function takes one contact, because each starts from the velocities or positions that the one before it left. A
free place has masses and impulses 0, and changes nothing. The equations are those of Box2D's `b2ContactSolver.cpp`,
with its block solver for two points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.manifold import CIRCLES, FACE_B
from funcenv.physics.revolute import Position, Velocity
from funcenv.physics.scalars import (
    EPSILON,
    HALF,
    ONE,
    ZERO,
    Number,
    choose,
    clamp,
    once,
    row_at,
    rows_of,
    select,
    where,
)
from funcenv.physics.shapes import LINEAR_SLOP
from funcenv.physics.transforms import IDENTITY, Transform, apply, origin, rotate
from funcenv.physics.vectors import Vector, add, cross, dot, mul, neg, normalize, right, spin, sub

VELOCITY_THRESHOLD = np.float32(1)  # slower impacts do not bounce [m/s]
MAX_CONDITION_NUMBER = np.float32(1000)  # bound for the matrix of the block solver
MAX_LINEAR_CORRECTION = np.float32(0.2)  # greatest correction in one position iteration [m]
BAUMGARTE = np.float32(0.2)  # part of the overlap that one position iteration removes
TOI_BAUMGARTE = np.float32(0.75)  # the same at a time of impact


class ContactBody(NamedTuple):
    """One of the two bodies of a contact."""

    row: Number  # among the moving bodies; their number for a static body
    mass: Any  # BodyMass; None of a body that is known to be static
    fixed: Any  # transform of a static body; None if it is known to move


class Contact(NamedTuple):
    """A touching contact as the solver needs it; `count` is 0 in a free place."""

    a: Any  # ContactBody; None if it is always static
    b: ContactBody
    count: Number
    kind: Number
    normal: Vector
    point: Vector
    points: Vector  # components `[2]`
    radius_a: Number
    radius_b: Number
    friction: Number
    restitution: Number
    impulses: Number  # [4]: normal impulses of both points, and tangential ones [N s]

    def for_velocities(self) -> Contact:
        """Return what the iterations of velocities need."""
        without: dict[str, Any] = dict.fromkeys(("count", "kind", "normal", "point", "points", "radius_a", "radius_b"))
        without |= {"restitution": None, "impulses": None}
        for name, body in (("a", self.a), ("b", self.b)):
            without[name] = None if body is None else body._replace(fixed=None)
        return self._replace(**without)

    def for_positions(self) -> Contact:
        """Return what the iterations of positions need."""
        without: dict[str, Any] = dict.fromkeys(("friction", "restitution", "impulses"))
        return self._replace(**without)


class ContactConstraint(NamedTuple):
    """The quantities of a contact that stay constant during the velocity iterations.

    The quantities of the two points are arrays `[2]`, or pairs of numbers for the iterations.
    """

    normal: Vector
    r_a: Any  # vector, position of the points relative to the centre of mass of each body; None of a static body
    r_b: Any
    normal_mass: Any
    tangent_mass: Any
    bias: Any
    is_block: Number  # true if two points are solved together
    k11: Number
    k12: Number
    k22: Number
    i11: Number  # the inverse of the matrix k
    i12: Number
    i22: Number


class Layout(NamedTuple):
    """The properties of a world's contacts that are known when a program is traced."""

    num_rows: int  # moving bodies
    a_is_static: bool
    b_is_moving: bool
    has_circles: bool
    fixed_at_origin: bool  # true if all static bodies lie at the origin, without rotation


def read(layout: Layout, values: Sequence[Any], row: Number) -> Any:
    """Return the record of a body from one for each moving body; zeros for a static body."""
    chosen = choose(values, row)
    if not layout.b_is_moving:
        chosen = jax.tree.map(lambda old: where(row == layout.num_rows, ZERO, old), chosen)
    return chosen


def write(values: Sequence[Any], row: Number, value: Any) -> list[Any]:
    """Return the records with one exchanged; none, if the row is that of a static body."""
    if row is None:  # there is one body
        return [value]
    return [select(row == i, value, old) for i, old in enumerate(values)]


def transforms(layout: Layout, contact: Contact, a: Position, b: Position) -> tuple[Transform, Transform]:
    """Return the transforms of both bodies of a contact."""
    return _transform(layout, contact.a, a), _transform(layout, contact.b, b)


def prepare(
    layout: Layout, contact: Contact, positions: tuple[Position, Position], velocities: tuple[Velocity, Velocity]
) -> tuple[ContactConstraint, Number]:
    """Return the constraint, and the number of points to solve: one instead of two if they are nearly the same."""
    normal, points = once(_world_manifold(layout, contact, positions))
    r_a, r_b = sub(points, positions[0].center), sub(points, positions[1].center)
    arms = cross(r_a, normal), cross(r_b, normal)
    k_normal = _effective_mass(contact, *arms, *arms)
    (a1, a2), (b1, b2) = rows_of(arms[0], 2), rows_of(arms[1], 2)
    (k11, k22), k12 = rows_of(k_normal, 2), _effective_mass(contact, a1, b1, a2, b2)
    tangent = right(normal)
    arms = cross(r_a, tangent), cross(r_b, tangent)
    k_tangent = _effective_mass(contact, *arms, *arms)
    approach = dot(normal, _relative_velocity(layout, r_a, r_b, *velocities))
    bias = where(approach < -VELOCITY_THRESHOLD, -contact.restitution * approach, ZERO)
    det = k11 * k22 - k12 * k12
    is_block = (contact.count == 2) & (k11 * k11 < MAX_CONDITION_NUMBER * det)
    inverse = where(det != 0, ONE / where(det != 0, det, ONE), det)
    count = where((contact.count == 2) & ~is_block, 1, contact.count)
    is_on = count > np.arange(2, dtype=np.int32)

    def mass(k: Number) -> Number:
        return where(is_on & (k > 0), ONE / where(k > 0, k, ONE), ZERO)

    constraint = ContactConstraint(
        normal=normal,
        r_a=None if layout.a_is_static else r_a,
        r_b=r_b,
        normal_mass=mass(k_normal),
        tangent_mass=mass(k_tangent),
        bias=bias,
        is_block=is_block,
        k11=k11,
        k12=k12,
        k22=k22,
        i11=inverse * k22,
        i12=-inverse * k12,
        i22=inverse * k11,
    )
    return constraint, count


def start_impulse(contact: Contact, count: Number, ratio: Number) -> Number:
    """Return the impulses that a step starts from: `[4]`, the normal ones of both points, and the tangential ones."""
    is_on = count > np.array([0, 1, 0, 1], np.int32)
    return where(is_on, ratio * contact.impulses, ZERO)


def warm_start(
    layout: Layout, contact: Contact, constraint: ContactConstraint, impulse: Number, a: Velocity, b: Velocity
) -> tuple[Velocity, Velocity]:
    """Return the velocities after the impulses of the step before."""
    normals, tangents = impulse
    for j in range(2):
        push = add(mul(normals[j], constraint.normal), mul(tangents[j], right(constraint.normal)))
        a, b = _push(layout, contact, a, b, push, *_moments(constraint, j, push))
    return a, b


def solve_velocity(
    layout: Layout, contact: Contact, constraint: ContactConstraint, impulse: Any, a: Velocity, b: Velocity
) -> tuple[Any, Velocity, Velocity]:
    """Return impulses and velocities after one iteration: friction at each point, then the normal impulses.

    Impulses are the pair of the points' normal ones and the pair of their tangential ones.
    """
    c, normal, tangent = constraint, constraint.normal, right(constraint.normal)
    (old1, old2), old_tangents = impulse
    tangents = []
    for j, old in enumerate((old1, old2)):
        sliding = dot(_velocity_at(layout, c, j, a, b), tangent)
        most = contact.friction * old
        total = once(clamp(old_tangents[j] + c.tangent_mass[j] * -sliding, -most, most))
        push = mul(total - old_tangents[j], tangent)
        a, b = once(_push(layout, contact, a, b, push, *_moments(c, j, push)))
        tangents.append(total)

    b1 = once(dot(_velocity_at(layout, c, 0, a, b), normal) - c.bias[0])
    b2 = once(dot(_velocity_at(layout, c, 1, a, b), normal) - c.bias[1])
    single = jnp.maximum(old1 + -c.normal_mass[0] * b1, ZERO)
    x1, x2 = _solve_block(c, old1, old2, b1 - (c.k11 * old1 + c.k12 * old2), b2 - (c.k12 * old1 + c.k22 * old2))
    x1, x2 = once((where(c.is_block, x1, single), where(c.is_block, x2, ZERO)))
    push1, push2 = mul(x1 - old1, normal), mul(x2 - old2, normal)
    moments = zip(_moments(c, 0, push1), _moments(c, 1, push2), strict=True)
    about_a, about_b = (None if one is None else one + two for one, two in moments)
    a, b = _push(layout, contact, a, b, add(push1, push2), about_a, about_b)
    return ((x1, x2), (tangents[0], tangents[1])), a, b


def _velocity_at(layout: Layout, c: ContactConstraint, j: int, a: Velocity, b: Velocity) -> Vector:
    """Return the velocity of B against A at one of the points."""
    r_a = None if c.r_a is None else (c.r_a[0][j], c.r_a[1][j])
    return _relative_velocity(layout, r_a, (c.r_b[0][j], c.r_b[1][j]), a, b)


def _moments(c: ContactConstraint, j: int, push: Vector) -> tuple[Any, Number]:
    """Return the moments of an impulse at one of the points about the centres of mass of A, unless static, and B."""
    about_a = None if c.r_a is None else cross((c.r_a[0][j], c.r_a[1][j]), push)
    return about_a, cross((c.r_b[0][j], c.r_b[1][j]), push)


def solve_position(
    layout: Layout, contact: Contact, a: Position, b: Position, factor: Number = BAUMGARTE
) -> tuple[Position, Position, Number]:
    """Return the positions after one iteration, and the least separation before it, at most 0."""
    m_b, i_b, _ = contact.b.mass

    def correct(j: Any, carry: Any) -> Any:
        a, b, least = carry
        normal, point, separation = once(_position_manifold(layout, contact, a, b, row_at(contact.points, j)))
        is_on = contact.count > j
        r_a, r_b = sub(point, a.center), sub(point, b.center)
        least = jnp.minimum(least, where(is_on, separation, ZERO))
        error = clamp(factor * (separation + LINEAR_SLOP), -MAX_LINEAR_CORRECTION, ZERO)
        arms = cross(r_a, normal), cross(r_b, normal)
        k = _effective_mass(contact, *arms, *arms)
        is_on = is_on & (k > 0)
        push = once(mul(where(is_on, -error / where(is_on, k, ONE), ZERO), normal))
        if not _is_fixed(contact):
            m_a, i_a, _ = contact.a.mass
            a = Position(sub(a.center, mul(m_a, push)), a.angle - i_a * cross(r_a, push))
        b = once(Position(add(b.center, mul(m_b, push)), b.angle + i_b * cross(r_b, push)))
        return a, b, least

    corrected: tuple[Position, Position, Number]
    if _is_fixed(contact):
        b, least = jax.lax.fori_loop(
            0, jnp.max(contact.count), lambda j, carry: correct(j, (a, *carry))[1:], (b, jnp.zeros_like(b.angle))
        )
        corrected = a, b, least
    else:
        corrected = jax.lax.fori_loop(0, jnp.max(contact.count), correct, (a, b, jnp.zeros_like(b.angle)))
    return corrected


def _solve_block(c: ContactConstraint, old1: Number, old2: Number, b1: Number, b2: Number) -> tuple[Number, Number]:
    """Return the impulses of two points, by trying which of them push; the old ones, if no choice is consistent."""
    b1, b2 = once((b1, b2))
    both1, both2 = -(c.i11 * b1 + c.i12 * b2), -(c.i12 * b1 + c.i22 * b2)
    both = (both1 >= 0) & (both2 >= 0)
    first = -c.normal_mass[0] * b1
    only_first = (first >= 0) & (c.k12 * first + b2 >= 0)
    second = -c.normal_mass[1] * b2
    only_second = (second >= 0) & (c.k12 * second + b1 >= 0)
    none = (b1 >= 0) & (b2 >= 0)
    x1 = where(only_first, first, where(only_second | none, ZERO, old1))
    x2 = where(only_first, ZERO, where(only_second, second, where(none, ZERO, old2)))
    return where(both, both1, x1), where(both, both2, x2)


def _world_manifold(layout: Layout, contact: Contact, positions: tuple[Position, Position]) -> tuple[Vector, Vector]:
    """Return the normal from A to B, and the points half-way between the surfaces, components `[2]`."""
    xf_a, xf_b = transforms(layout, contact, *positions)
    is_b = contact.kind == FACE_B
    xf1, xf2 = select(is_b, xf_b, xf_a), select(is_b, xf_a, xf_b)
    radius1 = where(is_b, contact.radius_b, contact.radius_a)
    radius2 = where(is_b, contact.radius_a, contact.radius_b)
    normal, plane = rotate(xf1[1], contact.normal), apply(xf1, contact.point)
    clip = apply(xf2, contact.points)
    on_1 = add(clip, mul(radius1 - dot(sub(clip, plane), normal), normal))
    points = mul(HALF, add(on_1, sub(clip, mul(radius2, normal))))
    normal = select(is_b, neg(normal), normal)
    if layout.has_circles:
        center_a, center_b = apply(xf_a, contact.point), apply(xf_b, rows_of(contact.points, 1)[0])
        distance = sub(center_b, center_a)
        is_far = dot(distance, distance) > EPSILON * EPSILON
        axis = select(is_far, normalize(distance)[0], (ONE, ZERO))
        middle = mul(HALF, add(add(center_a, mul(contact.radius_a, axis)), sub(center_b, mul(contact.radius_b, axis))))
        is_circles = contact.kind == CIRCLES
        normal = select(is_circles, axis, normal)
        points = select(is_circles & np.array([True, False]), middle, points)
    return normal, points


def _position_manifold(
    layout: Layout, contact: Contact, a: Position, b: Position, local: Vector
) -> tuple[Vector, Vector, Number]:
    """Return the normal from A to B, one of the points and its separation for corrected positions."""
    xf_a, xf_b = transforms(layout, contact, a, b)
    is_b = contact.kind == FACE_B
    xf1, xf2 = select(is_b, xf_b, xf_a), select(is_b, xf_a, xf_b)
    normal, plane, point = rotate(xf1[1], contact.normal), apply(xf1, contact.point), apply(xf2, local)
    separation = dot(sub(point, plane), normal) - contact.radius_a - contact.radius_b
    normal = select(is_b, neg(normal), normal)
    if layout.has_circles:
        center_a, center_b = apply(xf_a, contact.point), apply(xf_b, local)
        axis, _ = normalize(sub(center_b, center_a))
        is_circles = contact.kind == CIRCLES
        distance = dot(sub(center_b, center_a), axis) - contact.radius_a - contact.radius_b
        normal, point = select(is_circles, axis, normal), select(is_circles, mul(HALF, add(center_a, center_b)), point)
        separation = where(is_circles, distance, separation)
    return normal, point, separation


def _transform(layout: Layout, body: ContactBody | None, position: Position) -> Transform:
    if body is None:
        return IDENTITY
    if layout.a_is_static and body.mass is None:
        return body.fixed
    xf = origin(position.center, position.angle, body.mass.center)
    return xf if layout.b_is_moving else select(body.row == layout.num_rows, body.fixed, xf)


def _effective_mass(contact: Contact, arm_a: Number, arm_b: Number, other_a: Number, other_b: Number) -> Number:
    """Return how two impulses on the contact act on each other, from their arms on both bodies."""
    m_b, i_b, _ = contact.b.mass
    if _is_fixed(contact):
        return m_b + i_b * arm_b * other_b
    m_a, i_a, _ = contact.a.mass
    return m_a + m_b + i_a * arm_a * other_a + i_b * arm_b * other_b


def _is_fixed(contact: Contact) -> bool:
    """Return whether body A is known to be static when the program is traced."""
    return contact.a is None or contact.a.mass is None


def _relative_velocity(layout: Layout, r_a: Any, r_b: Vector, a: Velocity, b: Velocity) -> Vector:
    """Return the velocity of B against A at a contact point."""
    velocity = add(b.linear, spin(b.angular, r_b))
    return velocity if layout.a_is_static else sub(sub(velocity, a.linear), spin(a.angular, r_a))


def _push(
    layout: Layout, contact: Contact, a: Velocity, b: Velocity, push: Vector, about_a: Any, about_b: Number
) -> tuple[Velocity, Velocity]:
    """Apply an impulse to B and its opposite to A, given with its moments about the centres of mass."""
    m_b, i_b, _ = contact.b.mass
    b = Velocity(add(b.linear, mul(m_b, push)), b.angular + i_b * about_b)
    if _is_fixed(contact):
        return a, b
    m_a, i_a, _ = contact.a.mass
    return Velocity(sub(a.linear, mul(m_a, push)), a.angular - i_a * about_a), b

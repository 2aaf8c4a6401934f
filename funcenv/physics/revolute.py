"""Revolute joints: a pin through two bodies, with an optional motor and optional limits of the angle.

The solver works on impulses. `prepare` computes what stays constant during a step, `solve_velocity` is one iteration of
the velocity constraints (motor, then limit and pin), `solve_position` one of the position constraints (limit, then
pin). The equations are those of Box2D's `b2RevoluteJoint.cpp`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from funcenv.physics.scalars import ONE, PI, ZERO, Number, clamp, float32, is_known, once, where
from funcenv.physics.shapes import LINEAR_SLOP
from funcenv.physics.transforms import rotate, rotation
from funcenv.physics.vectors import Vector, add, cross, length, mul, neg, spin, sub
from funcenv.struct import PyTreeNode, field

ANGULAR_SLOP = np.float32(2) / np.float32(180) * PI  # error of an angle that is not corrected [rad]
MAX_ANGULAR_CORRECTION = np.float32(8) / np.float32(180) * PI  # greatest correction in one position iteration [rad]
FREE, AT_LOWER, AT_UPPER, LOCKED = np.int32(0), np.int32(1), np.int32(2), np.int32(3)  # states of a limit


class RevoluteJoint(PyTreeNode):
    """A pin that holds a point of one body on a point of another.

    Args:
        body_a: index of the first body in the world.
        body_b: index of the second body.
        anchor_a: the pin in the coordinates of `body_a` [m].
        anchor_b: the pin in the coordinates of `body_b` [m].
        reference_angle: angle of `body_b` against `body_a` at which the joint's angle is 0 [rad]. Box2D's Python
            package takes the difference of the bodies' initial angles.
        limits: the least and the greatest angle of the joint [rad]; without limits, None.
        motor_speed: the angular velocity that the motor aims for [rad/s]; without a motor, None.
        max_motor_torque: the greatest torque of the motor [N m].

    Limits, speed and torque are data: they may be traced, and change from step to step.
    """

    body_a: int = field(pytree_node=False)
    body_b: int = field(pytree_node=False)
    anchor_a: Vector = (0.0, 0.0)
    anchor_b: Vector = (0.0, 0.0)
    reference_angle: Number = 0.0
    limits: tuple[Number, Number] | None = None
    motor_speed: Number | None = None
    max_motor_torque: Number = 0.0


class JointImpulse(NamedTuple):
    """Impulses of a joint, which the next step starts from."""

    point: Vector  # impulse at the pin [N s]
    limit: Number  # [N m s]
    motor: Number  # [N m s]
    limit_state: Number  # FREE, AT_LOWER, AT_UPPER or LOCKED


class BodyMass(NamedTuple):
    """The inverse mass and inertia of a body, both 0 for a static one."""

    inverse_mass: Number
    inverse_inertia: Number  # about the centre of mass
    center: Vector  # centre of mass, relative to the body's origin


class Position(NamedTuple):
    """Position of a body's centre of mass, and its angle."""

    center: Vector
    angle: Number


class Velocity(NamedTuple):
    """Velocity of a body's centre of mass, and its angular velocity."""

    linear: Vector
    angular: Number


class JointMass(NamedTuple):
    """The quantities of a joint that never change."""

    a: BodyMass
    b: BodyMass
    anchor_a: Vector  # anchor relative to the centre of mass, in the body's coordinates
    anchor_b: Vector
    k33: Number  # the sum of the inverse inertias
    motor_mass: Number  # 1 / the same, 0 if neither body turns


class JointConstraint(NamedTuple):
    """The quantities of a joint that stay constant during the velocity iterations."""

    mass: JointMass
    r_a: Vector  # the anchors in world coordinates
    r_b: Vector
    k11: Number  # the effective mass matrix, which is symmetric
    k12: Number
    k13: Number
    k22: Number
    k23: Number
    inverse2: Number  # 1 / the determinant of the pin's part of the matrix, 0 for a singular one
    inverse3: Number  # 1 / the determinant of the whole matrix, 0 for a singular one
    minors: tuple[Number, Number, Number]  # minors of the whole matrix, without its first row
    limit_state: Number


def joint_mass(joint: RevoluteJoint, a: BodyMass, b: BodyMass) -> JointMass:
    """Return what never changes of a joint between two bodies: on the host, if they are known there.

    In a compiled step, each of these numbers would be a kernel of its own on a GPU.
    """
    anchor_a = sub((float32(joint.anchor_a[0]), float32(joint.anchor_a[1])), a.center)
    anchor_b = sub((float32(joint.anchor_b[0]), float32(joint.anchor_b[1])), b.center)
    k33 = a.inverse_inertia + b.inverse_inertia
    return JointMass(a, b, anchor_a, anchor_b, k33, _inverse(k33))


def prepare(
    joint: RevoluteJoint, mass: JointMass, angles: tuple[Number, Number], impulse: JointImpulse
) -> tuple[JointConstraint, JointImpulse]:
    """Return the constraint of a step, and the impulses that it starts from."""
    r_a, r_b = once((rotate(rotation(angles[0]), mass.anchor_a), rotate(rotation(angles[1]), mass.anchor_b)))
    (m_a, i_a, _), (m_b, i_b, _) = mass.a, mass.b
    state: Number = FREE
    if joint.limits is not None:
        low, high = float32(joint.limits[0]), float32(joint.limits[1])
        angle = angles[1] - angles[0] - float32(joint.reference_angle)
        state = where(angle <= low, AT_LOWER, where(angle >= high, AT_UPPER, FREE))
        state = once(where(jnp.abs(high - low) < np.float32(2) * ANGULAR_SLOP, LOCKED, state))
        stays = (state == LOCKED) | ((state == impulse.limit_state) & (state != FREE))
        impulse = impulse._replace(limit=where(stays, impulse.limit, ZERO), limit_state=state)
    k11 = m_a + m_b + r_a[1] * r_a[1] * i_a + r_b[1] * r_b[1] * i_b
    k12 = -r_a[1] * r_a[0] * i_a - r_b[1] * r_b[0] * i_b
    k13 = -r_a[1] * i_a - r_b[1] * i_b
    k22 = m_a + m_b + r_a[0] * r_a[0] * i_a + r_b[0] * r_b[0] * i_b
    k23 = r_a[0] * i_a + r_b[0] * i_b
    k11, k12, k13, k22, k23 = once((k11, k12, k13, k22, k23))
    minors = once(_cross3((k12, k22, k23), (k13, k23, mass.k33)))
    inverse2, inverse3 = once((_inverse(k11 * k22 - k12 * k12), _inverse(_dot3((k11, k12, k13), minors))))
    constraint = JointConstraint(
        mass=mass,
        r_a=r_a,
        r_b=r_b,
        k11=k11,
        k12=k12,
        k13=k13,
        k22=k22,
        k23=k23,
        inverse2=inverse2,
        inverse3=inverse3,
        minors=minors,
        limit_state=state,
    )
    return constraint, once(impulse)


def warm_start(
    constraint: JointConstraint, impulse: JointImpulse, a: Velocity, b: Velocity
) -> tuple[Velocity, Velocity]:
    """Return the velocities after the impulses of the step before."""
    return _push(constraint, a, b, impulse.point, (impulse.motor, impulse.limit))


def solve_velocity(
    joint: RevoluteJoint, constraint: JointConstraint, impulse: JointImpulse, a: Velocity, b: Velocity, dt: Number
) -> tuple[JointImpulse, Velocity, Velocity]:
    """Return impulses and velocities after one iteration: the motor, then the limit together with the pin."""
    k = constraint
    if joint.motor_speed is not None:
        most = dt * float32(joint.max_motor_torque)
        error = b.angular - a.angular - float32(joint.motor_speed)
        motor = clamp(impulse.motor + -k.mass.motor_mass * error, -most, most)
        if joint.limits is not None:
            motor = where(k.limit_state == LOCKED, impulse.motor, motor)
        motor = once(motor)
        change = motor - impulse.motor
        a = a._replace(angular=once(a.angular - k.mass.a.inverse_inertia * change))
        b = b._replace(angular=once(b.angular + k.mass.b.inverse_inertia * change))
        impulse = impulse._replace(motor=motor)
    error_point = once(sub(sub(add(b.linear, spin(b.angular, k.r_b)), a.linear), spin(a.angular, k.r_a)))
    pin = _solve22(k, k.inverse2, neg(error_point))
    if joint.limits is None:
        return impulse._replace(point=add(impulse.point, pin)), *_push(k, a, b, pin)
    x, y, z = _solve33(k, (*error_point, b.angular - a.angular))
    x, y, z = -x, -y, once(-z)
    total = impulse.limit + z
    pulls = ((k.limit_state == AT_LOWER) & (total < 0)) | ((k.limit_state == AT_UPPER) & (total > 0))
    reduced = _solve22(k, k.inverse2, add(neg(error_point), mul(impulse.limit, (k.k13, k.k23))))
    x, y, z = where(pulls, reduced[0], x), where(pulls, reduced[1], y), where(pulls, -impulse.limit, z)
    is_free = k.limit_state == FREE
    push = once((where(is_free, pin[0], x), where(is_free, pin[1], y)))
    limit = where(is_free, impulse.limit, where(pulls, ZERO, total))
    a, b = _push(k, a, b, push, (once(where(is_free, ZERO, z)),))
    return once((impulse._replace(point=add(impulse.point, push), limit=limit), a, b))


def solve_position(
    joint: RevoluteJoint, constraint: JointConstraint, a: Position, b: Position
) -> tuple[Position, Position, Number]:
    """Return the positions after one iteration, and whether the errors before it were within the slop."""
    k = constraint
    i_a, i_b = k.mass.a.inverse_inertia, k.mass.b.inverse_inertia
    angular_error: Number = ZERO
    angle_a, angle_b = a.angle, b.angle
    if joint.limits is not None:
        low, high = float32(joint.limits[0]), float32(joint.limits[1])
        angle = angle_b - angle_a - float32(joint.reference_angle)
        below, above = angle - low, angle - high
        locked = clamp(below, -MAX_ANGULAR_CORRECTION, MAX_ANGULAR_CORRECTION)
        up = clamp(below + ANGULAR_SLOP, -MAX_ANGULAR_CORRECTION, ZERO)
        down = clamp(above - ANGULAR_SLOP, ZERO, MAX_ANGULAR_CORRECTION)
        state = k.limit_state
        error = where(state == AT_LOWER, up, where(state == AT_UPPER, down, locked))
        error = where(state == FREE, ZERO, error)
        change = -k.mass.motor_mass * error
        angular_error = where(state == AT_LOWER, -below, where(state == AT_UPPER, above, jnp.abs(locked)))
        angular_error = where(state == FREE, ZERO, angular_error)
        angle_a, angle_b = once((angle_a - i_a * change, angle_b + i_b * change))
    r_a, r_b = once((rotate(rotation(angle_a), k.mass.anchor_a), rotate(rotation(angle_b), k.mass.anchor_b)))
    error_point = once(sub(sub(add(b.center, r_b), a.center), r_a))
    m_a, m_b = k.mass.a.inverse_mass, k.mass.b.inverse_mass
    k11 = m_a + m_b + i_a * r_a[1] * r_a[1] + i_b * r_b[1] * r_b[1]
    k12 = -i_a * r_a[0] * r_a[1] - i_b * r_b[0] * r_b[1]
    k22 = m_a + m_b + i_a * r_a[0] * r_a[0] + i_b * r_b[0] * r_b[0]
    corrected = k._replace(k11=k11, k12=k12, k22=k22)
    push = once(neg(_solve22(corrected, _inverse(k11 * k22 - k12 * k12), error_point)))
    is_solved = (length(error_point) <= LINEAR_SLOP) & (angular_error <= ANGULAR_SLOP)
    return (
        once(Position(sub(a.center, mul(m_a, push)), angle_a - i_a * cross(r_a, push))),
        once(Position(add(b.center, mul(m_b, push)), angle_b + i_b * cross(r_b, push))),
        is_solved,
    )


def _push(
    k: JointConstraint, a: Velocity, b: Velocity, push: Vector, turns: tuple[Number, ...] = ()
) -> tuple[Velocity, Velocity]:
    """Apply an impulse at the pin and angular impulses to both bodies, in opposite directions."""
    about_a, about_b = cross(k.r_a, push), cross(k.r_b, push)
    for turn in turns:  # added one by one, because the order of a sum decides the last bit
        about_a, about_b = about_a + turn, about_b + turn
    return (
        Velocity(sub(a.linear, mul(k.mass.a.inverse_mass, push)), a.angular - k.mass.a.inverse_inertia * about_a),
        Velocity(add(b.linear, mul(k.mass.b.inverse_mass, push)), b.angular + k.mass.b.inverse_inertia * about_b),
    )


def _inverse(number: Number) -> Number:
    """Return the inverse, 0 for 0."""
    if is_known(number):
        return ONE / number if number != 0 else number
    return where(number != 0, ONE / number, number)


def _solve22(k: JointConstraint, inverse: Number, right: Vector) -> Vector:
    """Solve the symmetric system of the pin, given the inverse of its determinant; a singular one gives 0."""
    return inverse * (k.k22 * right[0] - k.k12 * right[1]), inverse * (k.k11 * right[1] - k.k12 * right[0])


def _solve33(k: JointConstraint, right: tuple[Number, Number, Number]) -> tuple[Number, Number, Number]:
    """Solve the symmetric system of pin and limit by Cramer's rule; a singular one gives 0."""
    ex, ey, ez = (k.k11, k.k12, k.k13), (k.k12, k.k22, k.k23), (k.k13, k.k23, k.mass.k33)
    return (
        k.inverse3 * _dot3(right, k.minors),
        k.inverse3 * _dot3(ex, _cross3(right, ez)),
        k.inverse3 * _dot3(ex, _cross3(ey, right)),
    )


_Vector3 = tuple[Number, Number, Number]


def _dot3(a: _Vector3, b: _Vector3) -> Number:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross3(a: _Vector3, b: _Vector3) -> _Vector3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]

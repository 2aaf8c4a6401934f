"""The iterations of the solver: joints and contacts one after the other, many times.

These loops take most of a step's time. They are written for numbers of any shape, whose axes are those of a batch, and
`jax.vmap` adds its axis at the end of each number instead of mapping the loop: so the loop over contacts ends with the
last contact of the whole batch, and numbers of a batch lie side by side. A contact place that is free changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics import contact_solver, revolute
from funcenv.physics.contact_solver import Contact, Layout
from funcenv.physics.packing import Packed, pack
from funcenv.physics.revolute import JointConstraint, JointImpulse, Position, RevoluteJoint, Velocity
from funcenv.physics.scalars import ZERO, Number, row_at, rows_of, where, with_row
from funcenv.physics.shapes import LINEAR_SLOP


class Plan(NamedTuple):
    """The static structure of the solver's loops."""

    layout: Layout
    ends: Sequence[tuple[int, int]]  # rows of each joint's two bodies, in the order of the joints
    num_fixed: int  # static bodies, whose rows follow those of the moving ones
    velocity_iterations: int
    position_iterations: int
    factor: Number = contact_solver.BAUMGARTE  # part of an overlap that one iteration removes
    tolerance: Number = np.float32(-3) * LINEAR_SLOP  # separation at which positions are good enough
    labels: Sequence[int] = (0,)  # possible labels of islands


class Contacts(NamedTuple):
    """The touching contacts in their order, `[places]` each, and how many there are."""

    count: Number
    for_positions: Any = None  # Contact, packed
    for_velocities: Any = None  # Contact and ContactConstraint, packed
    labels: Any = None  # islands of the contacts


def solve_velocities(
    plan: Plan,
    velocities: list[Velocity],
    joints: Sequence[RevoluteJoint],
    pins: list[JointConstraint],
    impulses: list[JointImpulse],
    contacts: Contacts,
    pushes: Any,
    h: Number,
    warm_starts: bool = True,
) -> tuple[list[Velocity], list[JointImpulse], Any]:
    """Return velocities and impulses after warm starting and all iterations.

    Args:
        plan: what is known of the loops.
        velocities: of the moving bodies.
        joints: in their order.
        pins: the constraints of the joints.
        impulses: of the joints.
        contacts: the touching contacts.
        pushes: impulses of the contacts `[places, 4]`; None without contacts.
        h: length of the step [s].
        warm_starts: whether the contacts' impulses act before the first iteration.
    """

    def run(shape: tuple[int, ...], arguments: Any) -> Any:
        velocities, joints, pins, impulses, contacts, pushes, h = arguments
        velocities, impulses = _filled((velocities, impulses), shape)
        still = [Velocity((ZERO, ZERO), ZERO)] * plan.num_fixed
        size, most = len(velocities), _most(contacts)
        pushes = _filled(pushes, shape, leading=2)

        def read(k: Any, pushes: Any) -> Any:
            contact, constraint = row_at(contacts.for_velocities, k).unpack(as_numbers=True)
            one, two, three, four = rows_of(row_at(pushes, k), 4)
            return contact, constraint, ((one, two), (three, four))

        def warm(k: Any, velocities: Any) -> Any:
            contact, constraint, push = read(k, pushes)
            a, b = _bodies(plan.layout, velocities, contact)
            a, b = contact_solver.warm_start(plan.layout, contact, constraint, push, a, b)
            return _replaced(plan.layout, velocities, contact, a, b)

        def touch(k: Any, carry: Any) -> Any:
            velocities, pushes = carry
            contact, constraint, push = read(k, pushes)
            a, b = _bodies(plan.layout, velocities, contact)
            push, a, b = contact_solver.solve_velocity(plan.layout, contact, constraint, push, a, b)
            pushes = with_row(pushes, k, jnp.stack([*push[0], *push[1]]))
            return _replaced(plan.layout, velocities, contact, a, b), pushes

        if pushes is not None and warm_starts:
            velocities = jax.lax.fori_loop(0, most, warm, velocities)
        velocities = [*velocities, *still]
        for pin, impulse, (a, b) in zip(pins, impulses, plan.ends, strict=True):
            velocities[a], velocities[b] = revolute.warm_start(pin, impulse, velocities[a], velocities[b])

        def iterate(_: Any, carry: Any) -> Any:
            velocities, impulses, pushes = [*carry[0], *still], list(carry[1]), carry[2]
            for k, (joint, pin, (a, b)) in enumerate(zip(joints, pins, plan.ends, strict=True)):
                impulses[k], velocities[a], velocities[b] = revolute.solve_velocity(
                    joint, pin, impulses[k], velocities[a], velocities[b], h
                )
            velocities = velocities[:size]
            if pushes is not None:
                velocities, pushes = jax.lax.fori_loop(0, most, touch, (velocities, pushes))
            return velocities, impulses, pushes

        rounds: Any = plan.velocity_iterations
        if not plan.ends:
            rounds = where(most > 0, rounds, 0)
        return jax.lax.fori_loop(0, rounds, iterate, (velocities[:size], impulses, pushes))

    return _batched(run)((velocities, list(joints), pins, impulses, contacts, pushes, h))


def solve_positions(
    plan: Plan,
    positions: list[Position],
    fixed: list[Position],
    joints: Sequence[RevoluteJoint],
    pins: list[JointConstraint],
    contacts: Contacts,
    labels: Any,
    is_wanted: Any,
) -> tuple[list[Position], list[Any]]:
    """Return positions after the iterations, and for each island whether its errors are small.

    Args:
        plan: what is known of the loops.
        positions: of the moving bodies.
        fixed: positions of the static bodies.
        joints: in their order.
        pins: the constraints of the joints.
        contacts: the touching contacts.
        labels: the island of each moving body.
        is_wanted: whether to solve anything.
    """

    def run(shape: tuple[int, ...], arguments: Any) -> Any:
        positions, fixed, joints, pins, contacts, own, is_wanted = arguments
        positions = _filled(positions, shape)
        size, most = len(positions), _most(contacts)
        is_single = len(plan.labels) == 1

        def touch(k: Any, carry: Any) -> Any:
            positions, separations = carry
            contact = row_at(contacts.for_positions, k).unpack()
            a, b = _bodies(plan.layout, positions, contact)
            a, b, least = contact_solver.solve_position(plan.layout, contact, a, b, plan.factor)
            here = [least]
            if not is_single:
                here = [where(row_at(contacts.labels, k) == label, least, ZERO) for label in plan.labels]
            separations = [jnp.minimum(old, new) for old, new in zip(separations, here, strict=True)]
            return _replaced(plan.layout, positions, contact, a, b), separations

        def iterate(carry: Any) -> Any:
            iteration, is_done, old = carry
            separations = [jnp.zeros(shape, jnp.float32) for _ in plan.labels]
            positions, fine = old, [jnp.ones(shape, bool) for _ in plan.labels]
            if contacts.for_positions is not None:
                positions, separations = jax.lax.fori_loop(0, most, touch, (old, separations))
            positions = [*positions, *fixed]
            for joint, pin, (a, b) in zip(joints, pins, plan.ends, strict=True):
                positions[a], positions[b], is_solved = revolute.solve_position(joint, pin, positions[a], positions[b])
                for i, label in enumerate(plan.labels):
                    fine[i] = fine[i] & (is_solved if is_single else is_solved | (own[min(a, b)] != label))
            fine = [f & (least >= plan.tolerance) for f, least in zip(fine, separations, strict=True)]
            stays = [_is_in(own[row], plan.labels, is_done) for row in range(size)]
            positions = [
                jax.tree.map(lambda new, before, stay=stay: where(stay, before, new), p, q)
                for p, q, stay in zip(positions[:size], old, stays, strict=True)
            ]
            return iteration + 1, [d | f for d, f in zip(is_done, fine, strict=True)], positions

        def is_open(carry: Any) -> Any:
            is_done = carry[1][0]
            for other in carry[1][1:]:
                is_done = is_done & other
            return (carry[0] < plan.position_iterations) & ~(is_done | ~is_wanted).all()

        start = jnp.int32(0), [jnp.zeros(shape, bool) for _ in plan.labels], positions
        _, is_done, positions = jax.lax.while_loop(is_open, iterate, start)
        return positions, is_done

    return _batched(run)((positions, fixed, list(joints), pins, contacts, labels, jnp.asarray(is_wanted)))


def make_constraint(
    layout: Layout, contact: Contact, positions: list[Position], velocities: list[Velocity], ratio: Number
) -> tuple[Packed, Number, Number]:
    """Return a contact packed for the velocities, how many points it solves, and the impulses that it starts from."""
    constraint, count = contact_solver.prepare(
        layout, contact, _bodies(layout, positions, contact), _bodies(layout, velocities, contact)
    )
    return pack((contact.for_velocities(), constraint)), count, contact_solver.start_impulse(contact, count, ratio)


def _bodies(layout: Layout, values: list[Any], contact: Contact) -> tuple[Any, Any]:
    b = contact_solver.read(layout, values, contact.b.row)
    return (b, b) if layout.a_is_static else (contact_solver.read(layout, values, contact.a.row), b)


def _replaced(layout: Layout, values: list[Any], contact: Contact, a: Any, b: Any) -> list[Any]:
    if not layout.a_is_static:
        values = contact_solver.write(values, contact.a.row, a)
    return contact_solver.write(values, contact.b.row, b)


def _most(contacts: Contacts) -> Number:
    """Return the greatest number of contacts in the batch."""
    return jnp.max(contacts.count)


def _is_in(own: Number, labels: Sequence[int], flags: list[Any]) -> Any:
    if len(labels) == 1:
        return flags[0]
    found = (own == labels[0]) & flags[0]
    for label, flag in zip(labels[1:], flags[1:], strict=True):
        found = found | ((own == label) & flag)
    return found


def _filled(values: Any, shape: tuple[int, ...], leading: int = 0) -> Any:
    """Return numbers of the shape of the batch."""
    return jax.tree.map(lambda value: jnp.broadcast_to(value, jnp.shape(value)[:leading] + shape), values)


def _batched(run: Callable[[tuple[int, ...], Any], Any]) -> Callable[[Any], Any]:
    """Return the function for `jax.vmap`, which then adds axes at the end of each number."""

    def call(arguments: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        leaves = [jnp.asarray(leaf) for leaf in leaves]
        leading = [leaf.ndim for leaf in leaves]

        @jax.custom_batching.custom_vmap
        def solve(leaves: list[Any]) -> Any:
            shapes = [leaf.shape[axes:] for leaf, axes in zip(leaves, leading, strict=True)]
            return run(np.broadcast_shapes(*shapes), jax.tree.unflatten(structure, leaves))

        @solve.def_vmap
        def rule(size: int, is_mapped: Any, leaves: list[Any]) -> Any:
            del size
            moved = [
                jnp.moveaxis(leaf, 0, -1) if mapped else leaf[..., None]
                for leaf, mapped in zip(leaves, is_mapped[0], strict=True)
            ]
            result = solve(moved)
            return (
                jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), result),
                jax.tree.map(lambda _: True, result),
            )

        return solve(leaves)

    return call

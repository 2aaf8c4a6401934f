"""Continuous collision: bodies that would pass through a static one in a step are stopped where they touch it.

The earliest impact is found and solved, with the contacts of its moving body and static ones, for the rest of the step;
then the next, until there is none. Joints do not take part. This is `b2World::SolveTOI` of Box2D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics import contact_solver
from funcenv.physics.batches import is_any, map_contacts
from funcenv.physics.contact_solver import Contact, ContactBody
from funcenv.physics.contacts import (
    ContactList,
    bodies_of,
    contact_at,
    evaluate,
    find_new,
    follow,
    note,
    places_in_use,
    places_of,
    updated,
    wake,
)
from funcenv.physics.fixtures import Fixtures
from funcenv.physics.motion import integrate
from funcenv.physics.packing import pack
from funcenv.physics.pairs import PairTable
from funcenv.physics.revolute import BodyMass, Position, Velocity
from funcenv.physics.scalars import EPSILON, ONE, ZERO, Number, greatest, once, row_at, select, where
from funcenv.physics.shapes import LINEAR_SLOP
from funcenv.physics.solver import Contacts, Plan, make_constraint, solve_positions, solve_velocities
from funcenv.physics.tables import lookup
from funcenv.physics.time_of_impact import Sweep, time_of_impact
from funcenv.physics.transforms import Transform, origin
from funcenv.physics.vectors import add, mul
from funcenv.physics.world import ContactState, World
from funcenv.struct import NDArray

MAX_IMPACTS = 8  # most impacts of a contact in a step
POSITION_ITERATIONS = 20  # most of them at an impact


class ImpactSettings(NamedTuple):
    """The quantities that do not change during a step."""

    world: World
    fixtures: Fixtures
    table: PairTable
    masses: BodyMass  # masses of the moving bodies, arrays [rows]
    h: Number
    velocity_iterations: int


class _Motion(NamedTuple):
    """The moving bodies during the search; arrays `[rows]`."""

    starts: Position  # at the time `alpha`
    ends: Position  # at the end of the step
    velocities: Velocity
    alpha: jax.Array  # [rows], until when each body has been moved, as a part of the step
    fixed_alpha: jax.Array  # [static bodies], the same


class _Search(NamedTuple):
    """The state of the search."""

    motion: _Motion
    moves: jax.Array  # [rows], true for bodies whose boxes have yet to follow them
    is_open: jax.Array  # false after the last impact
    changes: ContactList
    time: jax.Array  # [contacts], of impact
    is_known: jax.Array  # [contacts], whether the time is known
    impacts: jax.Array  # [contacts], how many of them each has had in this step


def solve_impacts(
    settings: ImpactSettings,
    ends: Position,
    velocities: Velocity,
    changes: ContactList,
    starts: Position,
    moves: jax.Array,
) -> tuple[Position, Velocity, ContactList]:
    """Return positions, velocities and contacts after all impacts of a step.

    Each turn begins with the pairs whose boxes have met since the one before. So the first turn finds the new pairs of
    the step itself.

    Args:
        settings: what does not change during a step.
        ends: positions at the end of the step.
        velocities: velocities at the end of the step.
        changes: contacts, and the boxes before the step.
        starts: positions before the step.
        moves: `[rows]`, whether each body has moved.
    """
    size, num_rows = settings.fixtures.max_contacts, settings.table.layout.num_rows
    search = _Search(
        motion=_Motion(
            starts,
            ends,
            velocities,
            jnp.zeros(num_rows, jnp.float32),
            jnp.zeros(settings.fixtures.fixed_bodies.max() + 1, jnp.float32),
        ),
        moves=moves,
        is_open=jnp.ones((), bool),
        changes=changes,
        time=jnp.ones(size, jnp.float32),
        is_known=jnp.zeros(size, bool),
        impacts=jnp.zeros(size, jnp.int32),
    )

    def advance(search: _Search) -> _Search:
        search = _find_times(settings, _meet(settings, search))
        first, time, is_on = _next(search)
        search = search._replace(is_open=is_on, moves=jnp.zeros_like(search.moves))
        return jax.lax.cond(is_any(is_on), lambda: _resolve(settings, search, first, time, is_on), lambda: search)

    search = jax.lax.while_loop(lambda search: is_any(search.is_open), advance, search)
    return search.motion.ends, search.motion.velocities, search.changes


def _meet(settings: ImpactSettings, search: _Search) -> _Search:
    """Let the boxes follow their bodies, and add the pairs that meet."""
    fixtures, motion, changes = settings.fixtures, search.motion, search.changes
    transforms = _transforms(settings, motion.starts), _transforms(settings, motion.ends)
    boxes = follow(fixtures, changes.boxes, *transforms, search.moves)
    changes = find_new(fixtures, settings.table, changes._replace(boxes=boxes))
    is_new = changes.contacts.pair != search.changes.contacts.pair
    return search._replace(
        changes=changes, is_known=search.is_known & ~is_new, impacts=where(is_new, 0, search.impacts)
    )


def _next(search: _Search) -> tuple[Number, Number, Number]:
    """Return the contact of the next impact, its time, and whether there is one."""
    is_candidate = _is_candidate(search) & search.is_known
    time = where(is_candidate, search.time, ONE)
    least = time.min()
    first = greatest(where(is_candidate & (time == least), search.changes.contacts.stamp, -1))
    return first, least, least <= ONE - np.float32(10) * EPSILON


def _is_candidate(search: _Search) -> jax.Array:
    contacts = search.changes.contacts
    return (contacts.pair >= 0) & contacts.is_enabled & (search.impacts <= MAX_IMPACTS)


def _is_unknown(settings: ImpactSettings, search: _Search) -> jax.Array:
    """Return which contacts need a time of impact that is not known."""
    fixtures, table = settings.fixtures, settings.table
    pair = search.changes.contacts.pair
    awake = (bodies_of(fixtures, table, pair) & search.changes.is_awake[None, :]).any(1)
    is_open = _is_candidate(search) & awake & _has_static_body(fixtures, table, pair) & ~search.is_known
    return is_open & ~table.is_sensor(pair) if fixtures.has_sensors else is_open


def _find_times(settings: ImpactSettings, search: _Search) -> _Search:
    """Compute the times of impact that are not known, one after the other from the newest contact to the oldest."""
    fixtures = settings.fixtures
    pair, stamp = search.changes.contacts.pair, search.changes.contacts.stamp
    is_open = _is_unknown(settings, search)
    places = _numbers(fixtures.max_contacts)

    def compute(carry: Any) -> Any:
        is_open, motion, time, is_known = carry
        place = greatest(where(is_open, stamp, -1))
        here = places == place
        touches, when, alpha, motion = _impact(settings, motion, pair[place])
        found = where(touches, jnp.minimum(alpha + (ONE - alpha) * when, ONE), ONE)
        return is_open & ~here, motion, where(here, found, time), is_known | here

    start = is_open, search.motion, search.time, search.is_known
    _, motion, time, is_known = jax.lax.while_loop(lambda carry: carry[0].any(), compute, start)
    return search._replace(motion=motion, time=time, is_known=is_known)


def _impact(settings: ImpactSettings, motion: _Motion, pair: Number) -> tuple[Number, Number, Number, _Motion]:
    """Return whether and when a moving and a static fixture touch, from when on, and both bodies moved to then."""
    fixtures, table = settings.fixtures, settings.table
    a, b = table.sides(pair)
    is_b = _moving_is_b(table, b.body)
    row = b.body.row if table.layout.a_is_static else once(where(is_b, b.body.row, a.body.row))
    fixed = _fixed_body(fixtures, table, pair)
    alpha = jnp.maximum(row_at(motion.alpha, row), _at(motion.fixed_alpha, fixed))
    motion = motion._replace(
        fixed_alpha=where(_numbers(motion.fixed_alpha.shape[0]) == fixed, alpha, motion.fixed_alpha)
    )
    motion = _moved(motion, row, alpha)
    start, end, center = once(row_at((motion.starts, motion.ends, settings.masses.center), row))
    fixed_a, fixed_b = (True, False) if table.layout.a_is_static else (is_b, ~is_b)
    sweep_a, sweep_b = (
        Sweep(start, end, center, fixed_a, a.body.fixed),
        Sweep(start, end, center, fixed_b, b.body.fixed),
    )
    touches, when = time_of_impact(a.shape, sweep_a, b.shape, sweep_b)
    return touches, when, alpha, motion


def _moved(motion: _Motion, row: Number, alpha: Number) -> _Motion:
    """Return the motion with the start of one body moved on to a time."""
    starts, ends = motion.starts, motion.ends
    part = (alpha - motion.alpha) / (ONE - motion.alpha)
    is_moved = (_numbers(motion.alpha.shape[0]) == row) & (motion.alpha < alpha)
    center = add(mul(ONE - part, starts.center), mul(part, ends.center))
    moved = Position(center, (ONE - part) * starts.angle + part * ends.angle)
    return motion._replace(starts=once(select(is_moved, moved, starts)), alpha=where(is_moved, alpha, motion.alpha))


def _resolve(settings: ImpactSettings, search: _Search, first: Number, alpha: Number, is_on: Number) -> _Search:
    """Move a body to its impact and solve its contacts there, if it does touch; otherwise disable the contact."""
    fixtures, table, before = settings.fixtures, settings.table, search.motion
    contacts = search.changes.contacts
    places = _numbers(fixtures.max_contacts)
    is_first = (places == first) & is_on
    pair = contacts.pair
    row = _moving_row(table, pair[first])
    motion = _moved(before, row, alpha)
    body, velocity, center = once(row_at((motion.starts, motion.velocities, settings.masses.center), row))
    rows = _numbers(table.layout.num_rows)

    transforms = once(origin(body.center, body.angle, center))
    found = map_contacts(
        lambda pair: evaluate(fixtures, table, pair, transforms), pair, places_in_use(pair), table.is_alone
    )
    touches = found.touches
    is_hit = once(where(is_first, touches, False).any())
    bodies = bodies_of(fixtures, table, pair)
    is_own = (bodies & (rows == row)[None, :]).any(1) & _has_static_body(fixtures, table, pair)
    if fixtures.has_sensors:
        is_own = is_own & ~table.is_sensor(pair)
    is_other = is_own & ~is_first & is_hit
    events = search.changes.events
    for group in (is_first, is_other):
        begins, ends = group & touches & ~contacts.is_touching, group & ~touches & contacts.is_touching
        events = note(events, bodies, begins, ends, contacts.stamp)
    is_updated = once(is_first | is_other)
    contacts = updated(contacts, found, is_updated)
    contacts = contacts.replace(is_enabled=contacts.is_enabled & (~is_first | is_hit))
    changes = search.changes._replace(contacts=contacts, events=events)
    changes = wake(changes, (rows == row) & is_hit)

    # the first contact is solved first, then the others from the newest to the oldest
    is_solved = is_updated & touches
    key = where(is_first, np.iinfo(np.int32).max, contacts.stamp)
    position = (is_solved[:, None] & (key[:, None] > key[None, :])).sum(0, dtype=jnp.int32)
    position = once(where(is_solved, position, -1))
    count = once(where(is_on, jnp.max(position) + 1, 0))
    sources = places_of(position, fixtures.max_touching)
    solved, end, velocity = _solve(settings, contacts, sources, count, row, body, velocity, (ONE - alpha) * settings.h)

    fixed = _fixed_body(fixtures, table, pair)
    is_fixed = jnp.broadcast_to(fixed, pair.shape)[:, None] == _numbers(motion.fixed_alpha.shape[0])[None, :]
    is_reached = is_fixed & is_solved[:, None]
    here = once((rows == row) & is_hit)
    solved, end, velocity = once((solved, end, velocity))
    after = motion._replace(
        starts=select(here, solved, before.starts),
        ends=select(here, end, before.ends),
        velocities=select(here, velocity, before.velocities),
        alpha=where(is_hit, motion.alpha, before.alpha),
        fixed_alpha=where(is_reached.any(0) & is_hit, alpha, before.fixed_alpha),
    )
    is_stale = is_first | (is_hit & (bodies & here[None, :]).any(1))
    return search._replace(
        motion=after,
        moves=here,
        changes=changes,
        is_known=search.is_known & ~is_stale,
        impacts=search.impacts + is_first.astype(jnp.int32),
    )


def _solve(
    settings: ImpactSettings,
    contacts: ContactState,
    sources: jax.Array,
    count: Number,
    row: Number,
    body: Position,
    velocity: Velocity,
    h: Number,
) -> tuple[Position, Position, Velocity]:
    """Return the body's corrected position at the impact, and position and velocity at the end of the step."""
    table = settings.table
    layout = table.layout._replace(num_rows=1)

    def chosen(source: Number) -> Contact:
        contact = contact_at(table, contacts, source)
        if layout.b_is_moving:
            return contact._replace(b=contact.b._replace(row=None))
        a, b = (body._replace(row=(body.row != row).astype(jnp.int32)) for body in (contact.a, contact.b))
        return contact._replace(a=a, b=b)  # only the body that moves has a row

    plan = Plan(
        layout,
        (),
        0,
        settings.velocity_iterations,
        POSITION_ITERATIONS,
        contact_solver.TOI_BAUMGARTE,
        np.float32(-1.5) * LINEAR_SLOP,
    )
    packed = map_contacts(lambda source: pack(chosen(source)), sources, count, table.is_alone)
    (body,), _ = solve_positions(plan, [body], [], (), [], Contacts(count, packed), [jnp.int32(0)], count > 0)
    for_velocities, _, pushes = map_contacts(
        lambda packed: make_constraint(layout, packed.unpack(), [body], [velocity], ZERO),
        packed,
        count,
        table.is_alone,
    )
    solving = Contacts(count, None, for_velocities)
    (velocity,), _, _ = solve_velocities(
        plan, [velocity], (), [], [], solving, jnp.zeros_like(pushes), h, warm_starts=False
    )
    end, velocity = integrate(body, velocity, h)
    return body, end, velocity


def _transforms(settings: ImpactSettings, positions: Position) -> Transform:
    transforms: Transform = once(origin(positions.center, positions.angle, settings.masses.center))
    return transforms


def _moving_is_b(table: PairTable, b: ContactBody) -> Number:
    return jnp.bool_(True) if table.layout.a_is_static else b.row != table.layout.num_rows


def _moving_row(table: PairTable, pair: Number) -> Number:
    """Return the row of the moving body of a pair with a static one."""
    first, second = table.rows(pair)
    return once(second if table.layout.a_is_static else jnp.minimum(first, second))


def _has_static_body(fixtures: Fixtures, table: PairTable, pair: Number) -> Number:
    """Return whether pairs are of a static and a moving body."""
    return pair < fixtures.grid_size if fixtures.moving_can_collide else pair >= 0


def _fixed_body(fixtures: Fixtures, table: PairTable, pair: Number) -> Number:
    """Return the number of the static body, for pairs that have one."""
    return lookup(fixtures.fixed_bodies, jax.lax.div(jnp.maximum(pair, 0), np.int32(max(len(fixtures.moving), 1))))


def _at(values: jax.Array, index: Number) -> Number:
    if values.shape[0] == 1:
        return values[0]
    return jnp.take(values, index, mode="clip")


def _numbers(size: int) -> NDArray:
    return np.arange(size, dtype=np.int32)

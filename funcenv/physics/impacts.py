"""Continuous collision: bodies that would pass through a static one in a step are stopped where they touch it.

The earliest impact is found and solved, with the contacts of its moving body and static ones, for the rest of the step;
then the next, until there is none. Joints do not take part. This is `b2World::SolveTOI` of Box2D.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from funcenv.physics.pairs import PairTable, lookup
from funcenv.physics.revolute import BodyMass, Position, Velocity
from funcenv.physics.scalars import EPSILON, ONE, ZERO, Number, choose, greatest, once, where
from funcenv.physics.shapes import LINEAR_SLOP
from funcenv.physics.solver import Contacts, Plan, make_constraints, solve_positions, solve_velocities
from funcenv.physics.time_of_impact import Sweep, time_of_impact
from funcenv.physics.transforms import Transform, origin
from funcenv.physics.vectors import add, mul
from funcenv.physics.world import World
from funcenv.struct import NDArray

MAX_IMPACTS = 8  # most impacts of a contact in a step
POSITION_ITERATIONS = 20  # most of them at an impact


class ImpactSettings(NamedTuple):
    """The quantities that do not change during a step."""

    world: World
    fixtures: Fixtures
    table: PairTable
    masses: Sequence[BodyMass]  # masses of the moving bodies
    h: Number
    velocity_iterations: int


class _Motion(NamedTuple):
    """The moving bodies during the search."""

    starts: list[Position]  # at the time `alpha`
    ends: list[Position]  # at the end of the step
    velocities: list[Velocity]
    alpha: jax.Array  # [rows], until when each body has been moved, as a part of the step
    fixed_alpha: jax.Array  # [static bodies], the same


class _Search(NamedTuple):
    """The state of the search."""

    motion: _Motion
    changes: ContactList
    time: jax.Array  # [contacts], of impact
    is_known: jax.Array  # [contacts], whether the time is known
    impacts: jax.Array  # [contacts], how many of them each has had in this step


def solve_impacts(
    settings: ImpactSettings,
    ends: Sequence[Position],
    velocities: Sequence[Velocity],
    changes: ContactList,
    starts: Sequence[Position],
) -> tuple[list[Position], list[Velocity], ContactList]:
    """Return positions, velocities and contacts after all impacts of a step from `starts` to `ends`."""
    size, num_rows = settings.fixtures.max_contacts, len(settings.masses)
    search = _Search(
        motion=_Motion(
            list(starts),
            list(ends),
            list(velocities),
            jnp.zeros(num_rows, jnp.float32),
            jnp.zeros(settings.fixtures.fixed_bodies.max() + 1, jnp.float32),
        ),
        changes=changes,
        time=jnp.ones(size, jnp.float32),
        is_known=jnp.zeros(size, bool),
        impacts=jnp.zeros(size, jnp.int32),
    )

    def advance(search: _Search) -> _Search:
        search = _find_times(settings, search)
        first, time, is_on = _next(search)
        return jax.lax.cond(is_any(is_on), lambda: _resolve(settings, search, first, time, is_on), lambda: search)

    def is_open(search: _Search) -> Number:
        return is_any(_is_unknown(settings, search).any() | _next(search)[-1])

    search = jax.lax.while_loop(is_open, advance, search)
    return search.motion.ends, search.motion.velocities, search.changes


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
    a, b = once(table.sides(pair))
    is_b = _moving_is_b(table, b.body)
    row = once(where(is_b, b.body.row, a.body.row))
    fixed = _fixed_body(fixtures, table, pair)
    alpha = jnp.maximum(
        choose([motion.alpha[r] for r in range(len(motion.starts))], row), _at(motion.fixed_alpha, fixed)
    )
    motion = motion._replace(
        fixed_alpha=where(_numbers(motion.fixed_alpha.shape[0]) == fixed, alpha, motion.fixed_alpha)
    )
    motion = _moved(motion, row, alpha)
    start, end = once((choose(motion.starts, row), choose(motion.ends, row)))
    center = choose([mass.center for mass in settings.masses], row)
    sweep_a = Sweep(start, end, center, is_b, a.body.fixed)
    sweep_b = Sweep(start, end, center, ~is_b, b.body.fixed)
    touches, when = time_of_impact(a.shape, sweep_a, b.shape, sweep_b)
    return touches, when, alpha, motion


def _moved(motion: _Motion, row: Number, alpha: Number) -> _Motion:
    """Return the motion with the start of one body moved on to a time."""
    starts = list(motion.starts)
    for r, (start, end) in enumerate(zip(motion.starts, motion.ends, strict=True)):
        part = (alpha - motion.alpha[r]) / (ONE - motion.alpha[r])
        is_moved = (row == r) & (motion.alpha[r] < alpha)
        moved = Position(
            add(mul(ONE - part, start.center), mul(part, end.center)), (ONE - part) * start.angle + part * end.angle
        )
        starts[r] = once(jax.tree.map(lambda new, old, moves=is_moved: where(moves, new, old), moved, start))
    rows = _numbers(len(starts))
    return motion._replace(starts=starts, alpha=where((rows == row) & (motion.alpha < alpha), alpha, motion.alpha))


def _resolve(settings: ImpactSettings, search: _Search, first: Number, alpha: Number, is_on: Number) -> _Search:
    """Move a body to its impact and solve its contacts there, if it does touch; otherwise disable the contact."""
    fixtures, table, before = settings.fixtures, settings.table, search.motion
    contacts = search.changes.contacts
    places = _numbers(fixtures.max_contacts)
    is_first = (places == first) & is_on
    pair = contacts.pair
    a, b = (body.body for body in table.sides(pair[first]))
    row = once(where(_moving_is_b(table, b), b.row, a.row))
    motion = _moved(before, row, alpha)
    body = once(choose(motion.starts, row))
    center = choose([mass.center for mass in settings.masses], row)

    transforms = [once(origin(body.center, body.angle, center))] * len(settings.masses)
    manifold, touches = map_contacts(
        lambda pair: evaluate(fixtures, table, pair, transforms), pair, places_in_use(pair), table.is_alone
    )
    is_hit = once(where(is_first, touches, False).any())
    bodies = bodies_of(fixtures, table, pair)
    is_own = (bodies & (_numbers(len(settings.masses)) == row)[None, :]).any(1) & _has_static_body(
        fixtures, table, pair
    )
    if fixtures.has_sensors:
        is_own = is_own & ~table.is_sensor(pair)
    is_other = is_own & ~is_first & is_hit
    events = search.changes.events
    for group in (is_first, is_other):
        begins, ends = group & touches & ~contacts.is_touching, group & ~touches & contacts.is_touching
        events = note(events, bodies, begins, ends, contacts.stamp)
    is_updated = once(is_first | is_other)
    contacts = updated(contacts, manifold, touches, is_updated)
    contacts = contacts.replace(is_enabled=contacts.is_enabled & (~is_first | is_hit))
    changes = search.changes._replace(contacts=contacts, events=events)
    changes = wake(changes, (_numbers(len(settings.masses)) == row) & is_hit)

    # the first contact is solved first, then the others from the newest to the oldest
    is_solved = is_updated & touches
    key = where(is_first, np.iinfo(np.int32).max, contacts.stamp)
    position = (is_solved[:, None] & (key[:, None] > key[None, :])).sum(0, dtype=jnp.int32)
    position = once(where(is_solved, position, -1))
    count = once(where(is_on, jnp.max(position) + 1, 0))
    sources = places_of(position, fixtures.max_touching)
    solved, end, velocity = _solve(
        settings,
        map_contacts(lambda source: contact_at(table, contacts, source), sources, count, table.is_alone),
        count,
        row,
        body,
        choose(motion.velocities, row),
        (ONE - alpha) * settings.h,
    )

    fixed = _fixed_body(fixtures, table, pair)
    is_fixed = jnp.broadcast_to(fixed, pair.shape)[:, None] == _numbers(motion.fixed_alpha.shape[0])[None, :]
    is_reached = is_fixed & is_solved[:, None]
    here = once([(row == r) & is_hit for r in range(len(settings.masses))])
    solved, end, velocity = once((solved, end, velocity))
    after = motion._replace(
        starts=_put(here, solved, before.starts),
        ends=_put(here, end, before.ends),
        velocities=_put(here, velocity, before.velocities),
        alpha=where(is_hit, motion.alpha, before.alpha),
        fixed_alpha=where(is_reached.any(0) & is_hit, alpha, before.fixed_alpha),
    )
    moves = jnp.stack(here)
    boxes = follow(
        fixtures,
        changes.boxes,
        _transforms(settings, after.starts),
        _transforms(settings, after.ends),
        moves,
    )
    changes = find_new(fixtures, table, changes._replace(boxes=boxes))
    is_stale = is_first | (is_hit & (bodies & moves[None, :]).any(1))
    is_new = changes.contacts.pair != pair
    return search._replace(
        motion=after,
        changes=changes,
        is_known=search.is_known & ~is_stale & ~is_new,
        impacts=where(is_new, 0, search.impacts + is_first.astype(jnp.int32)),
    )


def _solve(
    settings: ImpactSettings,
    contact: Contact,
    count: Number,
    row: Number,
    body: Position,
    velocity: Velocity,
    h: Number,
) -> tuple[Position, Position, Velocity]:
    """Return the body's corrected position at the impact, and position and velocity at the end of the step."""
    layout = settings.table.layout._replace(num_rows=1)
    if layout.b_is_moving:
        contact = contact._replace(b=contact.b._replace(row=None))
    else:  # only the body that moves has a row
        contact = contact._replace(
            a=contact.a._replace(row=(contact.a.row != row).astype(jnp.int32)),
            b=contact.b._replace(row=(contact.b.row != row).astype(jnp.int32)),
        )
    plan = Plan(
        layout,
        (),
        0,
        settings.velocity_iterations,
        POSITION_ITERATIONS,
        contact_solver.TOI_BAUMGARTE,
        np.float32(-1.5) * LINEAR_SLOP,
    )
    contacts = Contacts(count, contact)
    labels = [jnp.int32(0)], jnp.zeros(contact.count.shape, jnp.int32)
    (body,), _ = solve_positions(plan, [body], [], (), [], contacts, labels, count > 0)
    constraint, _, pushes = map_contacts(
        lambda contact: make_constraints(layout, contact, [body], [velocity], ZERO),
        contact,
        count,
        settings.table.is_alone,
    )
    pushes = jax.tree.map(jnp.zeros_like, pushes)
    contacts = contacts._replace(constraint=constraint)
    (velocity,), _, _ = solve_velocities(plan, [velocity], (), [], [], contacts, pushes, h)
    end, velocity = integrate(body, velocity, h)
    return body, end, velocity


def _put(here: Sequence[Number], value: Any, values: Sequence[Any]) -> list[Any]:
    return [
        jax.tree.map(lambda new, old, is_here=is_here: where(is_here, new, old), value, old)
        for is_here, old in zip(here, values, strict=True)
    ]


def _transforms(settings: ImpactSettings, positions: Sequence[Position]) -> list[Transform]:
    return [once(origin(p.center, p.angle, m.center)) for p, m in zip(positions, settings.masses, strict=True)]


def _moving_is_b(table: PairTable, b: ContactBody) -> Number:
    return jnp.bool_(True) if table.layout.a_is_static else b.row != table.layout.num_rows


def _has_static_body(fixtures: Fixtures, table: PairTable, pair: Number) -> Number:
    """Return whether pairs are of a static and a moving body."""
    return pair < fixtures.grid_size if fixtures.moving_can_collide else pair >= 0


def _fixed_body(fixtures: Fixtures, table: PairTable, pair: Number) -> Number:
    """Return the number of the static body, for pairs that have one."""
    return lookup(fixtures.fixed_bodies, jnp.maximum(pair, 0) // max(len(fixtures.moving), 1))


def _at(values: jax.Array, index: Number) -> Number:
    if values.shape[0] == 1:
        return values[0]
    return jnp.take(values, index, mode="clip")


def _numbers(size: int) -> NDArray:
    return np.arange(size, dtype=np.int32)

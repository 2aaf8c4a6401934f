"""The list of contacts: pairs whose boxes overlap are added, updated, and removed when the boxes part.

Box2D keeps contacts in a list, the newest first, and its order decides in which order constraints are solved and events
are reported. Here a contact has any free place in an array, and a stamp that says when it was made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.batches import is_any, map_contacts, only_if
from funcenv.physics.contact_solver import Contact
from funcenv.physics.fixtures import BOX_MARGIN, Fixtures, moving_boxes, per_part
from funcenv.physics.pairs import PairTable, Side
from funcenv.physics.scalars import ZERO, Number, greatest, once, opaque, row_at, rows_of, select, where
from funcenv.physics.transforms import Transform
from funcenv.physics.vectors import sub
from funcenv.physics.world import BEGAN, ENDED, ContactState

BOX_MULTIPLIER = np.float32(2)  # multiple of a body's displacement by which its box is enlarged ahead of it
LATEST = np.iinfo(np.int32).max


class Events(NamedTuple):
    """The events of each moving body's contacts in a step."""

    began: jax.Array  # [rows]
    last: jax.Array  # [rows]


class ContactList(NamedTuple):
    """Contacts with what else changes when they are updated."""

    contacts: ContactState
    boxes: jax.Array  # [moving fixtures, 4]
    next_stamp: jax.Array
    dropped: jax.Array
    is_awake: jax.Array  # [rows]
    rest_time: jax.Array  # [rows]
    events: Events


def wake(changes: ContactList, rows: jax.Array) -> ContactList:
    """Wake bodies; their time at rest begins again if they were asleep."""
    starts = rows & ~changes.is_awake
    return changes._replace(is_awake=changes.is_awake | rows, rest_time=where(starts, ZERO, changes.rest_time))


def bodies_of(fixtures: Fixtures, table: PairTable, pair: jax.Array) -> jax.Array:
    """Return which moving bodies `[rows]` belong to each of the pairs `[n]`, as `[n, rows]`."""
    first, second = table.rows(pair)
    rows = np.arange(len(fixtures.moving_bodies), dtype=np.int32)
    belongs = jnp.broadcast_to(jnp.asarray(second), pair.shape)[:, None] == rows[None, :]
    if not fixtures.a_is_static:
        belongs = belongs | (jnp.broadcast_to(jnp.asarray(first), pair.shape)[:, None] == rows[None, :])
    return belongs & (pair >= 0)[:, None]


def find_new(fixtures: Fixtures, table: PairTable, changes: ContactList) -> ContactList:
    """Add a contact for every pair whose boxes overlap and that has none, in Box2D's order."""
    size = fixtures.max_contacts
    indices = np.arange(len(fixtures.pairs), dtype=np.int32)
    is_new = overlaps(fixtures, table.static_boxes, changes.boxes) & fixtures.can_collide
    for place in range(size):
        is_new = is_new & (changes.contacts.pair[place] != indices)
    order = fixtures.creation_order
    places = np.arange(size, dtype=np.int32)

    def add(carry: Any) -> Any:
        is_new, changes = carry
        contacts, is_on = changes.contacts, is_new.any()
        is_in_order = bool((order == np.arange(len(order))).all())
        pair = greatest(is_new) if is_in_order else greatest(where(is_new, -order, -LATEST))
        is_free = contacts.pair < 0
        here = (greatest(is_free) == places) & is_free.any() & is_on
        contacts = contacts.replace(
            pair=where(here, pair, contacts.pair),
            stamp=where(here, changes.next_stamp, contacts.stamp),
            is_touching=contacts.is_touching & ~here,
            is_enabled=contacts.is_enabled | here,
            features=where(here[:, None], jnp.zeros_like(contacts.features), contacts.features),
        )
        bodies = bodies_of(fixtures, table, pair[None])[0] & is_on
        if fixtures.has_sensors:
            bodies = bodies & ~jnp.broadcast_to(table.is_sensor(pair), bodies.shape)
        changes = wake(
            changes._replace(
                contacts=contacts,
                next_stamp=changes.next_stamp + is_on.astype(jnp.int32),
                dropped=changes.dropped + (is_on & ~is_free.any()).astype(jnp.int32),
            ),
            bodies,
        )
        return is_new & (indices != pair), changes

    return jax.lax.while_loop(lambda carry: is_any(carry[0]), add, (is_new, changes))[1]


def collide(fixtures: Fixtures, table: PairTable, changes: ContactList, transforms: Transform) -> ContactList:
    """Remove contacts whose boxes have parted, and update the others; those of sleeping bodies stay."""
    contacts = changes.contacts
    bodies = bodies_of(fixtures, table, contacts.pair)
    exists = contacts.pair >= 0

    def examine(pair: Number) -> tuple[Evaluation, Number]:
        return evaluate(fixtures, table, pair, transforms), _is_close(fixtures, table, changes.boxes, pair)

    count = places_in_use(contacts.pair)
    found, is_close = only_if(exists, lambda: map_contacts(examine, contacts.pair, count, table.is_alone))
    touches = found.touches
    turns = touches != contacts.is_touching
    turns_solid = turns & ~table.is_sensor(contacts.pair) if fixtures.has_sensors else turns
    wakes = where(is_close, turns_solid, contacts.count > 0)
    is_active = (bodies & changes.is_awake[None, :]).any(1) & exists
    if fixtures.moving_can_collide:  # a contact may wake a body whose older contacts come later in the list
        is_newer = contacts.stamp[:, None] > contacts.stamp[None, :]
        shares = (bodies[:, None, :] & bodies[None, :, :]).any(-1)
        for _ in range(len(fixtures.moving_bodies) - 1):
            is_active = is_active | ((is_active & wakes)[:, None] & is_newer & shares).any(0) & exists
    is_removed, is_updated = is_active & ~is_close, is_active & is_close
    begins = is_updated & touches & ~contacts.is_touching
    ends = contacts.is_touching & (is_removed | (is_updated & ~touches))
    changes = wake(changes, (bodies & (is_active & wakes)[:, None]).any(0))
    contacts = updated(contacts, found, is_updated)
    contacts = contacts.replace(pair=where(is_removed, -1, contacts.pair))
    return changes._replace(contacts=contacts, events=note(changes.events, bodies, begins, ends, contacts.stamp))


class Evaluation(NamedTuple):
    """The findings on a pair, or on several pairs."""

    features: jax.Array  # [4], as `ContactState` has them
    manifold: jax.Array  # [8]
    touches: jax.Array  # true if the fixtures touch; for sensors, if they overlap


def evaluate(fixtures: Fixtures, table: PairTable, pair: Number, transforms: Transform) -> Evaluation:
    """Return the manifold of a pair, and whether the fixtures touch.

    Args:
        fixtures: of the world.
        table: of its pairs.
        pair: index of the pair.
        transforms: of the moving bodies `[moving bodies]`, or of the one that all pairs have.
    """
    sides = table.sides(pair)
    xf_a, xf_b = once([_transform_of(table, side, i, transforms) for i, side in enumerate(sides)])
    manifold = table.manifold(sides, xf_a, xf_b)
    touches, count = manifold.count > 0, manifold.count
    if fixtures.has_sensors:
        from funcenv.physics.distance import overlaps

        is_sensor = table.is_sensor(pair)
        touches = where(is_sensor, overlaps(sides[0].shape, xf_a, sides[1].shape, xf_b), touches)
        count = where(is_sensor, 0, count)
    numbers = [*manifold.normal, *manifold.point, *manifold.points[0], *manifold.points[1]]
    features = jnp.stack([jnp.asarray(number, jnp.int32) for number in (count, manifold.kind, *manifold.keys)])
    return Evaluation(features, jnp.stack([jnp.asarray(number, jnp.float32) for number in numbers]), touches)


def updated(contacts: ContactState, found: Evaluation, mask: jax.Array) -> ContactState:
    """Return the contacts with new manifolds; points with the same keys as before keep their impulses."""
    keys, old, impulses = found.features[:, 2:], contacts.keys, contacts.impulses
    first = (contacts.count > 0)[:, None] & (old[:, :1] == keys)
    second = (contacts.count > 1)[:, None] & (old[:, 1:] == keys)
    carried = where(first[:, None], impulses[..., :1], where(second[:, None], impulses[..., 1:], ZERO))
    return contacts.replace(
        is_touching=where(mask, found.touches, contacts.is_touching),
        is_enabled=contacts.is_enabled | mask,
        features=where(mask[:, None], found.features, contacts.features),
        manifold=where(mask[:, None], found.manifold, contacts.manifold),
        impulses=where(mask[:, None, None], carried, impulses),
    )


def note(events: Events, bodies: jax.Array, begins: jax.Array, ends: jax.Array, stamp: jax.Array) -> Events:
    """Return the events with those of contacts that were visited from the newest to the oldest."""
    happens = bodies & (begins | ends)[:, None]
    oldest = where(happens, stamp[:, None], LATEST).min(0, initial=LATEST)
    is_begin = (happens & begins[:, None] & (stamp[:, None] == oldest[None, :])).any(0)
    last = where(happens.any(0), where(is_begin, BEGAN, ENDED), events.last)
    return Events(events.began | (bodies & begins[:, None]).any(0), last)


def follow(fixtures: Fixtures, boxes: jax.Array, before: Transform, after: Transform, moves: jax.Array) -> jax.Array:
    """Return the boxes after bodies have moved: a box moves if it does not contain its fixture's sweep any more.

    Args:
        fixtures: of the world.
        boxes: `[moving fixtures, 4]`.
        before: transforms `[moving bodies]` at the start of the movement.
        after: transforms at its end.
        moves: `[moving bodies]`, whether the body has moved.
    """
    start, end = moving_boxes(fixtures, before), moving_boxes(fixtures, after)
    tight = [
        *(jnp.minimum(a, b) for a, b in zip(start[:2], end[:2], strict=True)),
        *(jnp.maximum(a, b) for a, b in zip(start[2:], end[2:], strict=True)),
    ]
    old = boxes.T
    contains = (old[:2] <= jnp.stack(tight[:2])).all(0) & (jnp.stack(tight[2:]) <= old[2:]).all(0)
    shift = [BOX_MULTIPLIER * per_part(fixtures, d) for d in sub(after[0], before[0])]
    left, bottom = tight[0] - BOX_MARGIN, tight[1] - BOX_MARGIN
    right, top = tight[2] + BOX_MARGIN, tight[3] + BOX_MARGIN
    new = [
        where(shift[0] < 0, left + shift[0], left),
        where(shift[1] < 0, bottom + shift[1], bottom),
        where(shift[0] < 0, right, right + shift[0]),
        where(shift[1] < 0, top, top + shift[1]),
    ]
    stays = contains | ~per_part(fixtures, moves)
    return where(stays[:, None], boxes, jnp.stack(new, -1))


def _transform_of(table: PairTable, side: Side, index: int, transforms: Transform) -> Transform:
    if index == 0 and table.layout.a_is_static:
        return side.body.fixed
    is_single = np.ndim(transforms[0][0]) == 0
    xf = transforms if is_single else row_at(transforms, side.body.row)
    if table.layout.b_is_moving:
        return xf
    is_static = side.body.row == table.layout.num_rows
    return select(is_static, side.body.fixed, xf)


def overlaps(fixtures: Fixtures, fixed: jax.Array, boxes: jax.Array) -> jax.Array:
    """Return for each pair whether the enlarged boxes overlap, given those of the static and the moving fixtures."""
    is_near = _meet(fixed[:, None, :], boxes[None, :, :]).reshape(-1)
    others = fixtures.pairs[fixtures.grid_size :]
    if len(others):
        rows = {part: row for row, part in enumerate(fixtures.moving)}
        first, second = (boxes[np.array([rows[i] for i in column])] for column in others.T.tolist())
        is_near = jnp.concatenate([is_near, _meet(first, second)])
    return is_near


def _is_close(fixtures: Fixtures, table: PairTable, boxes: jax.Array, pair: Number) -> Number:
    """Return whether the enlarged boxes of a pair overlap."""
    columns = [table.static_boxes, boxes]
    if not fixtures.a_is_static:
        order = np.argsort(np.array(fixtures.static + fixtures.moving))
        columns = [jnp.concatenate(columns)[order]] * 2
    first, second = (row_at(column, index) for column, index in zip(columns, table.parts(pair), strict=True))
    return _meet(first, second)


def _meet(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return whether boxes `[..., 4]` overlap."""
    return ((a[..., :2] <= b[..., 2:]) & (b[..., :2] <= a[..., 2:])).all(-1)


def contact_at(table: PairTable, contacts: ContactState, source: Number) -> Contact:
    """Return the contact at a place as the solver needs it; a place behind the last one is free."""
    is_used = source < contacts.pair.shape[0]
    row = (contacts.pair, contacts.features, contacts.manifold, contacts.impulses)
    pair, features, manifold, impulses = row_at(row, source)  # the last place for one behind it
    (count, kind), (normal_x, normal_y, point_x, point_y) = rows_of(features, 2), rows_of(manifold, 4)
    a, b = table.sides(pair)
    layout = table.layout
    contact = Contact(
        a=None if layout.a_is_static and layout.fixed_at_origin else a.body,
        b=b.body._replace(fixed=None) if layout.b_is_moving else b.body,
        count=where(is_used, count, 0),
        kind=kind,
        normal=(normal_x, normal_y),
        point=(point_x, point_y),
        points=(manifold[4::2], manifold[5::2]),
        radius_a=a.radius,
        radius_b=b.radius,
        friction=jnp.sqrt(a.friction * b.friction),
        restitution=jnp.maximum(a.restitution, b.restitution),
        impulses=impulses.reshape(4),
    )
    return opaque(jax.tree.map(jnp.asarray, contact))


def places_in_use(pair: jax.Array) -> Number:
    """Return behind how many places there are no contacts."""
    places = np.arange(1, pair.shape[0] + 1, dtype=np.int32)
    return jnp.max(where(pair >= 0, places, 0), initial=0)


def places_of(position: jax.Array, most: int) -> jax.Array:
    """Return the places of contacts in the order of their positions, `[most]`; behind the last place for none."""
    is_source = position[None, :] == np.arange(most, dtype=np.int32)[:, None]
    return where(is_source.any(1), jax.lax.argmax(is_source, 1, jnp.int32), position.shape[0]).astype(jnp.int32)

"""The step of a world, in the order of Box2D's `b2World::Step`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics import contact_solver, revolute
from funcenv.physics.contacts import ContactList, Events, collide, contacts_at, find_new, follow, wake
from funcenv.physics.fixtures import BOX_MARGIN, Fixtures, box_of
from funcenv.physics.geometry import (
    ONE,
    ZERO,
    Number,
    Transform,
    Vector,
    add,
    apply,
    clamp,
    dot,
    float32,
    mul,
    opaque,
    origin,
)
from funcenv.physics.impacts import ImpactSettings, solve_impacts
from funcenv.physics.islands import Islands, find_islands, search
from funcenv.physics.motion import integrate
from funcenv.physics.pairs import PairTable, lookup
from funcenv.physics.revolute import BodyMass, JointImpulse, Position, Velocity
from funcenv.physics.shapes import LINEAR_SLOP
from funcenv.physics.world import Body, ContactState, World, WorldState, static_transform

SLEEP_TIME = np.float32(0.5)  # at rest, before bodies fall asleep [s]
LINEAR_SLEEP_TOLERANCE = np.float32(0.01)  # [m/s]
ANGULAR_SLEEP_TOLERANCE = revolute.ANGULAR_SLOP  # [rad/s]


def initial_state(world: World) -> WorldState:
    """Return the state in which all bodies are where they begin, awake, without contacts.

    >>> from funcenv.physics import Body, Circle, Fixture
    >>> state = initial_state(World((Body((Fixture(Circle(0.5), density=1.0),), position=(1.0, 2.0)),)))
    >>> float(state.x[0]), float(state.y[0]), bool(state.is_awake[0])
    (1.0, 2.0, True)
    """
    masses, rows = world.masses(), []
    for i in world.moving:
        body = world.bodies[i]
        velocity = float32(body.velocity[0]), float32(body.velocity[1])
        center = apply(static_transform(body), masses[i].center)
        rows.append((*center, float32(body.angle), *velocity, float32(body.angular_velocity)))
    x, y, angle, velocity_x, velocity_y, angular_velocity = (_stack(column) for column in zip(*rows, strict=True))
    fixtures, size = Fixtures(world), len(rows)
    state = WorldState(
        x=x,
        y=y,
        angle=angle,
        velocity_x=velocity_x,
        velocity_y=velocity_y,
        angular_velocity=angular_velocity,
        is_awake=jnp.ones(size, bool),
        rest_time=jnp.zeros(size, jnp.float32),
        joint_impulses=jnp.zeros((len(world.joints), 4), jnp.float32),
        limit_states=jnp.zeros(len(world.joints), jnp.int32),
        contacts=_no_contacts(fixtures.max_contacts),
        boxes=_first_boxes(fixtures),
        next_stamp=jnp.int32(0),
        dropped=jnp.int32(0),
        began=jnp.zeros(size, bool),
        last_event=jnp.zeros(size, jnp.int32),
    )
    if fixtures.max_contacts == 0:
        return state
    events = Events(state.began, state.last_event)
    changes = ContactList(
        state.contacts, state.boxes, state.next_stamp, state.dropped, state.is_awake, state.rest_time, events
    )
    changes = find_new(fixtures, PairTable(fixtures, masses), changes)
    return state.replace(contacts=changes.contacts, next_stamp=changes.next_stamp, dropped=changes.dropped)


def step(
    world: World,
    state: WorldState,
    dt: float,
    velocity_iterations: int = 8,
    position_iterations: int = 3,
    forces: Mapping[int, Vector] | None = None,
    torques: Mapping[int, Number] | None = None,
) -> WorldState:
    """Return the state after a time step.

    Args:
        world: what `state` is a state of.
        state: the state before.
        dt: length of the step [s], the same for all steps of an episode.
        velocity_iterations: iterations of the constraints on velocities.
        position_iterations: most iterations of the constraints on positions, which end when the errors are small.
        forces: forces on the centres of mass of moving bodies, by the index of the body [N].
        torques: torques on moving bodies, by the index of the body [N m].

    >>> from funcenv.physics import Body, Circle, Fixture
    >>> ball = Body((Fixture(Circle(0.5), density=1.0),))
    >>> world = World((ball,), gravity=(0.0, 0.0))
    >>> state = step(world, initial_state(world), dt=0.1, forces={0: (7.85398, 0.0)})
    >>> round(float(state.velocity_x[0]), 3)
    1.0
    """
    program = _Program(world, dt)
    settings = velocity_iterations, position_iterations
    changes = ContactList(
        state.contacts,
        state.boxes,
        state.next_stamp,
        state.dropped,
        state.is_awake,
        state.rest_time,
        Events(jnp.zeros_like(state.began), jnp.zeros_like(state.last_event)),
    )
    positions = [Position((state.x[r], state.y[r]), state.angle[r]) for r in range(program.size)]
    before = program.transforms(positions)
    if program.has_contacts:
        changes = collide(program.fixtures, program.table, changes, before)
    solved = _solve(program, state, changes, positions, settings, forces or {}, torques or {})
    changes = solved.changes
    after = program.transforms(solved.positions)
    if program.has_contacts:
        boxes = follow(program.fixtures, changes.boxes, before, after, solved.is_active)
        changes = find_new(program.fixtures, program.table, changes._replace(boxes=boxes))
    positions, velocities = solved.positions, solved.velocities
    if program.has_contacts and world.is_continuous:
        positions, velocities, changes = solve_impacts(
            program.impacts(velocity_iterations), positions, velocities, changes, starts=solved.starts
        )
    return state.replace(
        x=_stack([p.center[0] for p in positions]),
        y=_stack([p.center[1] for p in positions]),
        angle=_stack([p.angle for p in positions]),
        velocity_x=_stack([v.linear[0] for v in velocities]),
        velocity_y=_stack([v.linear[1] for v in velocities]),
        angular_velocity=_stack([v.angular for v in velocities]),
        is_awake=changes.is_awake,
        rest_time=changes.rest_time,
        joint_impulses=solved.joint_impulses,
        limit_states=solved.limit_states,
        contacts=changes.contacts,
        boxes=changes.boxes,
        next_stamp=changes.next_stamp,
        dropped=changes.dropped,
        began=changes.events.began,
        last_event=changes.events.last,
    )


class _Program:
    """What a step needs of a world, prepared when a program is traced."""

    def __init__(self, world: World, dt: float) -> None:
        self.world = world = world.replace(joints=opaque(world.joints))
        self.fixtures = Fixtures(world)
        self.size = len(world.moving)
        self.has_contacts = self.fixtures.max_contacts > 0
        self.ratio = (ONE / np.float32(dt)) * np.float32(dt)  # of this step's length to the last one's
        self.masses, self.h = opaque((world.masses(), dt))
        self.row_masses = [self.masses[body] for body in world.moving]
        # static bodies come last among the rows, and never change
        index = {body: row for row, body in enumerate(world.moving + world.fixed)}
        _, self.joints, _ = search(world)
        self.ends = [(index[world.joints[j].body_a], index[world.joints[j].body_b]) for j in self.joints]
        self.fixed_positions = [Position(*_fixed_position(world.bodies[i])) for i in world.fixed]
        self.fixed_velocities = [Velocity((ZERO, ZERO), ZERO)] * len(self.fixed_positions)

    @cached_property
    def table(self) -> PairTable:
        return PairTable(self.fixtures, self.masses)

    def transforms(self, positions: Sequence[Position]) -> list[Transform]:
        """Return the transforms of the moving bodies."""
        return [origin(p.center, p.angle, m.center) for p, m in zip(positions, self.row_masses, strict=True)]

    def impacts(self, velocity_iterations: int) -> ImpactSettings:
        """Return what the search for impacts needs."""
        return ImpactSettings(self.world, self.fixtures, self.table, self.row_masses, self.h, velocity_iterations)


class _Solved(NamedTuple):
    """The world after its constraints are solved."""

    starts: list[Position]  # before the step
    positions: list[Position]
    velocities: list[Velocity]
    is_active: jax.Array
    joint_impulses: jax.Array
    limit_states: jax.Array
    changes: ContactList


def _solve(
    program: _Program,
    state: WorldState,
    changes: ContactList,
    starts: list[Position],
    settings: tuple[int, int],
    forces: Mapping[int, Vector],
    torques: Mapping[int, Number],
) -> _Solved:
    """Integrate velocities and positions under the constraints, and let bodies at rest fall asleep."""
    world, size, h = program.world, program.size, program.h
    resting = [Velocity((state.velocity_x[r], state.velocity_y[r]), state.angular_velocity[r]) for r in range(size)]
    velocities = [
        _accelerate(world, program.masses[body], body, resting[row], h, forces.get(body), torques.get(body))
        for row, body in enumerate(world.moving)
    ]
    islands, contacts, sources = _touching(program, changes)
    changes = wake(changes, islands.is_active)

    made = []
    for contact in contacts:
        constraint, count = contact_solver.prepare(
            program.table.layout, contact, _pair(program, starts, contact), _pair(program, velocities, contact)
        )
        made.append((constraint, count, contact_solver.start_impulse(contact, count, program.ratio)))
    constraints = [constraint for constraint, _, _ in made]
    pushes = [impulse for _, _, impulse in made]
    for contact, constraint, push in zip(contacts, constraints, pushes, strict=True):
        a, b = _pair(program, velocities, contact)
        a, b = contact_solver.warm_start(program.table.layout, contact, constraint, push, a, b)
        velocities = _put(program, contact, velocities, a, b)

    pins, impulses = [], []
    positions, velocities = starts + program.fixed_positions, velocities + program.fixed_velocities
    for j, (a, b) in zip(program.joints, program.ends, strict=True):
        joint, stored = world.joints[j], state.joint_impulses[j] * program.ratio
        impulse = JointImpulse((stored[0], stored[1]), stored[2], stored[3], state.limit_states[j])
        pin, impulse = revolute.prepare(
            joint,
            (program.masses[joint.body_a], program.masses[joint.body_b]),
            (positions[a].angle, positions[b].angle),
            impulse,
        )
        velocities[a], velocities[b] = revolute.warm_start(pin, impulse, velocities[a], velocities[b])
        impulses.append(impulse)
        pins.append(pin)

    def iterate_velocities(_: Any, carry: Any) -> Any:
        velocities, impulses, pushes = [*carry[0], *program.fixed_velocities], list(carry[1]), list(carry[2])
        for k, (j, (a, b)) in enumerate(zip(program.joints, program.ends, strict=True)):
            impulses[k], velocities[a], velocities[b] = revolute.solve_velocity(
                world.joints[j], pins[k], impulses[k], velocities[a], velocities[b], h
            )
        velocities = velocities[:size]
        for k, contact in enumerate(contacts):
            a, b = _pair(program, velocities, contact)
            pushes[k], a, b = contact_solver.solve_velocity(
                program.table.layout, contact, constraints[k], pushes[k], a, b
            )
            velocities = _put(program, contact, velocities, a, b)
        return velocities, impulses, pushes

    velocities, impulses, pushes = jax.lax.fori_loop(
        0, settings[0], iterate_velocities, (velocities[:size], impulses, pushes)
    )
    moved = [integrate(p, v, h) for p, v in zip(starts, velocities, strict=True)]
    positions, velocities = [p for p, _ in moved], [v for _, v in moved]
    labels = sorted(set(islands.label.tolist())) if isinstance(islands.label, np.ndarray) else list(range(size))

    def iterate_positions(carry: Any) -> Any:
        iteration, is_done, old = carry
        positions, is_fine = [*old, *program.fixed_positions], [jnp.bool_(True) for _ in labels]
        separations: list[Any] = [ZERO for _ in labels]
        for contact in contacts:
            a, b = _pair(program, positions[:size], contact)
            a, b, least = contact_solver.solve_position(program.table.layout, contact, a, b)
            positions[:size] = _put(program, contact, positions[:size], a, b)
            for i, label in enumerate(labels):
                here = _label_of(program, islands, contact) == label if len(labels) > 1 else True
                separations[i] = jnp.minimum(separations[i], jnp.where(here, least, ZERO))
        for k, (j, (a, b)) in enumerate(zip(program.joints, program.ends, strict=True)):
            positions[a], positions[b], is_solved = revolute.solve_position(
                world.joints[j], pins[k], positions[a], positions[b]
            )
            row = min(a, b)
            for i, label in enumerate(labels):
                is_fine[i] = is_fine[i] & (is_solved | (islands.label[row] != label))
        is_fine = [
            fine & (least >= np.float32(-3) * LINEAR_SLOP) for fine, least in zip(is_fine, separations, strict=True)
        ]
        positions = positions[:size]
        if len(labels) > 1:  # islands that are done stay as they are
            done = [
                _any([(islands.label[row] == label) & d for label, d in zip(labels, is_done, strict=True)])
                for row in range(size)
            ]
            positions = [
                jax.tree.map(lambda new, before, d=d: jnp.where(d, before, new), p, q)
                for p, q, d in zip(positions, old, done, strict=True)
            ]
        return iteration + 1, [d | f for d, f in zip(is_done, is_fine, strict=True)], positions

    start = jnp.int32(0), [jnp.bool_(False) for _ in labels], positions
    _, is_done, positions = jax.lax.while_loop(
        lambda carry: (carry[0] < settings[1]) & ~_all(carry[1]), iterate_positions, start
    )
    active = islands.is_active
    positions = [
        jax.tree.map(lambda new, old, row=row: jnp.where(active[row], new, old), positions[row], starts[row])
        for row in range(size)
    ]
    velocities = [
        jax.tree.map(lambda new, old, row=row: jnp.where(active[row], new, old), velocities[row], resting[row])
        for row in range(size)
    ]
    changes = _store(changes, contacts, made, pushes, sources)
    joint_impulses, limit_states = _joint_state(program, state, impulses, active)
    if world.can_sleep:
        velocities, changes = _sleep(program, velocities, changes, islands, labels, is_done)
    return _Solved(starts, positions, velocities, active, joint_impulses, limit_states, changes)


def _touching(program: _Program, changes: ContactList) -> tuple[Islands, list[contact_solver.Contact], jax.Array]:
    """Return the islands, the contacts to solve in their order, and the places that these come from."""
    world, fixtures, contacts = program.world, program.fixtures, changes.contacts
    if not program.has_contacts:
        nothing = jnp.zeros(0, jnp.int32)
        found = find_islands(world, fixtures, (nothing, nothing), jnp.zeros(0, bool), contacts.stamp, changes.is_awake)
        return found, [], nothing
    table, size = program.table, fixtures.max_contacts
    rows = [jnp.broadcast_to(jnp.asarray(row), (size,)) for row in table.rows(contacts.pair)]
    is_solid = (contacts.pair >= 0) & contacts.is_touching & contacts.is_enabled
    if fixtures.has_sensors:
        is_solid = is_solid & ~table.is_sensor(contacts.pair)
    islands = find_islands(world, fixtures, (rows[0], rows[1]), is_solid, contacts.stamp, changes.is_awake)
    most = fixtures.max_touching
    is_source = islands.position[None, :] == np.arange(most, dtype=np.int32)[:, None]
    source = jnp.where(is_source.any(1), is_source.argmax(1), size).astype(jnp.int32)
    return islands, contacts_at(program.table, contacts, source, most), source


def _store(
    changes: ContactList,
    contacts: list[contact_solver.Contact],
    made: list[Any],
    pushes: list[contact_solver.ContactImpulse],
    sources: jax.Array,
) -> ContactList:
    """Keep the impulses for the next step."""
    state = changes.contacts
    normal, tangent = state.normal_impulse, state.tangent_impulse
    places = np.arange(normal.shape[0], dtype=np.int32)
    for k, ((_, count, _), push) in enumerate(zip(made, pushes, strict=True)):
        here = (places == sources[k])[:, None] & (count > np.arange(2, dtype=np.int32))
        normal = jnp.where(here, jnp.stack(push.normal), normal)
        tangent = jnp.where(here, jnp.stack(push.tangent), tangent)
    del contacts
    return changes._replace(contacts=state.replace(normal_impulse=normal, tangent_impulse=tangent))


def _joint_state(
    program: _Program, state: WorldState, impulses: list[JointImpulse], active: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the impulses and limits of the joints; those of sleeping bodies stay."""
    if not impulses:
        return state.joint_impulses, state.limit_states
    place = {j: k for k, j in enumerate(program.joints)}
    ordered = [impulses[place[j]] for j in range(len(impulses))]
    is_on = jnp.stack([active[min(program.ends[place[j]])] for j in range(len(impulses))])
    values = jnp.stack([_stack([*i.point, i.limit, i.motor]) for i in ordered])
    limits = jnp.stack([jnp.asarray(i.limit_state, jnp.int32) for i in ordered])
    return jnp.where(is_on[:, None], values, state.joint_impulses), jnp.where(is_on, limits, state.limit_states)


def _sleep(
    program: _Program,
    velocities: list[Velocity],
    changes: ContactList,
    islands: Islands,
    labels: list[int],
    is_done: list[Any],
) -> tuple[list[Velocity], ContactList]:
    """Put islands to sleep that have been at rest for a while, and whose positions are solved."""
    rests = []
    for velocity in velocities:
        is_still = velocity.angular * velocity.angular <= ANGULAR_SLEEP_TOLERANCE * ANGULAR_SLEEP_TOLERANCE
        rests.append(
            is_still & (dot(velocity.linear, velocity.linear) <= LINEAR_SLEEP_TOLERANCE * LINEAR_SLEEP_TOLERANCE)
        )
    time = jnp.where(jnp.stack(rests), changes.rest_time + program.h, ZERO)
    time = jnp.where(islands.is_active, time, changes.rest_time)
    sleeps = []
    for row in range(program.size):
        same = jnp.asarray(islands.label == islands.label[row]) & islands.is_active
        least = jnp.where(same, time, np.float32(np.inf)).min()
        done = _any([(islands.label[row] == label) & d for label, d in zip(labels, is_done, strict=True)])
        sleeps.append(islands.is_active[row] & (least >= SLEEP_TIME) & done)
    asleep = jnp.stack(sleeps)
    velocities = [
        jax.tree.map(lambda value, row=row: jnp.where(asleep[row], ZERO, value), velocity)
        for row, velocity in enumerate(velocities)
    ]
    return velocities, changes._replace(is_awake=changes.is_awake & ~asleep, rest_time=jnp.where(asleep, ZERO, time))


def _pair(program: _Program, values: list[Any], contact: contact_solver.Contact) -> tuple[Any, Any]:
    """Return the records of both bodies; if A is always static, nobody looks at its record."""
    layout = program.table.layout
    b = contact_solver.read(layout, values, contact.b.row)
    return (b, b) if layout.a_is_static else (contact_solver.read(layout, values, contact.a.row), b)


def _put(program: _Program, contact: contact_solver.Contact, values: list[Any], a: Any, b: Any) -> list[Any]:
    if not program.table.layout.a_is_static:
        values = contact_solver.write(values, contact.a.row, a)
    return contact_solver.write(values, contact.b.row, b)


def _label_of(program: _Program, islands: Islands, contact: contact_solver.Contact) -> Number:
    row = contact.b.row
    if not program.table.layout.b_is_moving:
        row = jnp.minimum(contact.a.row, contact.b.row)
    return lookup(islands.label, row) if isinstance(islands.label, np.ndarray) else islands.label[row]


def _any(values: list[Any]) -> Any:
    return functools.reduce(operator.or_, values)


def _all(values: list[Any]) -> Any:
    return functools.reduce(operator.and_, values)


def _fixed_position(body: Body) -> tuple[Vector, Number]:
    position, _ = static_transform(body)
    return position, float32(body.angle)


def _accelerate(
    world: World,
    mass: BodyMass,
    body: int,
    velocity: Velocity,
    h: Number,
    force: Vector | None,
    torque: Number | None,
) -> Velocity:
    """Return the velocity after gravity, forces and damping."""
    spec = world.bodies[body]
    acceleration = float32(world.gravity[0]), float32(world.gravity[1])
    if force is not None:
        acceleration = add(acceleration, mul(mass.inverse_mass, (float32(force[0]), float32(force[1]))))
    linear, angular = add(velocity.linear, mul(h, acceleration)), velocity.angular
    if torque is not None:
        angular = angular + h * mass.inverse_inertia * float32(torque)
    linear_factor = clamp(ONE - h * float32(spec.linear_damping), ZERO, ONE)
    return Velocity(mul(linear_factor, linear), angular * clamp(ONE - h * float32(spec.angular_damping), ZERO, ONE))


def _first_boxes(fixtures: Fixtures) -> jax.Array:
    rows = []
    for i in fixtures.moving:
        part = fixtures.parts[i]
        left, bottom, right, top = box_of(
            part.vertices(), part.radius, static_transform(fixtures.world.bodies[part.body])
        )
        rows.append(_stack([left - BOX_MARGIN, bottom - BOX_MARGIN, right + BOX_MARGIN, top + BOX_MARGIN]))
    return jnp.stack(rows) if rows else jnp.zeros((0, 4), jnp.float32)


def _no_contacts(size: int) -> ContactState:
    return ContactState(
        pair=jnp.full(size, -1, jnp.int32),
        stamp=jnp.zeros(size, jnp.int32),
        is_touching=jnp.zeros(size, bool),
        is_enabled=jnp.zeros(size, bool),
        count=jnp.zeros(size, jnp.int32),
        kind=jnp.zeros(size, jnp.int32),
        normal=jnp.zeros((size, 2), jnp.float32),
        point=jnp.zeros((size, 2), jnp.float32),
        points=jnp.zeros((size, 2, 2), jnp.float32),
        keys=jnp.zeros((size, 2), jnp.int32),
        normal_impulse=jnp.zeros((size, 2), jnp.float32),
        tangent_impulse=jnp.zeros((size, 2), jnp.float32),
    )


def _stack(values: Any) -> jax.Array:
    return jnp.stack([jnp.asarray(value, jnp.float32) for value in values])

"""The step of one world, in the order of Box2D's `b2World::Step`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics import revolute
from funcenv.physics.batches import map_contacts, only_if
from funcenv.physics.contact_solver import Contact, Layout
from funcenv.physics.contacts import (
    ContactList,
    Events,
    collide,
    contact_at,
    find_new,
    follow,
    overlaps,
    places_of,
    wake,
)
from funcenv.physics.fixtures import BOX_MARGIN, Fixtures, box_of, static_boxes
from funcenv.physics.impacts import ImpactSettings, solve_impacts
from funcenv.physics.islands import Islands, find_islands, search
from funcenv.physics.motion import integrate
from funcenv.physics.packing import pack
from funcenv.physics.pairs import PairTable
from funcenv.physics.revolute import JointImpulse, Position, Velocity
from funcenv.physics.scalars import (
    ONE,
    ZERO,
    Number,
    clamp,
    columns_of,
    float32,
    is_known,
    least_of,
    once,
    opaque,
    rows_of,
    select,
    where,
)
from funcenv.physics.solver import Contacts, Plan, make_constraint, solve_positions, solve_velocities
from funcenv.physics.tables import lookup
from funcenv.physics.transforms import Transform, apply, origin
from funcenv.physics.vectors import Vector, dot, mul
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


class Inputs(NamedTuple):
    """The inputs of a step besides the state."""

    world: World
    forces: Mapping[int, Vector]  # force by the index of the body
    torques: Mapping[int, Number]


class Settings(NamedTuple):
    """The numbers of a step that are known when it is traced."""

    dt: float
    velocity_iterations: int
    position_iterations: int
    is_alone: bool = False  # true if the world is computed by itself, and not in a batch
    is_apart: bool = False  # true if no contact exists before the step


def advance(settings: Settings, inputs: Inputs, state: WorldState) -> WorldState:
    """Return the state of one world after a time step."""
    world = inputs.world
    program = _Program(world, settings)
    changes = ContactList(
        state.contacts,
        state.boxes,
        state.next_stamp,
        state.dropped,
        state.is_awake,
        state.rest_time,
        Events(jnp.zeros_like(state.began), jnp.zeros_like(state.last_event)),
    )
    positions = Position((state.x, state.y), state.angle)
    before = program.transforms(positions)
    if program.solves_contacts:
        changes = collide(program.fixtures, program.table, changes, before)
    solved = _solve(program, state, changes, positions, settings, inputs)
    changes = solved.changes
    positions, velocities = solved.positions, solved.velocities
    if program.has_contacts and world.is_continuous and world.fixed:
        positions, velocities, changes = solve_impacts(
            program.impacts(settings.velocity_iterations),
            positions,
            velocities,
            changes,
            starts=solved.starts,
            moves=solved.is_active,
        )
    elif len(program.fixtures.pairs):
        boxes = follow(program.fixtures, changes.boxes, before, program.transforms(positions), solved.is_active)
        changes = changes._replace(boxes=boxes)
        if program.has_contacts:
            changes = find_new(program.fixtures, program.table, changes)
    return state.replace(
        x=positions.center[0],
        y=positions.center[1],
        angle=positions.angle,
        velocity_x=velocities.linear[0],
        velocity_y=velocities.linear[1],
        angular_velocity=velocities.angular,
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


def fly(settings: Settings, inputs: Inputs, state: WorldState) -> tuple[WorldState, jax.Array]:
    """Return what `advance` returns if nothing is close to anything else, and whether something is."""
    world = inputs.world
    flown = advance(settings, inputs._replace(world=world.replace(max_contacts=0)), state)
    fixtures = Fixtures(world)
    if fixtures.max_contacts == 0:
        return flown, jnp.zeros((), bool)
    meets = overlaps(fixtures, static_boxes(fixtures), flown.boxes) & fixtures.can_collide
    return flown, meets.any() | (state.contacts.pair >= 0).any()


class _Program:
    """The constants of a world's step, prepared when a program is traced."""

    def __init__(self, world: World, settings: Settings) -> None:
        dt, self.is_alone = settings.dt, settings.is_alone
        masses, (_, self.joints, _) = world.masses(), search(world)
        joints = [world.joints[j] for j in self.joints]
        self.joint_masses = opaque([revolute.joint_mass(j, masses[j.body_a], masses[j.body_b]) for j in joints])
        self.world = world = world.replace(joints=opaque(world.joints))
        self.fixtures = Fixtures(world)
        self.size = len(world.moving)
        self.has_contacts = self.fixtures.max_contacts > 0
        self.solves_contacts = self.has_contacts and not settings.is_apart  # impacts, too, find contacts
        self.ratio = (ONE / np.float32(dt)) * np.float32(dt)  # ratio of this step's length to the last one's
        self.masses, self.h = opaque((masses, dt))
        self.row_masses = columns_of([self.masses[body] for body in world.moving])
        # static bodies come last among the rows, and never change
        index = {body: row for row, body in enumerate(world.moving + world.fixed)}
        self.ends = [(index[world.joints[j].body_a], index[world.joints[j].body_b]) for j in self.joints]
        self.fixed_positions = [Position(*_fixed_position(world.bodies[i])) for i in world.fixed]
        self.fixed_velocities = [Velocity((ZERO, ZERO), ZERO)] * len(self.fixed_positions)

    @cached_property
    def table(self) -> PairTable:
        return PairTable(self.fixtures, self.masses, self.is_alone)

    def transforms(self, positions: Position) -> Transform:
        """Return the transforms of the moving bodies."""
        transforms: Transform = once(origin(positions.center, positions.angle, self.row_masses.center))
        return transforms

    def plan(self, settings: Settings, islands: Islands) -> Plan:
        """Return what the loops of the solver need to know."""
        label = islands.label
        labels = sorted(set(label.tolist())) if isinstance(label, np.ndarray) else list(range(self.size))
        layout = self.table.layout if self.solves_contacts else Layout(self.size, True, True, False, True)
        iterations = settings.velocity_iterations, settings.position_iterations
        return Plan(layout, self.ends, len(self.fixed_positions), *iterations, labels=labels)

    def impacts(self, velocity_iterations: int) -> ImpactSettings:
        """Return what the search for impacts needs."""
        return ImpactSettings(self.world, self.fixtures, self.table, self.row_masses, self.h, velocity_iterations)


class _Solved(NamedTuple):
    """The world after its constraints are solved; arrays `[rows]`."""

    starts: Position  # before the step
    positions: Position
    velocities: Velocity
    is_active: jax.Array
    joint_impulses: jax.Array
    limit_states: jax.Array
    changes: ContactList


def _solve(
    program: _Program,
    state: WorldState,
    changes: ContactList,
    starts: Position,
    settings: Settings,
    inputs: Inputs,
) -> _Solved:
    """Integrate velocities and positions under the constraints, and let bodies at rest fall asleep."""
    world, size, h = program.world, program.size, program.h
    resting = Velocity((state.velocity_x, state.velocity_y), state.angular_velocity)
    accelerated = _accelerate(program, resting, inputs)
    positions, velocities = rows_of(starts, size), rows_of(accelerated, size)
    islands, count = _touching(program, changes)
    changes = wake(changes, islands.is_active)
    plan = program.plan(settings, islands)
    contacts, pushes, counts = Contacts(count), None, None
    if program.solves_contacts:
        source = places_of(islands.position, program.fixtures.max_touching)

        def prepare(source: Number) -> Any:
            contact = contact_at(program.table, changes.contacts, source)
            label = _label_of(program, islands, contact)
            return (
                pack(contact.for_positions()),
                label,
                *make_constraint(plan.layout, contact, positions, velocities, program.ratio),
            )

        for_positions, label, for_velocities, counts, pushes = only_if(
            count > 0, lambda: map_contacts(prepare, source, count, program.is_alone)
        )
        contacts = Contacts(count, for_positions, for_velocities, label)

    pins, impulses = [], []
    angles = [p.angle for p in positions + program.fixed_positions]
    joints = [world.joints[j] for j in program.joints]
    for j, joint, mass, (a, b) in zip(program.joints, joints, program.joint_masses, program.ends, strict=True):
        stored = state.joint_impulses[j] * program.ratio
        impulse = JointImpulse((stored[0], stored[1]), stored[2], stored[3], state.limit_states[j])
        pin, impulse = revolute.prepare(joint, mass, (angles[a], angles[b]), impulse)
        impulses.append(impulse)
        pins.append(pin)

    velocities, impulses, pushes = solve_velocities(plan, velocities, joints, pins, impulses, contacts, pushes, h)
    moved, velocity = integrate(starts, columns_of(velocities), h)
    labels = [islands.label[row] for row in range(size)]
    active = islands.is_active
    positions, is_done = solve_positions(
        plan, rows_of(moved, size), program.fixed_positions, joints, pins, contacts, labels, active.any()
    )
    position, velocity = select(active, (columns_of(positions), velocity), (starts, resting))
    if pushes is not None:
        changes = _store(changes, islands.position, counts, pushes)
    joint_impulses, limit_states = _joint_state(program, state, impulses, active)
    if world.can_sleep:
        velocity, changes = _sleep(program, velocity, changes, islands, plan.labels, is_done)
    return _Solved(starts, position, velocity, active, joint_impulses, limit_states, changes)


def _touching(program: _Program, changes: ContactList) -> tuple[Islands, Number]:
    """Return the islands, and how many contacts are to be solved."""
    world, fixtures, contacts = program.world, program.fixtures, changes.contacts
    if not program.solves_contacts:
        none = jnp.zeros(0, jnp.int32)
        found = find_islands(world, fixtures, (none, none), jnp.zeros(0, bool), none, changes.is_awake)
        return found, jnp.int32(0)
    table, size = program.table, fixtures.max_contacts
    rows = [jnp.broadcast_to(jnp.asarray(row), (size,)) for row in table.rows(contacts.pair)]
    is_solid = (contacts.pair >= 0) & contacts.is_touching & contacts.is_enabled
    if fixtures.has_sensors:
        is_solid = is_solid & ~table.is_sensor(contacts.pair)
    islands = find_islands(world, fixtures, (rows[0], rows[1]), is_solid, contacts.stamp, changes.is_awake)
    return islands, jnp.minimum(jnp.max(islands.position) + 1, fixtures.max_touching)


def _store(changes: ContactList, position: jax.Array, counts: Number, pushes: jax.Array) -> ContactList:
    """Keep the impulses for the next step."""
    state = changes.contacts
    counts = where(position >= 0, jnp.take(counts, position, mode="clip"), 0)
    is_new = counts[:, None] > np.arange(2, dtype=np.int32)[None, :]
    new = jnp.take(pushes, position, axis=0, mode="clip").reshape(state.impulses.shape)
    return changes._replace(contacts=state.replace(impulses=where(is_new[:, None, :], new, state.impulses)))


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
    return where(is_on[:, None], values, state.joint_impulses), where(is_on, limits, state.limit_states)


def _sleep(
    program: _Program,
    velocity: Velocity,
    changes: ContactList,
    islands: Islands,
    labels: Sequence[int],
    is_done: list[Any],
) -> tuple[Velocity, ContactList]:
    """Put islands to sleep that have been at rest for a while, and whose positions are solved."""
    rests = velocity.angular * velocity.angular <= ANGULAR_SLEEP_TOLERANCE * ANGULAR_SLEEP_TOLERANCE
    rests = rests & (dot(velocity.linear, velocity.linear) <= LINEAR_SLEEP_TOLERANCE * LINEAR_SLEEP_TOLERANCE)
    time = where(rests, changes.rest_time + program.h, ZERO)
    time = where(islands.is_active, time, changes.rest_time)
    own = islands.label
    same = (own[:, None] == own[None, :]) & islands.is_active[:, None]  # [of whom, of which] body
    least = least_of(list(where(same, time[:, None], np.float32(np.inf))))
    done = (
        is_done[0] if len(labels) == 1 else _any([(own == label) & d for label, d in zip(labels, is_done, strict=True)])
    )
    asleep = islands.is_active & (least >= SLEEP_TIME) & done
    velocity = jax.tree.map(lambda value: where(asleep, ZERO, value), velocity)
    return velocity, changes._replace(is_awake=changes.is_awake & ~asleep, rest_time=where(asleep, ZERO, time))


def _label_of(program: _Program, islands: Islands, contact: Contact) -> Number:
    """Return the island of a contact."""
    row = contact.b.row
    if not program.table.layout.b_is_moving:
        row = jnp.minimum(contact.a.row, contact.b.row)
    label = lookup(islands.label, row)
    return label if isinstance(label, jax.Array) else jnp.full_like(row, label)


def _any(values: list[Any]) -> Any:
    return functools.reduce(operator.or_, values)


def _fixed_position(body: Body) -> tuple[Vector, Number]:
    position, _ = static_transform(body)
    return position, float32(body.angle)


def _accelerate(program: _Program, velocity: Velocity, inputs: Inputs) -> Velocity:
    """Return the velocities after gravity, forces and damping."""
    world, h = program.world, program.h
    inverse_mass, inverse_inertia, _ = program.row_masses
    linear, angular = velocity
    acceleration = []
    for axis in (0, 1):
        gravity, force = float32(world.gravity[axis]), [inputs.forces.get(body) for body in world.moving]
        if any(f is not None for f in force):
            # A body without a force has exactly the acceleration of gravity.
            pushes = _stack([ZERO if f is None else float32(f[axis]) for f in force])
            is_pushed = np.array([f is not None for f in force])
            gravity = where(is_pushed, gravity + inverse_mass * pushes, gravity)
        acceleration.append(gravity)
    linear = linear[0] + h * acceleration[0], linear[1] + h * acceleration[1]
    if inputs.torques:
        torques = [inputs.torques.get(body) for body in world.moving]
        turn = h * inverse_inertia * _stack([ZERO if torque is None else float32(torque) for torque in torques])
        angular = where(np.array([torque is not None for torque in torques]), angular + turn, angular)
    factors = [
        clamp(ONE - h * _per_body([getattr(world.bodies[body], name) for body in world.moving]), ZERO, ONE)
        for name in ("linear_damping", "angular_damping")
    ]
    return Velocity(mul(factors[0], linear), angular * factors[1])


def _per_body(values: Sequence[Any]) -> Number:
    """Return numbers of the bodies, as an array where they are not all known to be the same."""
    numbers = [float32(value) for value in values]
    is_one = is_known(*numbers) and all(number == numbers[0] for number in numbers)
    return numbers[0] if is_one else _stack(numbers)


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
        features=jnp.zeros((size, 4), jnp.int32),
        manifold=jnp.zeros((size, 8), jnp.float32),
        impulses=jnp.zeros((size, 2, 2), jnp.float32),
    )


def _stack(values: Any) -> jax.Array:
    return jnp.stack([jnp.asarray(value, jnp.float32) for value in values])

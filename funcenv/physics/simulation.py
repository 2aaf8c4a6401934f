"""The step of a world, in the order of Box2D's `b2World::Step`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics import revolute
from funcenv.physics.fixtures import BOX_MARGIN, Fixtures, box_of
from funcenv.physics.geometry import (
    HALF,
    ONE,
    PI,
    ZERO,
    Number,
    Vector,
    add,
    apply,
    clamp,
    dot,
    float32,
    length,
    mul,
    opaque,
)
from funcenv.physics.revolute import BodyMass, JointImpulse, Position, Velocity
from funcenv.physics.world import Body, ContactState, World, WorldState, static_transform

MAX_TRANSLATION = np.float32(2)  # of a body in a step [m]
MAX_ROTATION = HALF * PI  # of a body in a step [rad]
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
    return WorldState(
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
    ratio = (ONE / np.float32(dt)) * np.float32(dt)  # of this step's length to the last one's
    rows = world.moving
    masses, h = opaque((world.masses(), dt))
    index = {body: row for row, body in enumerate(rows + world.fixed)}  # static bodies come last, and never change
    positions = [Position((state.x[r], state.y[r]), state.angle[r]) for r in range(len(rows))]
    velocities = [
        _accelerate(world, masses[body], body, state, row, h, (forces or {}).get(body), (torques or {}).get(body))
        for row, body in enumerate(rows)
    ]
    fixed_positions = [Position(*_fixed_position(world.bodies[i])) for i in world.fixed]
    fixed_velocities = [Velocity((ZERO, ZERO), ZERO)] * len(fixed_positions)
    size = len(rows)
    impulses, constraints = [], []
    order = joint_order(world)
    ends = [(index[world.joints[j].body_a], index[world.joints[j].body_b]) for j in order]
    positions, velocities = positions + fixed_positions, velocities + fixed_velocities
    for j, (a, b) in zip(order, ends, strict=True):
        joint, stored = world.joints[j], state.joint_impulses[j] * ratio
        impulse = JointImpulse((stored[0], stored[1]), stored[2], stored[3], state.limit_states[j])
        constraint, impulse = revolute.prepare(
            joint, (masses[joint.body_a], masses[joint.body_b]), (positions[a].angle, positions[b].angle), impulse
        )
        velocities[a], velocities[b] = revolute.warm_start(constraint, impulse, velocities[a], velocities[b])
        impulses.append(impulse)
        constraints.append(constraint)

    def iterate_velocities(_: Any, carry: Any) -> Any:
        velocities, impulses = [*carry[0], *fixed_velocities], list(carry[1])
        for k, (j, (a, b)) in enumerate(zip(order, ends, strict=True)):
            impulses[k], velocities[a], velocities[b] = revolute.solve_velocity(
                world.joints[j], constraints[k], impulses[k], velocities[a], velocities[b], h
            )
        return velocities[:size], impulses

    velocities, impulses = jax.lax.fori_loop(0, velocity_iterations, iterate_velocities, (velocities[:size], impulses))
    moved = [_integrate(p, v, h) for p, v in zip(positions[:size], velocities, strict=True)]
    positions, velocities = [p for p, _ in moved], [v for _, v in moved]

    def iterate_positions(carry: Any) -> Any:
        iteration, _, positions = carry
        positions, is_solved = [*positions, *fixed_positions], jnp.bool_(True)
        for k, (j, (a, b)) in enumerate(zip(order, ends, strict=True)):
            positions[a], positions[b], is_fine = revolute.solve_position(
                world.joints[j], constraints[k], positions[a], positions[b]
            )
            is_solved = is_solved & is_fine
        return iteration + 1, is_solved, positions[:size]

    start = jnp.int32(0), jnp.bool_(False), positions
    _, is_solved, positions = jax.lax.while_loop(
        lambda carry: (carry[0] < position_iterations) & ~carry[1], iterate_positions, start
    )
    joint_rows = {j: k for k, j in enumerate(order)}
    ordered = [impulses[joint_rows[j]] for j in range(len(order))]
    del is_solved
    return state.replace(
        x=_stack([p.center[0] for p in positions]),
        y=_stack([p.center[1] for p in positions]),
        angle=_stack([p.angle for p in positions]),
        velocity_x=_stack([v.linear[0] for v in velocities]),
        velocity_y=_stack([v.linear[1] for v in velocities]),
        angular_velocity=_stack([v.angular for v in velocities]),
        joint_impulses=_stack([_stack([*i.point, i.limit, i.motor]) for i in ordered])
        if ordered
        else state.joint_impulses,
        limit_states=jnp.stack([jnp.asarray(i.limit_state, jnp.int32) for i in ordered])
        if ordered
        else state.limit_states,
    )


def joint_order(world: World) -> list[int]:
    """Return the joints in the order in which they are solved: depth first from the newest body, newest joint first."""
    order: list[int] = []
    seen: set[int] = set()
    for seed in reversed(world.moving):
        stack = [] if seed in seen else [seed]
        seen.add(seed)
        while stack:
            body = stack.pop()
            for j in reversed(range(len(world.joints))):
                ends = world.joints[j].body_a, world.joints[j].body_b
                if body not in ends or j in order:
                    continue
                order.append(j)
                other = ends[1] if ends[0] == body else ends[0]
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
    return order


def _fixed_position(body: Body) -> tuple[Vector, Number]:
    position, _ = static_transform(body)
    return position, float32(body.angle)


def _accelerate(
    world: World,
    mass: BodyMass,
    body: int,
    state: WorldState,
    row: int,
    h: Number,
    force: Vector | None,
    torque: Number | None,
) -> Velocity:
    """Return the velocity after gravity, forces and damping."""
    spec = world.bodies[body]
    acceleration = float32(world.gravity[0]), float32(world.gravity[1])
    if force is not None:
        acceleration = add(acceleration, mul(mass.inverse_mass, (float32(force[0]), float32(force[1]))))
    linear = add((state.velocity_x[row], state.velocity_y[row]), mul(h, acceleration))
    angular = state.angular_velocity[row]
    if torque is not None:
        angular = angular + h * mass.inverse_inertia * float32(torque)
    linear_factor = clamp(ONE - h * float32(spec.linear_damping), ZERO, ONE)
    return Velocity(mul(linear_factor, linear), angular * clamp(ONE - h * float32(spec.angular_damping), ZERO, ONE))


def _integrate(position: Position, velocity: Velocity, h: Number) -> tuple[Position, Velocity]:
    """Return the position after a step, and the velocity, both limited by the most that a body may move in a step."""
    translation, turn = mul(h, velocity.linear), h * velocity.angular
    is_fast = dot(translation, translation) > MAX_TRANSLATION * MAX_TRANSLATION
    factor = jnp.where(is_fast, MAX_TRANSLATION / jnp.where(is_fast, length(translation), ONE), ONE)
    spins = turn * turn > MAX_ROTATION * MAX_ROTATION
    spin_factor = jnp.where(spins, MAX_ROTATION / jnp.where(spins, jnp.abs(turn), ONE), ONE)
    velocity = Velocity(mul(factor, velocity.linear), velocity.angular * spin_factor)
    return Position(add(position.center, mul(h, velocity.linear)), position.angle + h * velocity.angular), velocity


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

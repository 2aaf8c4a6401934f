"""Worlds of rigid bodies: what they consist of, and their states.

The topology is fixed when a program is traced: which bodies, fixtures and joints there are, and the shapes of moving
bodies. Numbers are data: gravity, terrain, friction, limits and speeds of joints may be traced, differ from one world
of a batch to the next, and change from step to step.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.revolute import BodyMass, RevoluteJoint
from funcenv.physics.scalars import ONE, ZERO, Number, float32, is_known, where
from funcenv.physics.shapes import Boxes, Mass, Shape, mass_of
from funcenv.physics.transforms import Transform
from funcenv.physics.transforms import origin as origin_of
from funcenv.physics.vectors import Vector, add, cross, dot, mul, sub
from funcenv.struct import PyTreeNode, field

NOTHING = np.int32(0)
"""The event of a step in which no contact of a body began or ended."""
BEGAN = np.int32(1)
"""The event of a contact that began."""
ENDED = np.int32(2)
"""The event of a contact that ended."""


class Fixture(PyTreeNode):
    """A shape with material, fixed to a body.

    Args:
        shape: a `Polygon`, a `Circle`, or `Edges` or `Boxes`, each of which is a fixture of its own.
        density: mass per area [kg/m^2].
        friction: coefficient; two fixtures in contact have the geometric mean of theirs.
        restitution: 0 for no bouncing, 1 for all; two fixtures in contact have the greater of theirs.
        category: bits. Two fixtures collide if the category of each has a bit in common with the mask of the
            other.
        mask: the bits of the categories that the fixture collides with.
        is_sensor: the fixture only reports overlaps, and nothing bounces off it.
    """

    shape: Shape
    density: Number = 0.0
    friction: Number = 0.2
    restitution: Number = 0.0
    category: int = field(pytree_node=False, default=0x0001)
    mask: int = field(pytree_node=False, default=0xFFFF)
    is_sensor: bool = field(pytree_node=False, default=False)


class Body(PyTreeNode):
    """A rigid body, and where it begins.

    Args:
        fixtures: in the order of their creation.
        position: position of the body's origin in the initial state [m].
        angle: angle of the body in the initial state [rad].
        velocity: velocity of the centre of mass in the initial state [m/s].
        angular_velocity: angular velocity in the initial state [rad/s].
        linear_damping: rate at which the velocity decays [1/s].
        angular_damping: rate at which the angular velocity decays [1/s].
        is_static: the body never moves.
        is_divided: each fixture of this static body, and each of `Edges` and `Boxes`, counts as a body of its own. Only
            impacts of fast bodies can tell, because Box2D notes the time of the last impact of each body.

    Raises:
        ValueError: a moving body that is divided or has `Boxes`.
    """

    fixtures: tuple[Fixture, ...] = ()
    position: Vector = (0.0, 0.0)
    angle: Number = 0.0
    velocity: Vector = (0.0, 0.0)
    angular_velocity: Number = 0.0
    linear_damping: Number = 0.0
    angular_damping: Number = 0.0
    is_static: bool = field(pytree_node=False, default=False)
    is_divided: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        if not self.is_static and self.is_divided:
            raise ValueError(f"a divided body must be static, got is_static={self.is_static}; make several bodies")
        if not self.is_static and any(isinstance(fixture.shape, Boxes) for fixture in self.fixtures):
            raise ValueError(f"Boxes must belong to a static body, got is_static={self.is_static}; use Polygon.box")


class World(PyTreeNode):
    """Bodies and joints, in the order of their creation, which is the order that Box2D solves by.

    Args:
        bodies: static and moving ones. Two bodies that a joint connects do not collide.
        joints: revolute joints.
        gravity: acceleration [m/s^2].
        max_contacts: how many pairs of fixtures can be close to each other at a time. `WorldState.dropped` counts those
            that found no place.
        max_touching: how many of them can touch at a time, `max_contacts` by default.
        is_continuous: whether fast bodies are stopped at static ones that they would pass in a step.
        can_sleep: whether bodies at rest fall asleep.
        is_grounded: bodies are close to others in nearly every step, as walkers are. On a CPU a batch is then computed
            world by world. Results are the same.

    Raises:
        ValueError: a joint of a body with itself, of two static bodies, or of a body that does not exist.

    >>> from funcenv.physics import Circle, initial_state, step
    >>> ball = Body((Fixture(Circle(0.5), density=1.0),), position=(0.0, 2.0))
    >>> world = World((ball,), gravity=(0.0, -10.0))
    >>> state = step(world, initial_state(world), dt=0.1)
    >>> round(float(state.velocity_y[0]), 3)
    -1.0
    """

    bodies: tuple[Body, ...]
    joints: tuple[RevoluteJoint, ...] = ()
    gravity: Vector = (0.0, -10.0)
    max_contacts: int = field(pytree_node=False, default=8)
    max_touching: int | None = field(pytree_node=False, default=None)
    is_continuous: bool = field(pytree_node=False, default=True)
    can_sleep: bool = field(pytree_node=False, default=True)
    is_grounded: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        for joint in self.joints:
            ends = joint.body_a, joint.body_b
            if ends[0] == ends[1] or not all(0 <= i < len(self.bodies) for i in ends):
                raise ValueError(f"a joint must connect two of the {len(self.bodies)} bodies, got {ends}")
            if all(self.bodies[i].is_static for i in ends):
                raise ValueError(f"a joint must hold a moving body, got the static bodies {ends}; leave it out")

    @property
    def moving(self) -> list[int]:
        """The indices of the bodies that are not static; their states are in this order."""
        return [i for i, body in enumerate(self.bodies) if not body.is_static]

    @property
    def fixed(self) -> list[int]:
        """The indices of the static bodies."""
        return [i for i, body in enumerate(self.bodies) if body.is_static]

    def row(self, body: int) -> int:
        """Return the row of a moving body in the arrays of a state."""
        return self.moving.index(body)

    def masses(self) -> list[BodyMass]:
        """Return the inverse mass and inertia of each body, and its centre of mass."""
        return [body_mass(body) for body in self.bodies]


class ContactState(PyTreeNode):
    """Contacts, in `max_contacts` places; each is a pair of fixtures whose boxes overlap.

    Points and normals of a manifold are in the coordinates of one of the two bodies.
    """

    pair: jax.Array  # index of the pair of fixtures; -1: the place is free
    stamp: jax.Array  # the later a contact was created, the greater
    is_touching: jax.Array
    is_enabled: jax.Array
    features: jax.Array  # [max_contacts, 4]: number of points, owner of the normal, and the keys of both points
    manifold: jax.Array  # [max_contacts, 8]: normal, point on the reference face, and the contact points [m]
    impulses: jax.Array  # [max_contacts, 2, 2]: normal and tangential impulses of both points [N s]

    @property
    def count(self) -> jax.Array:
        """The numbers of points: 0, 1 or 2."""
        return self.features[:, 0]

    @property
    def keys(self) -> jax.Array:
        """The features that meet, `[max_contacts, 2]`: equal keys are the same point from step to step."""
        return self.features[:, 2:]


class WorldState(PyTreeNode):
    """The state of a world: one row for each moving body, joint and contact."""

    x: jax.Array  # position of the centre of mass [m]
    y: jax.Array  # [m]
    angle: jax.Array  # [rad]
    velocity_x: jax.Array  # velocity of the centre of mass [m/s]
    velocity_y: jax.Array  # [m/s]
    angular_velocity: jax.Array  # [rad/s]
    is_awake: jax.Array
    rest_time: jax.Array  # time for which the body has been at rest [s]
    joint_impulses: jax.Array  # [joints, 4]: x, y [N s], limit, motor [N m s]
    limit_states: jax.Array  # [joints]
    contacts: ContactState
    boxes: jax.Array  # [moving fixtures, 4]: enlarged bounding boxes, left, bottom, right, top [m]
    next_stamp: jax.Array
    dropped: jax.Array  # number of contacts that found no place and were ignored
    began: jax.Array  # true if a contact of the body began in the last step
    last_event: jax.Array  # last event of the body's contacts in the last step: NOTHING, BEGAN or ENDED


def transform_of(world: World, state: WorldState, body: int) -> Transform:
    """Return position and rotation of a body's origin.

    >>> from funcenv.physics import Circle, initial_state
    >>> world = World((Body((Fixture(Circle(0.5), density=1.0),), position=(1.0, 2.0)),))
    >>> position, (sine, cosine) = transform_of(world, initial_state(world), 0)
    >>> float(position[0]), float(cosine)
    (1.0, 1.0)
    """
    if world.bodies[body].is_static:
        return static_transform(world.bodies[body])
    row = world.row(body)
    x, y, angle = (float32(numbers[row]) for numbers in (state.x, state.y, state.angle))
    return origin_of((x, y), angle, body_mass(world.bodies[body]).center)


def static_transform(body: Body) -> Transform:
    """Return position and rotation of a body that does not move."""
    angle = float32(body.angle)
    is_upright = is_known(angle) and not np.any(angle)
    rotation = (ZERO, ONE) if is_upright else (jnp.sin(angle), jnp.cos(angle))
    return (float32(body.position[0]), float32(body.position[1])), rotation


def apply_impulse(
    world: World, state: WorldState, body: int, impulse: Vector, point: Vector, is_on: Any = True
) -> WorldState:
    """Change the velocity of a moving body by an impulse at a point, and wake it.

    Args:
        world: what `state` is a state of.
        state: the state before.
        body: index of the body in the world.
        impulse: what to apply [N s].
        point: where to apply it, in the coordinates of the world [m].
        is_on: whether to apply it.
    """
    row, mass = world.row(body), body_mass(world.bodies[body])
    impulse = jnp.asarray(impulse[0], jnp.float32), jnp.asarray(impulse[1], jnp.float32)
    arm = sub((float32(point[0]), float32(point[1])), (state.x[row], state.y[row]))
    linear = add((state.velocity_x[row], state.velocity_y[row]), mul(mass.inverse_mass, impulse))
    angular = state.angular_velocity[row] + mass.inverse_inertia * cross(arm, impulse)
    return wake(
        state.replace(
            velocity_x=_put(state.velocity_x, row, linear[0], is_on),
            velocity_y=_put(state.velocity_y, row, linear[1], is_on),
            angular_velocity=_put(state.angular_velocity, row, angular, is_on),
        ),
        row,
        is_on,
    )


def wake(state: WorldState, row: int, is_on: Any = True) -> WorldState:
    """Wake a moving body, given by its row."""
    rest = where(is_on & ~state.is_awake[row], ZERO, state.rest_time[row])
    return state.replace(
        is_awake=state.is_awake.at[row].set(state.is_awake[row] | is_on), rest_time=state.rest_time.at[row].set(rest)
    )


def _put(array: jax.Array, row: int, value: Number, is_on: Any) -> jax.Array:
    return array.at[row].set(where(is_on, value, array[row]))


def body_mass(body: Body) -> BodyMass:
    """Return the sum of the fixtures, added from the newest to the oldest as Box2D does."""
    if body.is_static:
        return BodyMass(ZERO, ZERO, (ZERO, ZERO))
    total, inertia, center = ZERO, ZERO, (ZERO, ZERO)
    for fixture in reversed(body.fixtures):
        part: Mass = mass_of(fixture.shape, fixture.density)
        total = total + part.mass
        center = add(center, mul(part.mass, part.center))
        inertia = inertia + part.inertia
    if isinstance(total, np.generic) and not total > 0:
        return BodyMass(ONE, ZERO, (ZERO, ZERO))
    inverse = ONE / total
    center = mul(inverse, center)
    return BodyMass(inverse, ONE / (inertia - total * dot(center, center)), center)

"""The car of CarRacing: its bodies, its tyres, and what its wheels touch.

A hull and four wheels, which turn about hinges. Each tyre pushes with a force that slows its slip along and across the
wheel, up to the friction of the ground. The model and its constants are those of Gymnasium 1.4.0's `car_dynamics.py`,
written by Oleg Klimov after Chris Campbell's tutorial on top-down cars.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.physics import Body, Fixture, Polygon, RevoluteJoint, World, WorldState, transform_of
from funcenv.physics.transforms import Transform
from funcenv.struct import NDArray

FPS = 50  # steps a second
SIZE = 0.02  # metres to a unit of the car's drawing
ENGINE_POWER = 100000000 * SIZE * SIZE  # [W]
WHEEL_INERTIA = 4000 * SIZE * SIZE  # [kg m^2]
FRICTION_LIMIT = 1000000 * SIZE * SIZE  # greatest force of a tyre on the road [N]
SLIP_STIFFNESS = 205000 * SIZE * SIZE  # force for a speed of slip, below the limit [N s/m]
BRAKE_RATE = 15  # the full brake takes this off a wheel's speed in a step [rad/s]
STEERING_LIMIT, STEERING_RATE, STEERING_GAIN = 0.4, 3.0, 50.0  # [rad], [rad/s], [1/s]
STEERING_TORQUE = 180 * 900 * SIZE * SIZE  # torque of the motor that turns a wheel [N m]
WHEEL_RADIUS, WHEEL_WIDTH = 27, 14  # half the length and half the width of a wheel, in units of the drawing
WHEEL_PLACES = ((-55, 80), (55, 80), (-55, -82), (55, -82))
HULL = (
    ((-60, 130), (60, 130), (60, 110), (-60, 110)),
    ((-15, 120), (15, 120), (20, 20), (-20, 20)),
    ((25, 20), (50, -10), (50, -40), (20, -90), (-20, -90), (-50, -40), (-50, -10), (-25, 20)),
    ((-50, -90), (50, -90), (50, -120), (-50, -120)),
)
WHEEL = (
    (-WHEEL_WIDTH, WHEEL_RADIUS),
    (WHEEL_WIDTH, WHEEL_RADIUS),
    (WHEEL_WIDTH, -WHEEL_RADIUS),
    (-WHEEL_WIDTH, -WHEEL_RADIUS),
)
WHEELS = (1, 2, 3, 4)  # bodies; the hull is body 0
TOUCH_DISTANCE = np.float32(0.02) + np.float32(10) * np.finfo(np.float32).eps  # two skins, and Box2D's tolerance [m]


class Controls(NamedTuple):
    """The controls of the car that an action sets."""

    steer: Float[Array, ""]  # angle of the front wheels that is aimed for, positive to the left [rad]
    gas: Float[Array, ""]  # throttle from 0 to 1
    brake: Float[Array, ""]  # pressure from 0 to 1; the wheels block from 0.9 on


class Tyres(NamedTuple):
    """The wheels after a step of the tyre model, and how they push; each `[4]`, or a vector of them."""

    spin: Float[Array, "4"]  # [rad/s]
    turned: Float[Array, "4"]  # angle that each wheel has rolled [rad]
    force: tuple[Any, Any]  # force on the wheels, in the world [N]
    slides: Bool[Array, "4"]  # true if a wheel leaves a mark


def polygons(body: int) -> list[NDArray]:
    """Return the convex parts of a body in its coordinates, `[corners, 2]`, clockwise [m].

    >>> [len(part) for part in polygons(0)], float(polygons(1)[0].max())
    ([4, 4, 8, 4], 0.54)
    """
    return [np.array(part) * SIZE for part in (HULL if body == 0 else (WHEEL,))]


def car_world(place: tuple[Any, Any, Any] = (0.0, 0.0, 0.0), motor_speeds: Any = (0.0,) * 4) -> World:
    """Return the bodies and joints of the car.

    Args:
        place: position x, y [m] and angle [rad] of the hull at the start. As in Gymnasium, the wheels are where they
            would be without the angle, and their joints pull them to the hull in the first steps.
        motor_speeds: at which the motors turn the wheels [rad/s].
    """
    x, y, angle = place

    def body(index: int) -> Body:
        parts = [Polygon(tuple((float(u), float(v)) for u, v in part)) for part in polygons(index)]
        if index == 0:
            return Body(tuple(Fixture(part, 1.0) for part in parts), (x, y), angle)
        u, v = WHEEL_PLACES[index - 1]
        fixture = Fixture(parts[0], 0.1, category=0x20, mask=0x01)
        return Body((fixture,), (x + u * SIZE, y + v * SIZE), angle)

    joints = [
        RevoluteJoint(
            0,
            wheel,
            anchor_a=(u * SIZE, v * SIZE),
            limits=(-STEERING_LIMIT, STEERING_LIMIT),
            motor_speed=speed,
            max_motor_torque=STEERING_TORQUE,
        )
        for wheel, (u, v), speed in zip(WHEELS, WHEEL_PLACES, motor_speeds, strict=True)
    ]
    return World(tuple(body(i) for i in range(5)), tuple(joints), gravity=(0.0, 0.0), max_contacts=0)


def steering_speeds(world: WorldState, steer: Float[Array, ""]) -> list[Float[Array, ""]]:
    """Return at which speed each wheel turns on its hinge: the front ones towards the steering angle."""
    speeds = []
    for wheel in WHEELS:
        aim = steer if wheel <= 2 else jnp.zeros_like(steer)
        error = aim - joint_angle(world, wheel).astype(float)
        speed = jnp.sign(error) * jnp.minimum(STEERING_GAIN * jnp.abs(error), STEERING_RATE)
        speeds.append(speed.astype(jnp.float32))
    return speeds


def joint_angle(world: WorldState, wheel: int) -> Float[Array, ""]:
    """Return the angle of a wheel against the hull [rad]."""
    return world.angle[wheel] - world.angle[0]


def roll(
    world: WorldState,
    spin: Float[Array, "4"],
    turned: Float[Array, "4"],
    gas: Float[Array, ""],
    brake: Float[Array, ""],
    engine_power: Any,
    limit: Float[Array, "4"],
) -> Tyres:
    """Return the wheels after a fiftieth of a second, and the forces of the tyres.

    Args:
        world: the bodies before.
        spin: angular velocities of the wheels [rad/s].
        turned: angles that they have rolled [rad].
        gas: of the engine, which drives the rear wheels.
        brake: of all wheels.
        engine_power: [W].
        limit: greatest force of each tyre on the ground that it is on [N].
    """
    dt = 1.0 / FPS
    rows = slice(WHEELS[0], WHEELS[-1] + 1)
    sine, cosine = jnp.sin(world.angle[rows]), jnp.cos(world.angle[rows])
    forward = (-sine).astype(float), cosine.astype(float)
    side = cosine.astype(float), sine.astype(float)
    velocity = world.velocity_x[rows].astype(float), world.velocity_y[rows].astype(float)
    along = forward[0] * velocity[0] + forward[1] * velocity[1]
    across = side[0] * velocity[0] + side[1] * velocity[1]
    is_driven = np.array([False, False, True, True])
    power = jnp.where(is_driven, gas, 0.0)
    spin = spin + dt * engine_power * power / WHEEL_INERTIA / (jnp.abs(spin) + 5.0)
    slower = spin + -jnp.sign(spin) * jnp.minimum(BRAKE_RATE * brake, jnp.abs(spin))
    spin = jnp.where(brake >= 0.9, 0.0, jnp.where(brake > 0, slower, spin))
    turned = turned + spin * dt
    radius = WHEEL_RADIUS * SIZE
    drive, drift = (-along + spin * radius) * SLIP_STIFFNESS, -across * SLIP_STIFFNESS
    force = jnp.sqrt(drive * drive + drift * drift)
    is_beyond = force > limit
    whole = jnp.where(is_beyond, force, 1.0)
    drive = jnp.where(is_beyond, drive / whole * limit, drive)
    drift = jnp.where(is_beyond, drift / whole * limit, drift)
    spin = spin - dt * drive * radius / WHEEL_INERTIA
    push = drift * side[0] + drive * forward[0], drift * side[1] + drive * forward[1]
    return Tyres(spin, turned, push, force > 2.0 * limit)


def touches(
    world: WorldState, corners: Float[Array, "8 tiles"]
) -> tuple[Bool[Array, "4 tiles"], Bool[Array, " tiles"]]:
    """Return which tiles each wheel touches, and which ones the hull touches.

    Box2D's sensors report shapes whose distance is below the thickness of both skins.

    Args:
        world: the bodies.
        corners: as `car_track.tiles` returns them.
    """
    spec = car_world()
    around = [corners[row : row + 2] for row in (0, 2, 6, 4)]
    tile = jnp.stack([jnp.stack(ends, axis=1) for ends in (around, around[1:] + around[:1])])  # as in `_is_near`
    transforms = [transform_of(spec, world, body) for body in (0, *WHEELS)]
    parts = [(body, part) for body in (*WHEELS, 0) for part in polygons(body)]
    near: list[Any] = []
    for size in (4, 8):  # parts with as many corners are computed together
        alike = [(body, part) for body, part in parts if len(part) == size]
        polygon = np.array([part for _, part in alike], np.float32).transpose(0, 2, 1)
        sides = jnp.asarray(np.stack([polygon, np.roll(polygon, -1, axis=2)], axis=1))
        places = jax.tree.map(lambda *each: jnp.stack(each), *(transforms[body] for body, _ in alike))
        near += list(jax.vmap(_is_near, in_axes=(0, 0, None))(sides, places, tile))
    return jnp.stack(near[:4]), jnp.stack(near[4:]).any(0)  # the wheels, and the parts of the hull


def _is_near(part: Float[Array, "2 2 corners"], transform: Transform, tile: Float[Array, "2 2 4 tiles"]) -> jax.Array:
    """Return which of some quadrangles are within the distance of a convex polygon of a body.

    They are if a corner of one is near a side of the other, or if no side separates them. Corners run clockwise.

    Args:
        part: where the sides of the polygon begin and where they end, x and y, in the coordinates of the body.
        transform: that of the body.
        tile: where the sides of each quadrangle begin and where they end, x and y, in the world.
    """
    (px, py), (sine, cosine) = transform
    u, v = part[:, 0, :, None], part[:, 1, :, None]
    own = (cosine * u - sine * v) + px, (sine * u + cosine * v) + py  # [2, corners, 1]
    others = tile[:, 0], tile[:, 1]
    least, is_apart = jnp.full(tile.shape[-1], np.inf, jnp.float32), jnp.zeros(tile.shape[-1], bool)
    for sides, corners in ((own, others), (others, own)):
        run_x, run_y = (ends[1, :, None] - ends[0, :, None] for ends in sides)
        gap_x, gap_y = (corner[0][None] - ends[0, :, None] for ends, corner in zip(sides, corners, strict=True))
        square = run_x**2 + run_y**2
        part_of_run = jnp.clip((gap_x * run_x + gap_y * run_y) / jnp.maximum(square, 1e-12), 0.0, 1.0)
        dx, dy = gap_x - part_of_run * run_x, gap_y - part_of_run * run_y  # [sides, corners, tiles]
        least = jnp.minimum(least, (dx * dx + dy * dy).min((0, 1)))
        is_apart = is_apart | (run_x * gap_y - run_y * gap_x > 0).all(1).any(0)
    return (least <= TOUCH_DISTANCE * TOUCH_DISTANCE) | ~is_apart

"""The drawing of both mountain cars."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.envs.classic_control.arrows import straight_arrow
from funcenv.scene import Camera, Circle, Line, Polygon, Rectangle, Scene, Shape, Terrain, palette, transform

_AMPLITUDE, _MEAN_HEIGHT = 0.45, 0.55  # height of the hill as drawn
_WHEEL_RADIUS, _AXLE_OFFSET = 0.03, 0.045  # the offset is from the middle of the car
_MARGIN = 0.2  # beyond either end of the track


def draw_mountain_car(position: Any, track: tuple[Any, Any], goal: Any, frequency: Any, throttle: Any = None) -> Scene:
    """Return a car on a hill of height `0.45 sin(frequency x) + 0.55`, with both wheels on the ground.

    Args:
        position: position of the car.
        track: both ends of the track; a post stands at the left one, where the car stops.
        goal: position of the flag.
        frequency: frequency of the hill.
        throttle: force of the engine as a part of the greatest one, from -1 to 1, which an arrow shows; None: no arrow.

    >>> draw_mountain_car(-0.5, (-1.2, 0.6), 0.5, 3.0).camera.width.tolist()
    2.2...
    """
    position, left, right, goal, frequency = map(jnp.float32, (position, *track, goal, frequency))
    width = right - left + 2 * _MARGIN
    samples = jnp.linspace(left - width, right + width, 241)
    hill = Terrain(_height(samples, frequency), samples[0], samples[-1], palette.LEAF, palette.GREEN, 0.014)
    post_at = left - _AXLE_OFFSET - 2 * _WHEEL_RADIUS
    post = Line(
        (post_at, _height(post_at, frequency)), (post_at, _height(post_at, frequency) + 0.12), 0.03, palette.STONE
    )
    return Scene(
        camera=Camera(((left + right) / 2, 0.6), width, 1.3),
        shapes=_car(position, frequency, throttle),
        backdrop=(*transform(_flag(), (goal, _height(goal, frequency))), post, hill),
        background=palette.PAPER,
    )


def _height(x: jax.Array, frequency: jax.Array) -> jax.Array:
    return _AMPLITUDE * jnp.sin(frequency * x) + _MEAN_HEIGHT


def _car(x: jax.Array, frequency: jax.Array, throttle: Any) -> tuple[Shape, ...]:
    """Return both wheels, which touch the hill, the body in the direction of the axles, and the arrow above it."""
    rear, front = _wheel(x, -_AXLE_OFFSET, frequency), _wheel(x, _AXLE_OFFSET, frequency)
    angle = jnp.arctan2(front[1] - rear[1], front[0] - rear[0])
    middle = (rear[0] + front[0]) / 2, (rear[1] + front[1]) / 2
    arrow = () if throttle is None else straight_arrow(throttle, 0.16, 0.07, palette.ORANGE)
    body = [
        *transform(arrow, (0.0, 0.13)),
        Rectangle((-0.005, 0.058), (0.085, 0.05), palette.INK, corner_radius=0.015),
        Rectangle((0.0, 0.03), (0.16, 0.045), palette.BLUE, corner_radius=0.015),
    ]
    wheels = [
        Circle(at, _WHEEL_RADIUS, palette.INK, outline=palette.PAPER, outline_width=0.006) for at in (rear, front)
    ]
    return *transform(body, middle, angle), *wheels


def _wheel(x: jax.Array, along: float, frequency: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the centre of a wheel, one radius above the hill and perpendicular to it."""
    x = x + along / jnp.hypot(1.0, _slope(x, frequency))
    slope = _slope(x, frequency)
    long = jnp.hypot(1.0, slope)
    return x - _WHEEL_RADIUS * slope / long, _height(x, frequency) + _WHEEL_RADIUS / long


def _slope(x: jax.Array, frequency: jax.Array) -> jax.Array:
    return _AMPLITUDE * frequency * jnp.cos(frequency * x)


def _flag() -> list[Shape]:
    return [
        Polygon(jnp.array([[0.0, 0.22], [0.11, 0.18], [0.0, 0.14]]), palette.RED),
        Line((0.0, 0.0), (0.0, 0.22), 0.014, palette.INK),
    ]

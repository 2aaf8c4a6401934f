"""The picture of both mountain cars: the hill, the flag, and the car with its wheels on the ground."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.scene import Camera, Circle, Line, Polygon, Rectangle, Scene, Shape, Terrain, palette, transform

_AMPLITUDE, _MIDDLE = 0.45, 0.55  # of the hill, in the picture
_WHEEL, _AXLES = 0.03, 0.045  # radius of a wheel; from the middle of the car to an axle
_MARGIN = 0.2  # of the picture, left and right of the track


def mountain_car_scene(position: Any, track: tuple[Any, Any], goal: Any, frequency: Any) -> Scene:
    """The car at `position` on a hill of height `0.45 sin(frequency x) + 0.55`.

    Args:
        position: of the car.
        track: its two ends; the left one, where the car stops, has a post.
        goal: where the flag stands.
        frequency: of the hill.

    >>> mountain_car_scene(-0.5, (-1.2, 0.6), 0.5, 3.0).camera.width.tolist()
    2.2...
    """
    position, left, right, goal, frequency = map(jnp.float32, (position, *track, goal, frequency))
    width = right - left + 2 * _MARGIN
    samples = jnp.linspace(left - width, right + width, 241)
    hill = Terrain(_height(samples, frequency), samples[0], samples[-1], palette.LEAF, palette.GREEN, 0.014)
    post_at = left - _AXLES - 2 * _WHEEL
    post = Line(
        (post_at, _height(post_at, frequency)), (post_at, _height(post_at, frequency) + 0.12), 0.03, palette.STONE
    )
    return Scene(
        camera=Camera(((left + right) / 2, 0.6), width, 1.3),
        shapes=_car(position, frequency),
        backdrop=(*transform(_flag(), (goal, _height(goal, frequency))), post, hill),
        background=palette.PAPER,
    )


def _height(x: jax.Array, frequency: jax.Array) -> jax.Array:
    return _AMPLITUDE * jnp.sin(frequency * x) + _MIDDLE


def _car(x: jax.Array, frequency: jax.Array) -> tuple[Shape, ...]:
    """Both wheels touch the hill; the body is turned as they are."""
    rear, front = _wheel(x, -_AXLES, frequency), _wheel(x, _AXLES, frequency)
    angle = jnp.arctan2(front[1] - rear[1], front[0] - rear[0])
    middle = (rear[0] + front[0]) / 2, (rear[1] + front[1]) / 2
    body = [
        Rectangle((-0.005, 0.058), (0.085, 0.05), palette.INK, corner_radius=0.015),
        Rectangle((0.0, 0.03), (0.16, 0.045), palette.BLUE, corner_radius=0.015),
    ]
    wheels = [Circle(at, _WHEEL, palette.INK, outline=palette.PAPER, outline_width=0.006) for at in (rear, front)]
    return *transform(body, middle, angle), *wheels


def _wheel(x: jax.Array, along: float, frequency: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The middle of a wheel: a radius above the hill, at a right angle to it."""
    x = x + along / jnp.hypot(1.0, _slope(x, frequency))
    slope = _slope(x, frequency)
    long = jnp.hypot(1.0, slope)
    return x - _WHEEL * slope / long, _height(x, frequency) + _WHEEL / long


def _slope(x: jax.Array, frequency: jax.Array) -> jax.Array:
    return _AMPLITUDE * frequency * jnp.cos(frequency * x)


def _flag() -> list[Shape]:
    return [
        Polygon(jnp.array([[0.0, 0.22], [0.11, 0.18], [0.0, 0.14]]), palette.RED),
        Line((0.0, 0.0), (0.0, 0.22), 0.014, palette.INK),
    ]

"""The drawing of CarRacing: what Gymnasium's window shows after its first second, at any size.

The camera follows the car and turns with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.envs.box2d.car_dynamics import polygons
from funcenv.envs.box2d.car_picture import (
    CAR_U,
    CAR_V,
    GRASS,
    HULL_COLOR,
    PATTERN,
    PER_X,
    PER_Y,
    PLAYFIELD,
    WHEEL_COLOR,
    WHITE_COLOR,
    WINDOW_HEIGHT,
    WINDOW_WIDTH,
    ZOOM,
    Drive,
    View,
    indicators,
    pieces_in,
    white_mark,
)
from funcenv.envs.box2d.car_track import Track
from funcenv.physics.transforms import Transform, apply
from funcenv.scene import Camera, Polygon, Rectangle, Repeat, Scene, Text, digits, palette
from funcenv.struct import NDArray

_WIDTH, _HEIGHT = WINDOW_WIDTH / ZOOM, WINDOW_HEIGHT / ZOOM  # size of the view [m]
_BOTTOM = -_HEIGHT / 4  # the car is at the origin
_OVERLAP = 0.04  # part of a tile by which it covers the one behind, so that no seam is seen
_SQUARES = 5  # squares of grass, drawn each way
_UNIT_X, _UNIT_Y = _WIDTH / 40, _HEIGHT / 40  # a fortieth of the view, the unit of the bar [m]


def draw_car_racing(
    hull: Transform,
    wheels: Sequence[Transform],
    turned: Float[Array, "4"],
    track: Track,
    is_plain: Bool[Array, "400"],
    colors: Float[Array, "3 3"],
    drive: Drive,
) -> Scene:
    """Return the ground, the road with its kerbs, the car, and the bar with score and indicators.

    Args:
        hull: position and rotation of the hull.
        wheels: of the wheels.
        turned: angles that the wheels have rolled [rad].
        track: the road.
        is_plain: the tiles without the pattern.
        colors: of the road, of the ground and of its squares, from 0 to 255.
        drive: what the indicators show.
    """
    turned, colors = jnp.asarray(turned, jnp.float32), jnp.asarray(colors, jnp.float32) / np.float32(255)
    (x, y), (sine, cosine) = hull
    view = View(x, y, cosine, sine, np.float32(ZOOM * PER_X), np.float32(ZOOM * PER_Y))
    return Scene(
        camera=Camera((0.0, _HEIGHT / 4), _WIDTH, _HEIGHT),
        shapes=(
            *_ground(view, colors),
            *_road(view, track, is_plain, colors[0]),
            *_car(view, wheels, turned),
            *_bar(drive),
        ),
        background=palette.INK,
    )


def _seen(view: View, x: Any, y: Any) -> jax.Array:
    """Return points of the world as the camera sees them, `[..., 2]`."""
    dx, dy = x - view.x, y - view.y
    return jnp.stack([view.cosine * dx + view.sine * dy, view.cosine * dy - view.sine * dx], axis=-1)


def _ground(view: View, colors: jax.Array) -> list[Any]:
    """Return the playfield and the squares of grass near the car."""
    angle = jnp.arctan2(-view.sine, view.cosine)
    zero = jnp.zeros((), jnp.float32)
    field = Rectangle(_seen(view, zero, zero), (2 * PLAYFIELD, 2 * PLAYFIELD), _opaque(colors[1]), angle)
    ahead = _HEIGHT / 4
    steps = np.arange(_SQUARES, dtype=np.float32) - _SQUARES // 2
    places = []
    for middle in (view.x - view.sine * ahead, view.y + view.cosine * ahead):
        nearest = jnp.round((middle - GRASS / 2) / (2 * GRASS)) + steps
        places.append(jnp.where(jnp.abs(nearest + 0.5) < 10, nearest, np.nan) * (2 * GRASS) + GRASS / 2)
    across, along = (each.ravel() for each in jnp.meshgrid(*places, indexing="ij"))
    is_there = jnp.isfinite(across) & jnp.isfinite(along)
    centers = _seen(view, jnp.where(is_there, across, 0.0), jnp.where(is_there, along, 0.0))
    count = _SQUARES * _SQUARES
    paint = jnp.concatenate([jnp.broadcast_to(colors[2], (count, 3)), is_there[:, None].astype(jnp.float32)], axis=1)
    size = np.full((count, 2), GRASS, np.float32)
    return [field, Repeat(Rectangle(centers, size, paint, jnp.broadcast_to(angle, (count,))))]


def _road(view: View, track: Track, is_plain: jax.Array, color: jax.Array) -> list[Repeat]:
    """Return the tiles and the kerbs near the car."""
    pieces = pieces_in(view, track, is_plain)

    def metres(point: tuple[Any, Any]) -> jax.Array:
        return jnp.stack([(point[0] - CAR_U) / view.scale_u, (CAR_V - point[1]) / view.scale_v], axis=-1)

    front, back = ([metres(point) for point in end] for end in (pieces.front, pieces.back))
    back = [b + _OVERLAP * (b - f) for f, b in zip(front, back, strict=True)]
    tiles = jnp.stack([front[0], front[1], back[1], back[0]], axis=1)
    kerbs = jnp.stack([front[1], front[2], back[2], back[1]], axis=1)
    is_there, has_kerb = pieces.is_there.astype(jnp.float32), (pieces.kerb != 0).astype(jnp.float32)
    shade = color[None] + jnp.asarray(PATTERN, jnp.float32)[pieces.pattern][:, None] / np.float32(255)
    white = 1 - pieces.red
    return [
        Repeat(Polygon(tiles, jnp.concatenate([shade, is_there[:, None]], axis=1))),
        Repeat(Polygon(kerbs, jnp.stack([jnp.ones_like(white), white, white, has_kerb], axis=1))),
    ]


def _car(view: View, wheels: Sequence[Transform], turned: jax.Array) -> list[Any]:
    """Return the wheels, their white marks, and the hull."""
    tyres, marks, shown = [], [], []
    for body, transform in enumerate(wheels, start=1):
        corners, is_shown = white_mark(turned[body - 1])
        tyre = polygons(body)[0].astype(np.float32)
        tyres.append(jnp.stack([_seen(view, *apply(transform, corner)) for corner in tyre]))
        marks.append(jnp.stack([_seen(view, *apply(transform, corner)) for corner in corners]))
        shown.append(is_shown.astype(jnp.float32))
    gray = np.tile(np.array(WHITE_COLOR, np.float32) / 255, (4, 1))
    parts = polygons(0)
    boxes = np.stack([part for part in parts if len(part) == 4]).astype(np.float32)
    (middle,) = (part.astype(np.float32) for part in parts if len(part) == 8)
    red = _paint(HULL_COLOR)
    return [
        Repeat(Polygon(jnp.stack(tyres), np.tile(_paint(WHEEL_COLOR), (4, 1)))),
        Repeat(Polygon(jnp.stack(marks), jnp.concatenate([gray, jnp.stack(shown)[:, None]], axis=1))),
        Repeat(Polygon(boxes, np.tile(red, (len(boxes), 1)))),
        Polygon(middle, red),
    ]


def _bar(drive: Drive) -> list[Any]:
    """Return the black bar with the indicators, and the score."""
    bar = Rectangle((0.0, _BOTTOM + 2.5 * _UNIT_Y - 50), (4 * _WIDTH, 5 * _UNIT_Y + 100), (0.0, 0.0, 0.0, 1.0))
    centers, sizes, paints = [], [], []
    for left, right, low, high, is_shown, color in indicators(drive):
        centers.append(jnp.stack([(left + right) / 2 * _UNIT_X - _WIDTH / 2, (low + high) / 2 * _UNIT_Y + _BOTTOM]))
        size = jnp.stack([jnp.abs(right - left) * _UNIT_X, jnp.abs(high - low) * _UNIT_Y])
        sizes.append(jnp.where(is_shown, size, 0.0))
        paints.append(_paint(color))
    levels = Repeat(Rectangle(jnp.stack(centers), jnp.stack(sizes), np.stack(paints)))
    place = -_WIDTH / 2 + 2.4 * _UNIT_X, _BOTTOM + 2.5 * _UNIT_Y
    score = jnp.round(jnp.asarray(drive.reward, jnp.float32)).astype(jnp.int32)
    return [bar, levels, Text(place, digits(score, 4), 1.6 * _UNIT_Y, palette.WHITE)]


def _opaque(color: jax.Array) -> jax.Array:
    return jnp.append(color, jnp.ones((), color.dtype))


def _paint(color: tuple[int, int, int]) -> NDArray:
    return np.array([*(level / 255 for level in color), 1.0], np.float32)

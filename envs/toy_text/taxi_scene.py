"""The drawing of Taxi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.envs.toy_text.board_scene import board_camera, checkered, tile_center, tiles
from funcenv.scene import (
    Circle,
    Line,
    Polygon,
    Rectangle,
    Repeat,
    Scene,
    Shape,
    Text,
    letters,
    palette,
    rgba,
    transform,
)

_COLORS = palette.RED, palette.GREEN, palette.YELLOW, palette.BLUE
_WALLS = ((2, 0, 2), (1, 3, 5), (3, 3, 5))  # x, and the rows between which the wall stands


def draw_taxi(
    taxi: tuple[Any, Any],
    passenger: tuple[Any, Any],
    destination: tuple[Any, Any],
    *,
    rides: Any,
    delivered: Any,
    stands: Sequence[tuple[int, int]],
    is_rainy: bool,
) -> Scene:
    """Return a map with walls and stands, a taxi, and its passenger at a stand or behind its window.

    The taxi keeps to the lower half of a tile, so that it covers no letter, flag or passenger.

    Args:
        taxi: row and column of the taxi.
        passenger: row and column of the stand where the passenger waits.
        destination: row and column of the destination, which has a frame and a flag, green after the delivery.
        rides: whether the passenger is in the taxi.
        delivered: whether the last step delivered the passenger.
        stands: rows and columns of R, G, Y and B.
        is_rainy: whether to draw rain.

    >>> flags = {"rides": jnp.array(True), "delivered": jnp.array(False), "is_rainy": False}
    >>> len(draw_taxi((2, 2), (0, 0), (4, 3), stands=((0, 0), (0, 4), (4, 0), (4, 3)), **flags).shapes)
    12
    """
    x, y = tile_center(*taxi)
    waiting_x, waiting_y = tile_center(*passenger)
    rides = jnp.float32(rides)
    stands_at, seat = (waiting_x + 0.06, waiting_y + 0.35), (x - 0.02, y - 0.16)
    head = tuple(rides * inside + (1 - rides) * outside for inside, outside in zip(seat, stands_at, strict=True))
    return Scene(
        camera=board_camera(5, 5),
        shapes=(
            *transform(_destination(jnp.float32(delivered)), tile_center(*destination)),
            *transform(_taxi(), (x, y - 0.22), scale=0.75),
            Rectangle((waiting_x + 0.06, waiting_y + 0.17), (0.18, 0.22), rgba(palette.INK, 1 - rides), None, 0.08),
            Circle(head, 0.08, palette.SKIN, palette.INK, 0.03),
        ),
        backdrop=_city(stands, is_rainy),
        background=palette.PAPER,
    )


def _taxi() -> list[Shape]:
    return [
        Circle((-0.22, -0.25), 0.1, palette.INK),
        Circle((0.22, -0.25), 0.1, palette.INK),
        Rectangle((-0.03, 0.27), (0.2, 0.1), palette.INK, corner_radius=0.03),
        Rectangle((-0.03, 0.09), (0.5, 0.3), palette.YELLOW, None, 0.1, palette.INK, 0.03),
        Rectangle((0.0, -0.12), (0.84, 0.26), palette.YELLOW, None, 0.08, palette.INK, 0.03),
        Rectangle((-0.03, 0.09), (0.38, 0.18), palette.PAPER, corner_radius=0.05),
        Rectangle((0.0, -0.12), (0.84, 0.07), palette.INK),
    ]


def _destination(delivered: jax.Array) -> list[Shape]:
    color = palette.INK * (1 - delivered) + palette.GREEN * delivered
    return [
        Rectangle((0.0, 0.0), (0.92, 0.92), rgba(color, 0.0), corner_radius=0.12, outline=color, outline_width=0.08),
        Line((0.36, 0.08), (0.36, 0.38), 0.04, color),
        Polygon(np.array([(0.36, 0.4), (0.16, 0.31), (0.36, 0.22)]), color),
    ]


def _city(stands: Sequence[tuple[int, int]], is_rainy: bool) -> tuple[Shape, ...]:
    squares, names = [], []
    for (row, column), color, name in zip(stands, _COLORS, "RGYB", strict=True):
        at = column + 0.5, -row - 0.5
        squares.append(Rectangle(at, (0.9, 0.9), rgba(color, 0.6), corner_radius=0.12))
        names.append(Text((at[0] - 0.26, at[1] + 0.24), letters(name), 0.28, palette.INK))
    walls = [Line((x, -first), (x, -last), 0.12, palette.INK) for x, first, last in _WALLS]
    edge = Rectangle((2.5, -2.5), (5.12, 5.12), rgba(palette.INK, 0.0), None, 0.1, palette.INK, 0.12)
    return (
        tiles(checkered(5, 5, palette.MIST)),
        Repeat.stack(squares),
        Repeat.stack(names),
        Repeat.stack([*walls, *(_rain() if is_rainy else ())]),
        edge,
    )


def _rain() -> list[Shape]:
    """Return drops scattered by the golden ratio."""
    drops: list[Shape] = []
    for number in range(12):
        x, y = 5.0 * (number * 0.618034 % 1), -5.0 * (number + 0.3) / 12
        drops.append(Line((x, y), (x - 0.07, y - 0.22), 0.04, rgba(palette.BLUE, 0.55)))
    return drops

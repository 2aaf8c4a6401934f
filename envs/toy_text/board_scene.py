"""Parts of the drawings of boards: tiles, landmarks and a walker.

A tile is a unit square. The origin is the upper left corner of the tile in row 0 and column 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from funcenv.scene import Camera, Circle, Line, Polygon, Rectangle, Repeat, Shape, Sprite, palette, rgba, transform
from funcenv.struct import NDArray


def tile_center(row: Any, column: Any) -> tuple[Any, Any]:
    """Return the centre of a tile, which may depend on the state.

    >>> [float(coordinate) for coordinate in tile_center(2, 0)]
    [0.5, -2.5]
    """
    return jnp.float32(column) + 0.5, -jnp.float32(row) - 0.5


def board_camera(rows: int, columns: int, margin: float = 0.25) -> Camera:
    """Return a camera that shows all tiles and a margin around them.

    >>> board_camera(4, 12).center
    (6.0, -2.0)
    """
    return Camera((columns / 2, -rows / 2), columns + 2 * margin, rows + 2 * margin)


def checkered(rows: int, columns: int, color: Any) -> NDArray:
    """Return the colours of tiles, every other one lighter: `[rows, columns, 4]`.

    >>> checkered(1, 2, (0.0, 0.5, 0.0, 1.0))[0].round(2).tolist()
    [[0.0, 0.5, 0.0, 1.0], [0.25, 0.62, 0.25, 1.0]]
    """
    light = 0.25 * (np.indices((rows, columns)).sum(0)[..., None] % 2)
    return np.asarray(color) * (1 - light) + palette.WHITE * light


def tiles(colors: Any, corner: tuple[float, float] = (0.0, 0.0), size: tuple[float, float] | None = None) -> Sprite:
    """Return a grid of rectangles of one colour each.

    Args:
        colors: `[rows, columns, 4]`, from 0 to 1.
        corner: upper left corner of the grid.
        size: width and height of the grid; by default every rectangle is a tile.

    >>> tiles(np.ones((2, 3, 4))).center
    (1.5, -1.0)
    """
    colors = np.asarray(colors)
    width, height = size or (float(colors.shape[1]), float(colors.shape[0]))
    image = (colors * 255 + 0.5).astype(np.uint8)
    return Sprite((corner[0] + width / 2, corner[1] - height / 2), (width, height), image)


def landmarks(starts: Iterable[tuple[int, int]], goals: Iterable[tuple[int, int]]) -> tuple[Shape, ...]:
    """Return a white ring on each tile `(row, column)` where a walk starts, and a flag where it ends.

    >>> rings_and_feet, poles, pennants = landmarks(starts=[(0, 0)], goals=[(3, 3), (2, 1)])
    >>> rings_and_feet.count, pennants.count
    (3, 2)
    """
    pole, top, foot = 0.32, 0.42, -0.34  # relative to the centre of the tile
    clear = rgba(palette.WHITE, 0.0)
    rings = [Circle((column + 0.5, -row - 0.5), 0.38, clear, palette.WHITE, 0.05) for row, column in starts]
    at = [(column + 0.5, -row - 0.5) for row, column in goals]
    feet = [Circle((x + pole, y + foot), 0.07, palette.INK, palette.INK, 0.0) for x, y in at]
    pennants = [
        Polygon(np.array([(x + pole, y + top), (x - 0.08, y + 0.28), (x + pole, y + 0.14)]), palette.RED) for x, y in at
    ]
    poles = [Line((x + pole, y + foot), (x + pole, y + top), 0.05, palette.INK) for x, y in at]
    return Repeat.stack([*rings, *feet]), Repeat.stack(poles), Repeat.stack(pennants)


def elf(at: tuple[Any, Any], shadow: Any = 1.0) -> tuple[Shape, ...]:
    """Return a walker in a green hat on a tile with this centre; `shadow` is the opacity of its shadow.

    >>> len(elf((0.5, -0.5)))
    9
    """
    shapes: list[Shape] = [
        Rectangle((0.0, -0.36), (0.46, 0.1), rgba(palette.INK, 0.18 * shadow), corner_radius=0.05),
        Rectangle((0.0, -0.19), (0.36, 0.36), palette.RED, corner_radius=0.12),
        Rectangle((0.0, -0.22), (0.36, 0.06), palette.INK),
        Circle((0.0, 0.07), 0.17, palette.SKIN),
        Polygon(np.array([(-0.18, 0.13), (0.18, 0.13), (-0.08, 0.42)]), palette.GREEN),
        Line((-0.16, 0.13), (0.16, 0.13), 0.08, palette.WHITE),
        Circle((-0.08, 0.41), 0.055, palette.WHITE),
        Circle((-0.06, 0.04), 0.024, palette.INK),
        Circle((0.06, 0.04), 0.024, palette.INK),
    ]
    return transform(shapes, at)

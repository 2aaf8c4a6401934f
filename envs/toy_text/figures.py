"""What the pictures of the boards are made of: tiles, flags, and somebody who walks there.

A tile is a unit square; the upper left corner of the tile in row 0 and column 0 is the origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.scene import Camera, Circle, Line, Many, Polygon, Rectangle, Shape, Sprite, palette, place, rgba
from funcenv.struct import NDArray


def middle(row: Any, column: Any) -> tuple[Any, Any]:
    """Of a tile, which may depend on the state.

    >>> [float(coordinate) for coordinate in middle(2, 0)]
    [0.5, -2.5]
    """
    return jnp.float32(column) + 0.5, -jnp.float32(row) - 0.5


def board_camera(rows: int, columns: int, margin: float = 0.25) -> Camera:
    """All tiles, and a little around.

    >>> board_camera(4, 12).center
    (6.0, -2.0)
    """
    return Camera((columns / 2, -rows / 2), columns + 2 * margin, rows + 2 * margin)


def checkered(rows: int, columns: int, color: Any) -> NDArray:
    """Colours of tiles, every other one lighter: `[rows, columns, 4]`.

    >>> checkered(1, 2, (0.0, 0.5, 0.0, 1.0))[0].round(2).tolist()
    [[0.0, 0.5, 0.0, 1.0], [0.25, 0.62, 0.25, 1.0]]
    """
    light = 0.25 * (np.indices((rows, columns)).sum(0)[..., None] % 2)
    return np.asarray(color) * (1 - light) + palette.WHITE * light


def tiles(colors: Any, corner: tuple[float, float] = (0.0, 0.0), size: tuple[float, float] | None = None) -> Sprite:
    """Rectangles of one colour each, side by side.

    Args:
        colors: `[rows, columns, 4]`, from 0 to 1.
        corner: upper left.
        size: width and height of all together; None: every one is a tile.

    >>> tiles(np.ones((2, 3, 4))).center
    (1.5, -1.0)
    """
    colors = np.asarray(colors)
    width, height = size or (float(colors.shape[1]), float(colors.shape[0]))
    image = (colors * 255 + 0.5).astype(np.uint8)
    return Sprite((corner[0] + width / 2, corner[1] - height / 2), (width, height), image)


def many(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Shapes of one kind as one, which compiles faster; nothing for none.

    >>> many([Circle((0.0, 0.0), 1.0, palette.INK)] * 3)[0].count
    3
    """
    return (Many(jax.tree.map(_stacked, *shapes)),) if shapes else ()


def landmarks(starts: Iterable[tuple[int, int]], goals: Iterable[tuple[int, int]]) -> tuple[Shape, ...]:
    """A white ring on each tile `(row, column)` where a walk begins, and a flag where it ends.

    >>> rings_and_feet, poles, pennants = landmarks(starts=[(0, 0)], goals=[(3, 3), (2, 1)])
    >>> rings_and_feet.count, pennants.count
    (3, 2)
    """
    pole, top, foot = 0.32, 0.42, -0.34  # from the middle of the tile
    clear = rgba(palette.WHITE, 0.0)
    rings = [Circle((column + 0.5, -row - 0.5), 0.38, clear, palette.WHITE, 0.05) for row, column in starts]
    at = [(column + 0.5, -row - 0.5) for row, column in goals]
    feet = [Circle((x + pole, y + foot), 0.07, palette.INK, palette.INK, 0.0) for x, y in at]
    pennants = [
        Polygon(np.array([(x + pole, y + top), (x - 0.08, y + 0.28), (x + pole, y + 0.14)]), palette.RED) for x, y in at
    ]
    return (
        *many([*rings, *feet]),
        *many([Line((x + pole, y + foot), (x + pole, y + top), 0.05, palette.INK) for x, y in at]),
        *many(pennants),
    )


def elf(at: tuple[Any, Any], shadow: Any = 1.0) -> tuple[Shape, ...]:
    """Somebody in a green hat, on a tile with this middle; `shadow` is the opacity of the ground's.

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
    return place(shapes, at)


def _stacked(*leaves: Any) -> NDArray:
    stacked = np.stack(leaves)
    return stacked if stacked.dtype == np.int32 else stacked.astype(np.float32)  # int32: codes of letters

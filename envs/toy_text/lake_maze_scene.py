"""The drawing of Lake Maze, whose map may differ from one environment of a batch to the next."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from funcenv.envs.toy_text.board_scene import board_camera, checkered, elf, tile_center
from funcenv.scene import Line, Polygon, Rectangle, Scene, Sprite, palette, transform

_ICE, _HOLE, _GOAL, _START = range(4)


def draw_lake_maze(tiles: Any, goal: tuple[Any, Any], row: Any, column: Any, fell: Any) -> Scene:
    """Return the walker on the lake, or in the water after a fall.

    Args:
        tiles: kinds of tiles, `[rows, columns]`.
        goal: row and column of the goal.
        row: row of the walker.
        column: column of the walker.
        fell: whether the walker is in a hole.

    >>> import numpy as np
    >>> len(draw_lake_maze(np.array([[3, 0], [1, 2]]), (1, 1), 0, 0, fell=jnp.array(False)).shapes)
    13
    """
    rows, columns = np.shape(tiles)
    fell = jnp.asarray(fell, jnp.float32)
    x, y = tile_center(row, column)
    water = Rectangle((0.0, -0.21), (0.5, 0.3), (*palette.NAVY[:3], fell))
    return Scene(
        camera=board_camera(rows, columns),
        shapes=(
            _lake(tiles),
            *transform(_flag(), tile_center(*goal)),
            *elf((x, y + 0.06 * fell), shadow=1 - fell),
            *transform([water], (x, y)),
        ),
        background=palette.PAPER,
    )


def _lake(tiles: Any) -> Sprite:
    """Return the ice with its holes, and the start in another colour."""
    rows, columns = np.shape(tiles)
    ice = np.round(checkered(rows, columns, palette.SKY) * 255).astype(np.uint8)
    hole, start = (np.round(np.asarray(color) * 255).astype(np.uint8) for color in (palette.NAVY, palette.ORANGE))
    kinds = jnp.asarray(tiles)[..., None]
    image = jnp.where(kinds == _HOLE, hole, jnp.where(kinds == _START, start, ice))
    return Sprite((columns / 2, -rows / 2), (float(columns), float(rows)), image)


def _flag() -> tuple[Any, ...]:
    """Return a flag at the origin."""
    pennant = Polygon(np.array([(0.22, 0.4), (-0.2, 0.24), (0.22, 0.08)]), palette.RED)
    return Line((0.22, -0.34), (0.22, 0.4), 0.06, palette.INK), pennant

"""The drawing of Cliff Walking."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.envs.toy_text.board_scene import board_camera, checkered, elf, landmarks, tile_center, tiles
from funcenv.scene import Circle, Line, Repeat, Scene, Shape, palette, rgba


def draw_cliff_walking(rows: int, columns: int, row: Any, column: Any, fell: Any) -> Scene:
    """Return the walker above the cliff.

    Args:
        rows: number of rows; the cliff is in the last one.
        columns: number of columns.
        row: row of the walker.
        column: column of the walker.
        fell: whether the walker has just fallen, which a red ring marks.

    >>> len(draw_cliff_walking(4, 12, 3, 0, fell=np.array(False)).shapes)
    10
    """
    center = tile_center(row, column)
    ring = Circle(center, 0.46, rgba(palette.RED, 0.0), rgba(palette.RED, fell), 0.06)
    return Scene(
        camera=board_camera(rows, columns),
        shapes=(ring, *elf(center)),
        backdrop=_land(rows, columns),
        background=palette.PAPER,
    )


def _land(rows: int, columns: int) -> tuple[Shape, ...]:
    """Return grass above rocks that glow at the bottom; the grass hides the upper part of the rocks."""
    bottom, last = rows - 1, columns - 1
    edge = -float(bottom)
    grass = checkered(rows, columns, palette.LEAF)
    grass[bottom, 1:last, 3] = 0.0
    depths = np.stack([palette.EARTH] * 2 + [palette.INK] * 4 + [palette.RED, palette.ORANGE])[:, None]
    rocks = [Circle((column + 0.5, edge), (0.56, 0.46, 0.62)[column % 3], palette.EARTH) for column in range(1, last)]
    return (
        tiles(depths, (1.0, edge), (last - 1.0, 1.0)),
        Repeat.stack(rocks),
        tiles(grass),
        Line((1.0, edge), (float(last), edge), 0.08, palette.GREEN, cap="butt"),
        *landmarks(starts=[(bottom, 0)], goals=[(bottom, last)]),
    )

"""The drawing of Frozen Lake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.envs.toy_text.board_scene import board_camera, checkered, elf, landmarks, tile_center, tiles
from funcenv.scene import Line, Rectangle, Repeat, Scene, Shape, palette, rgba, transform


def draw_frozen_lake(rows: Sequence[str], row: Any, column: Any, fell: Any) -> Scene:
    """Return the walker on the lake, or in the water after a fall.

    Args:
        rows: the map.
        row: row of the walker.
        column: column of the walker.
        fell: whether the walker is in a hole.

    >>> len(draw_frozen_lake(["SF", "HG"], 1, 0, fell=jnp.array(True)).shapes)
    11
    """
    fell = jnp.float32(fell)
    x, y = tile_center(row, column)
    return Scene(
        camera=board_camera(len(rows), len(rows[0])),
        shapes=(*elf((x, y + 0.06 * fell), shadow=1 - fell), *transform(_water(fell), (x, y))),
        backdrop=_lake(rows),
        background=palette.PAPER,
    )


def _lake(rows: Sequence[str]) -> tuple[Shape, ...]:
    places: dict[str, list[tuple[int, int]]] = {letter: [] for letter in "SFHG"}
    for row, letters in enumerate(rows):
        for column, letter in enumerate(letters):
            places[letter].append((row, column))
    holes = [_hole(column + 0.5, -row - 0.5) for row, column in places["H"]]
    ice = tiles(checkered(len(rows), len(rows[0]), palette.SKY))
    return ice, *([Repeat.stack(holes)] if holes else []), *landmarks(places["S"], places["G"])


def _hole(x: float, y: float) -> Rectangle:
    return Rectangle((x, y), (0.8, 0.8), palette.NAVY, corner_radius=0.28, outline=palette.WHITE, outline_width=0.06)


def _water(alpha: jax.Array) -> list[Shape]:
    """Return the water in front of a walker in a hole."""
    return [
        Rectangle((0.0, -0.21), (0.42, 0.26), rgba(palette.NAVY, alpha)),
        Line((-0.22, -0.09), (0.22, -0.09), 0.09, rgba(palette.BLUE, alpha)),
    ]

"""Many scenes in one picture."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8

from funcenv.checks import require_size
from funcenv.scene.color import luminance, rgba
from funcenv.scene.rasterize import rasterize
from funcenv.scene.scene import Scene


def mosaic(
    scenes: Scene,
    height: int,
    width: int,
    columns: int | None = None,
    *,
    gap: int = 2,
    gap_color: Any = "#9aa1a8",
    supersample: int = 1,
    grayscale: bool = False,
) -> UInt8[Array, "height width *channels"]:
    """Draw a batch of scenes side by side, row by row, the first at the top left.

    Args:
        scenes: scenes in one: every array has a leading axis `[n]`, as `jax.vmap(env.scene)(states)` gives.
        height: rows of the whole picture.
        width: columns of the whole picture.
        columns: scenes in a row; by default as many as there are rows, or one more.
        gap: pixels between two scenes; 0 for none.
        gap_color: of the gaps, of places that stay empty, and of what remains at the borders.
        supersample: as in `rasterize`.
        grayscale: as in `rasterize`.

    Returns:
        uint8 `[height, width, 3]`, or `[height, width]` in grey.

    Raises:
        ValueError: arrays without the same leading axis, or a picture too small for so many.

    >>> import funcenv
    >>> from funcenv.scene import Camera, Circle
    >>> balls = jax.vmap(lambda x: Scene(Camera((0.0, 0.0), 2.0, 2.0), (Circle((x, 0.0), 0.5, rgba("#ff0000")),)))
    >>> mosaic(balls(jnp.linspace(-0.5, 0.5, 6)), 120, 180).shape
    (120, 180, 3)
    """
    height, width = require_size("height", height), require_size("width", width)
    gap = require_size("gap", gap) if gap else 0
    count = _count(scenes)
    rows, columns = grid_shape(count, columns)
    tile_height, tile_width = _tile(height, rows, gap), _tile(width, columns, gap)
    if min(tile_height, tile_width) < 1:
        raise ValueError(
            f"{rows} rows of {columns} scenes with gaps of {gap} do not fit into {height} x {width} pixels; "
            "draw fewer, or a larger picture"
        )
    draw = functools.partial(
        rasterize, height=tile_height, width=tile_width, supersample=supersample, grayscale=grayscale
    )
    color = rgba(gap_color)[:3]
    paint = (jnp.asarray(luminance(*color) if grayscale else color) * 255 + 0.5).astype(jnp.uint8)
    picture = jnp.broadcast_to(paint, (height, width, *paint.shape))
    tiles = jax.vmap(draw)(scenes)
    top, left = (height - rows * (tile_height + gap) + gap) // 2, (width - columns * (tile_width + gap) + gap) // 2
    for row in range(rows):  # a row at a time: tiles of one row lie side by side
        members = tiles[row * columns : (row + 1) * columns]
        gaps = jnp.broadcast_to(paint, (members.shape[0], tile_height, gap, *paint.shape))
        strip = jnp.moveaxis(jnp.concatenate([members, gaps], axis=2), 0, 1)
        strip = strip.reshape(tile_height, -1, *paint.shape)[:, : members.shape[0] * (tile_width + gap) - gap]
        start = (top + row * (tile_height + gap), left, *(0,) * paint.ndim)
        picture = jax.lax.dynamic_update_slice(picture, strip, start)
    return picture


def grid_shape(count: int, columns: int | None = None) -> tuple[int, int]:
    """Return the numbers of rows and columns of a grid with `count` cells, about square by default.

    >>> grid_shape(5), grid_shape(5, columns=5)
    ((2, 3), (1, 5))
    """
    columns = math.ceil(math.sqrt(count)) if columns is None else require_size("columns", columns)
    return math.ceil(count / columns), columns


def _count(scenes: Scene) -> int:
    """The length of the leading axis of every array."""
    shapes = {
        jax.tree_util.keystr(path).removeprefix("."): np.shape(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(scenes)
    }
    counts = {shape[0] if shape else None for shape in shapes.values()}
    if len(counts) != 1 or None in counts:
        first, *_ = shapes
        size = shapes[first][:1]
        other = next((name for name, shape in shapes.items() if not shape or shape[:1] != size), first)
        raise ValueError(
            "every array of a batch of scenes has the same leading axis, as jax.vmap(env.scene)(states) gives; got "
            f"{first} of shape {list(shapes[first])} and {other} of shape {list(shapes[other])}"
        )
    return require_size("the number of scenes", counts.pop())


def _tile(size: int, count: int, gap: int) -> int:
    """Pixels for each of `count` tiles with gaps in between."""
    return (size - (count - 1) * gap) // count

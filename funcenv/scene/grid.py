"""Many images in one: a grid of tiles with gaps between them."""

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
from funcenv.scene.scene import Scene, rasterize


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
    """Draw a batch of scenes as a grid, row by row, the first at the top left.

    Args:
        scenes: scenes in one: every array has a leading axis `[n]`, as `jax.vmap(env.scene)(states)` gives.
        height: rows of the whole image.
        width: columns of the whole image.
        columns: scenes in a row; by default as many as there are rows, or one more.
        gap: pixels between two scenes; 0 for none.
        gap_color: colour of the gaps, of empty places, and of what remains at the borders.
        supersample: as in `rasterize`.
        grayscale: as in `rasterize`, by the standard BT.601.

    Returns:
        uint8 `[height, width, 3]`, or `[height, width]` in grey.

    Raises:
        ValueError: arrays without the same leading axis, or an image too small for so many scenes.

    >>> import funcenv
    >>> from funcenv.scene import Camera, Circle
    >>> balls = jax.vmap(lambda x: Scene(Camera((0.0, 0.0), 2.0, 2.0), (Circle((x, 0.0), 0.5, rgba("#ff0000")),)))
    >>> mosaic(balls(jnp.linspace(-0.5, 0.5, 6)), 120, 180).shape
    (120, 180, 3)
    """
    height, width = require_size("height", height), require_size("width", width)
    gap = require_size("gap", gap) if gap else 0
    rows, columns = grid_shape(_count(scenes), columns)
    tile_height, tile_width = (height - (rows - 1) * gap) // rows, (width - (columns - 1) * gap) // columns
    if min(tile_height, tile_width) < 1:
        raise ValueError(
            f"{rows} rows of {columns} scenes with gaps of {gap} do not fit into {height} x {width} pixels; "
            "draw fewer, or a larger image"
        )
    draw = functools.partial(
        rasterize, height=tile_height, width=tile_width, supersample=supersample, grayscale=grayscale
    )
    color = rgba(gap_color)[:3]
    paint = (jnp.asarray(luminance(*color) if grayscale else color) * 255 + 0.5).astype(jnp.uint8)
    image = tile_images(jax.vmap(draw)(scenes), columns, gap, paint)
    top, left = (height - image.shape[0]) // 2, (width - image.shape[1]) // 2
    whole = jnp.broadcast_to(paint, (height, width, *paint.shape))
    return jax.lax.dynamic_update_slice(whole, image, (top, left, *(0,) * paint.ndim))


def grid_shape(count: int, columns: int | None = None) -> tuple[int, int]:
    """Return the numbers of rows and columns of a grid with `count` cells, about square by default.

    >>> grid_shape(6), grid_shape(3), grid_shape(3, columns=3)
    ((2, 3), (2, 2), (1, 3))
    """
    columns = math.ceil(math.sqrt(count)) if columns is None else require_size("columns", columns)
    return math.ceil(count / columns), columns


def tile_images(images: Any, columns: int, gap: int, color: Any) -> Any:
    """Return a grid of images of one size, row by row, the first at the top left.

    Args:
        images: uint8 `[n, height, width, *channels]`: a JAX array, or a NumPy array, which stays on the host.
        columns: images in a row.
        gap: pixels between two images.
        color: uint8 `[*channels]`, the colour of gaps and of empty places.

    >>> tile_images(np.ones((3, 1, 2), np.uint8), columns=2, gap=1, color=np.uint8(0))
    array([[1, 1, 0, 1, 1],
           [0, 0, 0, 0, 0],
           [1, 1, 0, 0, 0]], dtype=uint8)
    """
    xp: Any = jnp if isinstance(images, jax.Array) else np
    count, height, width, *channels = images.shape
    rows, _ = grid_shape(count, columns)

    def padded(tiles: Any, axis: int, size: int) -> Any:
        shape = (*tiles.shape[:axis], size, *tiles.shape[axis + 1 :])
        return xp.concatenate([tiles, xp.broadcast_to(color, shape)], axis=axis)

    cells = padded(padded(padded(images, 2, gap), 1, gap), 0, rows * columns - count)
    cells = xp.moveaxis(cells.reshape(rows, columns, height + gap, width + gap, *channels), 2, 1)
    whole = cells.reshape(rows * (height + gap), columns * (width + gap), *channels)
    return whole[: whole.shape[0] - gap, : whole.shape[1] - gap]


def _count(scenes: Scene) -> int:
    """Return the length of the leading axis of every array."""
    leaves = jax.tree_util.tree_leaves_with_path(scenes)
    shapes = {jax.tree_util.keystr(path).removeprefix("."): np.shape(leaf) for path, leaf in leaves}
    first, *_ = shapes
    for name, shape in shapes.items():
        if not shape or shape[:1] != shapes[first][:1]:
            raise ValueError(
                "every array of a batch of scenes has the same leading axis, as jax.vmap(env.scene)(states) gives; got "
                f"{first} of shape {list(shapes[first])} and {name} of shape {list(shape)}"
            )
    return require_size("the number of scenes", shapes[first][0])

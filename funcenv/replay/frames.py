"""The frames of a replay: images as arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checks import require_size
from funcenv.replay.scene_stack import is_constant
from funcenv.scene import Scene, rasterize
from funcenv.scene.grid import grid_shape, tile_images
from funcenv.struct import NDArray

_FRAMES_PER_CALL = 16
_DEFAULT_WIDTH, _DEFAULT_TILE_WIDTH = 600, 400  # pixels: of a single episode, and of one of several
_GAP, _GAP_LEVEL = 8, 225  # pixels between tiles, and their grey level


def default_size(scenes: Sequence[Scene], height: int | None, width: int | None) -> tuple[int, int]:
    """Return the height and width of one frame; a missing side follows from the proportions of the first camera.

    >>> from funcenv.scene import Camera
    >>> default_size([Scene(Camera(np.zeros((1, 2)), np.array([6.0]), np.array([4.0])))], None, None)
    (400, 600)
    """
    camera = scenes[0].camera
    aspect = float(camera.width[0]) / float(camera.height[0])
    if width is None and height is None:
        width = _DEFAULT_WIDTH if len(scenes) == 1 else _DEFAULT_TILE_WIDTH
    if width is None:
        width = round(require_size("height", height) * aspect)
    return require_size("height", round(width / aspect) if height is None else height), require_size("width", width)


def draw_frames(scenes: Scene, steps: NDArray, height: int, width: int) -> Iterator[NDArray]:
    """Yield a frame for each of some steps of a stacked scene; constant shapes are painted once for a whole call."""
    leaves, structure = jax.tree.flatten(scenes)
    axes = tuple(None if is_constant(leaf) else 0 for leaf in leaves)
    for start in range(0, len(steps), _FRAMES_PER_CALL):
        chosen = steps[start : start + _FRAMES_PER_CALL]
        index = np.resize(chosen, _FRAMES_PER_CALL)
        some = [leaf[0] if axis is None else leaf[index] for leaf, axis in zip(leaves, axes, strict=True)]
        yield from np.asarray(_draw(jax.tree.unflatten(structure, some), axes, height, width))[: len(chosen)]


def draw_grid(
    episodes: Sequence[Scene], steps: NDArray, height: int, width: int, columns: int | None = None
) -> Iterator[NDArray]:
    """Yield frames of several episodes in a grid; an episode that has ended keeps its last state."""
    tiles = [draw_frames(scenes, np.minimum(steps, len(scenes.camera.width) - 1), height, width) for scenes in episodes]
    _, columns = grid_shape(len(episodes), columns)
    for images in zip(*tiles, strict=True):
        yield images[0] if len(images) == 1 else tile_images(np.stack(images), columns, _GAP, np.uint8(_GAP_LEVEL))


@functools.partial(jax.jit, static_argnames=("axes", "height", "width"))
def _draw(scenes: Scene, axes: tuple[int | None, ...], height: int, width: int) -> jax.Array:
    draw = functools.partial(rasterize, height=height, width=width)
    if all(axis is None for axis in axes):
        return jnp.broadcast_to(draw(scenes), (_FRAMES_PER_CALL, height, width, 3))
    in_axes: Any = jax.tree.unflatten(jax.tree.structure(scenes), axes)
    return jax.vmap(draw, in_axes=(in_axes,))(scenes)

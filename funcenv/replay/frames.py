"""The pictures of a replay, as arrays."""

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
from funcenv.scene.grid import grid_shape

Frame = np.ndarray[Any, Any]  # uint8 [height, width, 3]

_FRAMES_PER_CALL = 16
_WIDTH, _TILE_WIDTH, _GAP = 600, 400, 8
_GAP_COLOR = 225


def default_size(scenes: Sequence[Scene], height: int | None, width: int | None) -> tuple[int, int]:
    """Height and width of one picture, those left out in the proportions of the first camera.

    >>> from funcenv.scene import Camera
    >>> default_size([Scene(Camera(np.zeros((1, 2)), np.array([6.0]), np.array([4.0])))], None, None)
    (400, 600)
    """
    camera = scenes[0].camera
    aspect = float(camera.width[0]) / float(camera.height[0])
    if width is None:
        width = (_WIDTH if len(scenes) == 1 else _TILE_WIDTH) if height is None else round(height * aspect)
    return require_size("height", round(width / aspect) if height is None else height), require_size("width", width)


def pictures(scenes: Scene, steps: np.ndarray[Any, Any], height: int, width: int) -> Iterator[Frame]:
    """One picture for each of some steps of a stacked scene; what is constant is painted once for many."""
    leaves, structure = jax.tree.flatten(scenes)
    axes = tuple(None if is_constant(leaf) else 0 for leaf in leaves)
    for start in range(0, len(steps), _FRAMES_PER_CALL):
        chosen = steps[start : start + _FRAMES_PER_CALL]
        index = np.resize(chosen, _FRAMES_PER_CALL) if len(chosen) < _FRAMES_PER_CALL else chosen
        few = [leaf[0] if axis is None else leaf[index] for leaf, axis in zip(leaves, axes, strict=True)]
        yield from np.asarray(_pictures(jax.tree.unflatten(structure, few), axes, height, width))[: len(chosen)]


def side_by_side(
    episodes: Sequence[Scene], steps: np.ndarray[Any, Any], height: int, width: int, columns: int | None = None
) -> Iterator[Frame]:
    """Pictures of several episodes at a time, in a grid; one that is over shows its last state."""
    if len(episodes) == 1:
        yield from pictures(episodes[0], steps, height, width)
        return
    rows, columns = grid_shape(len(episodes), columns)
    tiles = [pictures(scenes, np.minimum(steps, len(scenes.camera.width) - 1), height, width) for scenes in episodes]
    for together in zip(*tiles, strict=True):
        whole = np.full((rows * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP, 3), _GAP_COLOR, np.uint8)
        for i, tile in enumerate(together):
            top, left = i // columns * (height + _GAP), i % columns * (width + _GAP)
            whole[top : top + height, left : left + width] = tile
        yield whole


@functools.partial(jax.jit, static_argnames=("axes", "height", "width"))
def _pictures(scenes: Scene, axes: tuple[int | None, ...], height: int, width: int) -> jax.Array:
    in_axes = jax.tree.unflatten(jax.tree.structure(scenes), axes)
    draw = functools.partial(rasterize, height=height, width=width)
    if all(axis is None for axis in axes):
        return jnp.broadcast_to(draw(scenes), (_FRAMES_PER_CALL, height, width, 3))
    return jax.vmap(draw, in_axes=(in_axes,))(scenes)

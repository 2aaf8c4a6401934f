"""The scenes of an episode as one scene whose arrays have a leading axis of steps, and its frames.

An array that never changes is stored once: it is a read-only view with a stride of 0 along the steps, which has the
shape of any other array and takes no space.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.kept_jit import KeptJit
from funcenv.checks import require_size
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.scene import Scene, rasterize, require_same_structure
from funcenv.scene._fields import canonical
from funcenv.scene.grid import grid_shape
from funcenv.struct import NDArray

_SHORT_CALL, _LONG_CALL = 16, 128  # states drawn by one call; two sizes, so that at most two programs are compiled
_FRAMES_PER_CALL = 16
_DEFAULT_WIDTH, _DEFAULT_TILE_WIDTH = 600, 400  # pixels: of a single episode, and of one of several
_GAP, _GAP_LEVEL = 8, 225  # pixels between tiles, and their grey level


def can_draw(env: AnyEnv) -> bool:
    """Return whether an environment defines `scene`; nothing is computed.

    >>> import funcenv
    >>> class Blind(funcenv.envs.CartPole):
    ...     scene = funcenv.FuncEnv.scene
    >>> can_draw(Blind())
    False
    """
    return type(env.unwrapped).scene is not FuncEnv.scene


def draw_states(env: AnyEnv, states: Any) -> Scene:
    """Return the stacked scenes of states whose arrays have a leading axis.

    Raises:
        NotImplementedError: the environment defines no scene.
    """
    count = len(jax.tree.leaves(states)[0])
    size = _SHORT_CALL if count <= _SHORT_CALL else _LONG_CALL
    parts = []
    for start in range(0, count, size):
        index = np.minimum(np.arange(start, start + size), count - 1)
        drawn = _draw(env, jax.tree.map(lambda leaf, index=index: jnp.asarray(leaf)[index], states))
        kept = min(size, count - start)
        parts.append(jax.tree.map(lambda leaf, kept=kept: _compact(leaf[:kept]), jax.device_get(drawn)))
    return jax.tree.map(lambda *leaves: _compact(np.concatenate(leaves)), *parts)


def stack_scenes(scenes: Sequence[Scene]) -> Scene:
    """Return a sequence of scenes as one stacked scene.

    Raises:
        ValueError: the sequence is empty, or a scene has other shapes than the first.
    """
    if not scenes:
        raise ValueError("a replay needs at least one scene, got none")
    for step, scene in enumerate(scenes[1:], 1):
        require_same_structure(scenes[0], scene, f"after step {step}")
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(list(scenes)))
    return jax.tree.map(_compact, canonical(stacked, np))


def is_constant(leaf: NDArray) -> bool:
    """Return whether an array of a stacked scene is stored once for all steps.

    >>> is_constant(np.broadcast_to(np.ones(2), (5, 2))), is_constant(np.ones((5, 2)))
    (True, False)
    """
    return leaf.shape[0] == 1 or leaf.strides[0] == 0


def take_steps(scenes: Scene, index: Any) -> Scene:
    """Return some steps of a stacked scene; an integer gives a single scene."""
    return jax.tree.map(lambda leaf: _view(leaf[0], leaf[index].shape) if is_constant(leaf) else leaf[index], scenes)


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
        yield from np.asarray(_rasterize(jax.tree.unflatten(structure, some), axes, height, width))[: len(chosen)]


def draw_grid(
    scenes: Sequence[Scene], steps: NDArray, height: int, width: int, columns: int | None
) -> Iterator[NDArray]:
    """Yield frames of several episodes in a grid; an episode that has ended keeps its last state."""
    tiles = [draw_frames(one, np.minimum(steps, len(one.camera.width) - 1), height, width) for one in scenes]
    if len(tiles) == 1:
        yield from tiles[0]
        return
    rows, columns = grid_shape(len(scenes), columns)
    down, across = height + _GAP, width + _GAP
    empty = np.full((rows * down - _GAP, columns * across - _GAP, 3), _GAP_LEVEL, np.uint8)
    for images in zip(*tiles, strict=True):
        frame = empty.copy()
        for i, image in enumerate(images):
            top, left = i // columns * down, i % columns * across
            frame[top : top + height, left : left + width] = image
        yield frame


@KeptJit
def _draw(env: AnyEnv, states: Any) -> Scene:
    return jax.vmap(lambda state: env.scene(state).canonical())(states)


def _compact(leaf: Any) -> NDArray:
    leaf = np.asarray(leaf)
    return _view(leaf[0], leaf.shape) if (leaf == leaf[:1]).all() else leaf


def _view(row: Any, shape: tuple[int, ...]) -> NDArray:
    """Return a copy of one row, repeated without taking space."""
    return np.broadcast_to(np.array(row), shape)


@functools.partial(KeptJit, static_argnames=["axes", "height", "width"])
def _rasterize(scenes: Scene, axes: tuple[int | None, ...], height: int, width: int) -> jax.Array:
    draw = functools.partial(rasterize, height=height, width=width)
    in_axes: Any = jax.tree.unflatten(jax.tree.structure(scenes), axes)
    return jax.vmap(draw, in_axes=(in_axes,), axis_size=_FRAMES_PER_CALL)(scenes)

"""Frames of states, and where colours are in them."""

from typing import Any

import jax
import numpy as np

from funcenv.scene import rasterize
from funcenv.struct import NDArray

Array = NDArray

_draw = jax.jit(
    lambda env, state, height, width: rasterize(env.scene(state), height, width), static_argnames=("height", "width")
)
_camera = jax.jit(lambda env, state: env.scene(state).canonical().camera)


def draw_frames(env: Any, states: Any, height: int = 60, width: int = 90) -> Array:
    """Return frames `[n, height, width, 3]` of states with a leading axis."""
    states = jax.device_get(states)
    count = len(jax.tree.leaves(states)[0])
    return np.stack([_draw(env, member(states, i), height=height, width=width) for i in range(count)])


def pixel_grid(env: Any, state: Any, height: int, width: int) -> tuple[Array, Array, float]:
    """Return the x of each column, the y of each row, and the size of a pixel, in world coordinates."""
    camera = jax.device_get(_camera(env, state))
    size = max(camera.width / width, camera.height / height)
    x = camera.center[0] + (np.arange(width) - (width - 1) / 2) * size
    y = camera.center[1] - (np.arange(height) - (height - 1) / 2) * size
    return x, y, float(size)


def find_color(frames: Array, color: Array, tolerance: int = 3) -> Array:
    """Return which pixels have a colour, `[..., height, width]`."""
    wanted = np.round(np.asarray(color)[:3] * 255)
    return (np.abs(frames.astype(int) - wanted) <= tolerance).all(-1)


def center_of(pixels: Array, env: Any, state: Any) -> tuple[float, float]:
    """Return the mean world coordinates of some pixels `[height, width]` of a frame of `state`."""
    x, y, _ = pixel_grid(env, state, *pixels.shape)
    rows, columns = np.nonzero(pixels)
    assert len(rows), "the colour is nowhere"
    return float(x[columns].mean()), float(y[rows].mean())


def member(tree: Any, index: int) -> Any:
    """Return one element of a pytree whose leaves have a leading axis."""
    return jax.tree.map(lambda leaf: leaf[index], tree)

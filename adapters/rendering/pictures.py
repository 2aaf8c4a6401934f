"""Pictures of states: one compiled program for each class of environment, kind of state and size.

Parameters are arguments of the program, so environments that differ in them share it.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np
from jaxtyping import UInt8

from funcenv.checks import require_size
from funcenv.func_env import FuncEnv
from funcenv.scene import rasterize

LONGER_SIDE = 600  # of a picture, where no size is asked for

Picture = UInt8[np.ndarray, "height width 3"]
Pictures = UInt8[np.ndarray, "num_envs height width 3"]


def require_sizes(height: int | None, width: int | None) -> tuple[int | None, int | None]:
    """Both as integers of at least 1, or None.

    Raises:
        TypeError: something else.
        ValueError: below 1.
    """
    return (
        None if height is None else require_size("render_height", height),
        None if width is None else require_size("render_width", width),
    )


def fitted(aspect: float, height: int | None, width: int | None, longer_side: int = LONGER_SIDE) -> tuple[int, int]:
    """Height and width of a picture, what is left out in these proportions.

    Args:
        aspect: width over height.
        height: rows, or None.
        width: columns, or None.
        longer_side: the longer one, where both are left out. What follows from it, or from the other side, is even, as
            video formats want it.

    >>> fitted(1.5, None, None), fitted(0.5, None, None), fitted(1.5, 100, None), fitted(1.5, 90, 90)
    ((400, 600), (600, 300), (100, 150), (90, 90))
    """
    if height is None and width is None:
        height, width = (None, longer_side) if aspect >= 1 else (longer_side, None)
    if width is None:
        assert height is not None  # for the type checker
        return height, _even(height * aspect)
    return _even(width / aspect) if height is None else height, width


def aspect(func_env: FuncEnv[Any, Any, Any], env_state: Any) -> float:
    """Width of what the camera of a scene sees, over its height."""
    width, height = jax.device_get(_camera(func_env, env_state))
    return float(width) / float(height)


def picture(func_env: FuncEnv[Any, Any, Any], env_state: Any, height: int, width: int) -> Picture:
    """A state, drawn; a fresh array, which may be written to."""
    return np.array(_draw(func_env, env_state, height, width))


def pictures(func_envs: FuncEnv[Any, Any, Any], env_states: Any, height: int, width: int) -> Pictures:
    """The states of a batch of environments, drawn one after another in one call.

    Args:
        func_envs: a batch, every parameter of which has a leading axis `[num_envs]`.
        env_states: `[num_envs]` states.
        height: rows of each picture.
        width: columns of each picture.
    """
    return np.array(_draw_all(func_envs, env_states, height, width))


def mosaic_picture(
    func_envs: FuncEnv[Any, Any, Any], env_states: Any, height: int, width: int, columns: int | None
) -> Picture:
    """The states of a batch of environments, side by side in one picture of this size."""
    return np.array(_draw_mosaic(func_envs, env_states, height, width, columns))


def _even(length: float) -> int:
    return max(2, 2 * math.floor(length / 2 + 0.5))


@jax.jit
def _camera(func_env: FuncEnv[Any, Any, Any], env_state: Any) -> tuple[Any, Any]:
    camera = func_env.scene(env_state).camera
    return camera.width, camera.height


@functools.partial(jax.jit, static_argnames=("height", "width"))
def _draw(func_env: FuncEnv[Any, Any, Any], env_state: Any, height: int, width: int) -> jax.Array:
    return rasterize(func_env.scene(env_state), height, width)


@functools.partial(jax.jit, static_argnames=("height", "width"))
def _draw_all(func_envs: FuncEnv[Any, Any, Any], env_states: Any, height: int, width: int) -> jax.Array:
    # One after another: what a picture needs beyond its own pixels is needed once.
    drawn: jax.Array = jax.lax.map(lambda each: _draw(*each, height, width), (func_envs, env_states))
    return drawn


@functools.partial(jax.jit, static_argnames=("height", "width", "columns"))
def _draw_mosaic(
    func_envs: FuncEnv[Any, Any, Any], env_states: Any, height: int, width: int, columns: int | None
) -> jax.Array:
    from funcenv.scene import mosaic

    scenes = jax.vmap(lambda func_env, env_state: func_env.scene(env_state))(func_envs, env_states)
    return mosaic(scenes, height, width, columns=columns)

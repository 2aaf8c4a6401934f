"""Frames: images of environment states, drawn by compiled programs.

One program is compiled for each environment class, state structure and frame size. Environment parameters are arguments
of the program, so environments that differ only in their parameters share it.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import UInt8

from funcenv.checks import require_size
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.scene import rasterize
from funcenv.scene.grid import mosaic
from funcenv.transfers import transferred

Frame = UInt8[np.ndarray, "height width 3"]
Frames = UInt8[np.ndarray, "num_envs height width 3"]


def require_frame_size(height: int | None, width: int | None) -> tuple[int | None, int | None]:
    """Return a requested frame size with each side as an `int`, or None where the scene decides.

    Raises:
        TypeError: A side is not an integer.
        ValueError: A side is below 1.
    """
    return (
        None if height is None else require_size("render_height", height),
        None if width is None else require_size("render_width", width),
    )


def scene_aspect(func_env: AnyEnv, env_state: Any) -> float:
    """Return the width of a scene's camera view, or of a library's image, divided by its height."""
    if func_env.unwrapped.draws_images and func_env.image_size is not None:
        height, width = func_env.image_size
        return width / height
    width, height = jax.device_get(_camera_size(*transferred((func_env, env_state))))
    return float(width) / float(height)


def draw_frame(func_env: AnyEnv, env_state: Any, size: tuple[int, int]) -> Frame:
    """Draw a state as a new array of `size` (height, width), by the library of the environment if it has one."""
    image = func_env.host_image(env_state, size)
    return draw_scene(func_env, env_state, size) if image is None else image


def draw_scene(func_env: AnyEnv, env_state: Any, size: tuple[int, int]) -> Frame:
    """Draw the scene of a state as a new array of `size` (height, width)."""
    return np.array(_draw(*transferred((func_env, env_state)), size))


def draw_frames(func_envs: AnyEnv, env_states: Any, size: tuple[int, int]) -> Frames:
    """Draw the states of a batch of environments in one call.

    Args:
        func_envs: Batch of environments; every parameter has a leading axis `[num_envs]`.
        env_states: Batch of states; every array has the same leading axis.
        size: Height and width of each frame.
    """
    if type(func_envs.unwrapped).host_image is not FuncEnv.host_image:
        envs, states = jax.device_get((func_envs, env_states))
        rows = range(len(jax.tree.leaves(states)[0]))
        return np.stack([draw_frame(row_of(envs, i), row_of(states, i), size) for i in rows])
    return np.array(_draw_batch(*transferred((func_envs, env_states)), size))


def draw_mosaic(func_envs: AnyEnv, env_states: Any, size: tuple[int, int], columns: int | None) -> Frame:
    """Draw the states of a batch of environments as a grid in one frame of `size` (height, width)."""
    return np.array(_draw_mosaic(func_envs, env_states, size, columns))


def row_of(batch: Any, i: int) -> Any:
    """Return one row of a batch of pytrees."""
    return jax.tree.map(lambda leaf: leaf[i], batch)


@jax.jit
def _camera_size(func_env: AnyEnv, env_state: Any) -> tuple[Any, Any]:
    camera = func_env.scene(env_state).camera
    return camera.width, camera.height


@functools.partial(jax.jit, static_argnames="size")
def _draw(func_env: AnyEnv, env_state: Any, size: tuple[int, int]) -> jax.Array:
    return rasterize(func_env.scene(env_state), *size)


@functools.partial(jax.jit, static_argnames="size")
def _draw_batch(func_envs: AnyEnv, env_states: Any, size: tuple[int, int]) -> jax.Array:
    # One environment after another, so that only one needs the rasterizer's temporary memory at a time.
    frames: jax.Array = jax.lax.map(lambda pair: _draw(*pair, size), (func_envs, env_states))
    return frames


@functools.partial(jax.jit, static_argnames=("size", "columns"))
def _draw_mosaic(func_envs: AnyEnv, env_states: Any, size: tuple[int, int], columns: int | None) -> jax.Array:
    scenes = jax.vmap(lambda func_env, env_state: func_env.scene(env_state))(func_envs, env_states)
    return mosaic(scenes, *size, columns=columns)

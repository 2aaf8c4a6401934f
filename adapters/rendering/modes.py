"""The render modes that an environment supports."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.rendering.display import require_display, require_pygame
from funcenv.func_env import AnyEnv, FuncEnv

LIST_SUFFIX = "_list"  # of modes that collect frames
RGB_MODES = ("rgb_array", "rgb_array_list")
ALL_MODES = ("human", "rgb_array", "ansi", "rgb_array_list", "ansi_list")
DEPTH_MODES = ("depth_array", "rgbd_tuple", "depth_array_list", "rgbd_tuple_list")


def render_modes(func_env: type[AnyEnv] | AnyEnv) -> list[str]:
    """Return the render modes of an environment or environment class: all if it defines `scene`, text if only `text`.

    An environment whose images another library draws has `rgb_array` and `rgb_array_list`. The modes with depth are
    those of MuJoCo's environments where MuJoCo draws.

        human           a window, updated by `reset` and `step`
        rgb_array       a frame, uint8 [height, width, 3]
        ansi            a string for a terminal
        rgb_array_list  a list of the frames since the last `render` or `reset`
        ansi_list       a list of the strings since the last `render` or `reset`
        depth_array     the depth of each pixel, float32 [height, width]
        rgbd_tuple      a frame and its depth; the modes depth_array_list and rgbd_tuple_list collect these

    >>> from funcenv.envs import CartPole
    >>> render_modes(CartPole)
    ['human', 'rgb_array', 'ansi', 'rgb_array_list', 'ansi_list']
    """
    env_class = func_env if isinstance(func_env, type) else type(func_env.unwrapped)
    if env_class.scene is not FuncEnv.scene:
        has_depth = not isinstance(func_env, type) and func_env.draws_depth
        return [*ALL_MODES, *(DEPTH_MODES if has_depth else ())]
    modes = ["ansi", "ansi_list"] if has_text(env_class) else []
    return [*RGB_MODES, *modes] if not isinstance(func_env, type) and func_env.unwrapped.draws_images else modes


def has_text(env_class: type[AnyEnv]) -> bool:
    """Check whether a class defines `text`; otherwise a terminal shows its frames as characters."""
    return env_class.text is not FuncEnv.text


def metadata(func_env: AnyEnv, modes: list[str]) -> dict[str, Any]:
    """Return the `metadata` of a stateful environment, with a frame rate if it has render modes.

    >>> from funcenv.envs import CartPole
    >>> metadata(CartPole(), ["rgb_array"])
    {'render_modes': ['rgb_array'], 'jax': False, 'render_fps': 50}
    """
    # In a batch of environments the slowest determines the frame rate.
    frame_rate = {"render_fps": np.min(np.asarray(func_env.render_fps)).item()} if modes else {}
    return {"render_modes": modes, "jax": False, **frame_rate}


def require_rgb_mode(name: str, env: Any, modes: tuple[str, ...] = RGB_MODES) -> None:
    """Raise `ValueError` unless an environment, or a vector, has a render mode of images; the wrapper `name` needs it.

    >>> from funcenv import adapters
    >>> require_rgb_mode("RecordVideo", adapters.make("CartPole-v1"))
    Traceback (most recent call last):
        ...
    ValueError: RecordVideo needs an environment whose render_mode is one of rgb_array, rgb_array_list, got None; make
        it with render_mode="rgb_array"
    """
    if env.render_mode not in modes:
        wanted = modes[0] if len(modes) == 1 else f"one of {', '.join(modes)}"
        raise ValueError(
            f"{name} needs an environment whose render_mode is {wanted}, got {env.render_mode!r}; "
            'make it with render_mode="rgb_array"'
        )


def add_render_mode(metadata: dict[str, Any], mode: str) -> dict[str, Any]:
    """Return a copy of an environment's `metadata` with another render mode."""
    modes = metadata.get("render_modes", [])
    return {**metadata, "render_modes": [*modes, *({mode} - set(modes))]}


def require_mode(mode: str | None, modes: list[str], func_env: AnyEnv, on_display: bool = True) -> None:
    """Raise an error unless `mode` is None or one of `modes`, and works on this machine.

    Args:
        mode: Render mode to check.
        modes: Render modes of the environment.
        func_env: The environment.
        on_display: Whether the mode "human" needs a display.

    Raises:
        ValueError: The environment does not have the mode.
        RuntimeError: The mode is "human" and there is no display.
        ModuleNotFoundError: The mode is "human" and pygame is not installed.

    >>> from funcenv.envs import CartPole
    >>> require_mode("rgb", ["rgb_array"], CartPole())
    Traceback (most recent call last):
        ...
    ValueError: render_mode must be one of [None, 'rgb_array'], got 'rgb'
    """
    if mode is not None and not (isinstance(mode, str) and mode in modes):
        remedy = "" if modes else f"; {func_env.unwrapped.why_undrawn}"
        if isinstance(mode, str) and mode in DEPTH_MODES:
            remedy = "; MuJoCo draws depth where MUJOCO_GL is set, to egl or osmesa, before Python starts"
        raise ValueError(f"render_mode must be one of {[None, *modes]}, got {mode!r}{remedy}")
    if mode == "human":
        (require_display if on_display else require_pygame)()

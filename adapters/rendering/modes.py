"""Which ways of drawing an environment has."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.rendering.display import require_display
from funcenv.func_env import FuncEnv

LIST = "_list"  # ends the modes whose frames are collected
ALL_MODES = ("human", "rgb_array", "ansi", "rgb_array_list", "ansi_list")


def render_modes(func_env: type[FuncEnv[Any, Any, Any]] | FuncEnv[Any, Any, Any]) -> list[str]:
    """The modes of an environment, or of a class of them: what it defines, `scene` or `text`, decides.

        human           a window, which `reset` and `step` keep up to date
        rgb_array       a picture, uint8 [height, width, 3]
        ansi            a string for a terminal
        rgb_array_list  the pictures since the last `render` or `reset`
        ansi_list       the same, of strings

    >>> from funcenv.envs import CartPole
    >>> render_modes(CartPole)
    ['human', 'rgb_array', 'ansi', 'rgb_array_list', 'ansi_list']
    """
    kind = func_env if isinstance(func_env, type) else type(func_env.unwrapped)
    if kind.scene is not FuncEnv.scene:
        return list(ALL_MODES)
    return ["ansi", "ansi_list"] if has_text(kind) else []


def has_text(kind: type[FuncEnv[Any, Any, Any]]) -> bool:
    """Whether environments of a class have a text of their own, or show their picture in a terminal."""
    return kind.text is not FuncEnv.text


def metadata(func_env: FuncEnv[Any, Any, Any], modes: list[str]) -> dict[str, Any]:
    """What a stateful environment says of itself: its modes, and where there are any, its frames per second.

    >>> from funcenv.envs import CartPole
    >>> metadata(CartPole(), ["rgb_array"])
    {'render_modes': ['rgb_array'], 'jax': False, 'render_fps': 50}
    """
    slowest = {"render_fps": np.min(np.asarray(func_env.render_fps)).item()} if modes else {}
    return {"render_modes": modes, "jax": False, **slowest}


def require_mode(mode: str | None, modes: list[str], func_env: FuncEnv[Any, Any, Any]) -> None:
    """Raise unless an environment with these modes can be drawn in one of them, here and now.

    Raises:
        ValueError: it has no such mode.
        RuntimeError: a window is asked for and there is no display.
        ModuleNotFoundError: a window is asked for and pygame is not installed.

    >>> from funcenv.envs import CartPole
    >>> require_mode("rgb", ["rgb_array"], CartPole())
    Traceback (most recent call last):
        ...
    ValueError: render_mode must be one of [None, 'rgb_array'], got 'rgb'
    """
    if mode is not None and mode not in modes:
        remedy = "" if modes else f"; {type(func_env.unwrapped).__name__} draws nothing until it defines scene(state)"
        raise ValueError(f"render_mode must be one of {[None, *modes]}, got {mode!r}{remedy}")
    if mode == "human":
        require_display()

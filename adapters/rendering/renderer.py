"""Draws one stateful environment in any mode, and has its window."""

from __future__ import annotations

import shutil
from typing import Any, NamedTuple

import jax

from funcenv.adapters.rendering.modes import has_text
from funcenv.adapters.rendering.pictures import Picture, aspect, fitted, picture
from funcenv.adapters.rendering.terminal import half_blocks, picture_size_in_terminal
from funcenv.adapters.rendering.window import Window
from funcenv.func_env import FuncEnv


class Moment(NamedTuple):
    """What there is to draw."""

    func_env: FuncEnv[Any, Any, Any]
    env_state: Any  # of numpy arrays
    action: Any  # the one that led here; None after a reset


class Renderer:
    """Draws one environment.

    All its pictures have one size, that of the first.

    Args:
        caption: of its window.
        fps: of its window.
        height: rows of a picture; None: as the proportions of the scene want it, with 600 pixels on the longer side.
        width: columns of a picture; likewise.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> state, _ = env.reset(funcenv.key(0))
    >>> Renderer("a pole", fps=50, height=90).draw("rgb_array", Moment(env, state, None)).shape[0]
    90
    """

    def __init__(self, caption: str, fps: float, height: int | None = None, width: int | None = None) -> None:
        self._caption, self._fps = caption, fps
        self._height, self._width = height, width
        self._size: tuple[int, int] | None = None
        self._window: Window | None = None

    def draw(self, mode: str, moment: Moment) -> Any:
        """A picture, a string, or None after showing the window."""
        if mode == "rgb_array":
            return self._picture(moment)
        if mode == "ansi":
            return self._text(moment)
        return self.show(moment)

    def show(self, moment: Moment) -> None:
        """Show the picture in the window; nothing, once the user has closed it."""
        if self._window is None:
            self._window = Window(self._caption, self._fps)
        if not self._window.was_closed:
            self._window.show(self._picture(moment))

    def refresh(self) -> None:
        """Hear what happened to the window, without drawing."""
        if self._window is not None:
            self._window.events()

    def close(self) -> None:
        """Close the window; calling it again does nothing."""
        if self._window is not None:
            self._window.close()

    def _picture(self, moment: Moment) -> Picture:
        return picture(moment.func_env, moment.env_state, *self._measured(moment))

    def _text(self, moment: Moment) -> str:
        if has_text(type(moment.func_env.unwrapped)):
            func_env = jax.device_get(moment.func_env)
            return str(func_env.text(moment.env_state, moment.action))
        height, width = self._measured(moment)
        size = picture_size_in_terminal(width / height, *shutil.get_terminal_size())
        return half_blocks(picture(moment.func_env, moment.env_state, *size))

    def _measured(self, moment: Moment) -> tuple[int, int]:
        if self._size is None:
            if self._height is None or self._width is None:
                proportion = aspect(moment.func_env, moment.env_state)
                self._size = fitted(proportion, self._height, self._width)
            else:
                self._size = self._height, self._width
        return self._size

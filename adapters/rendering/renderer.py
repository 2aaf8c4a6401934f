"""A renderer of one stateful environment, in every render mode."""

from __future__ import annotations

import shutil
from typing import Any, NamedTuple

import jax

from funcenv.adapters.rendering.frames import draw_frame, draw_scene, scene_aspect
from funcenv.adapters.rendering.modes import has_text
from funcenv.adapters.rendering.terminal import frame_size_in_terminal, half_blocks
from funcenv.adapters.rendering.window import Window
from funcenv.func_env import AnyEnv
from funcenv.scene.size import frame_size


class RenderInput(NamedTuple):
    """A state to render, with its environment and the action that led to it."""

    func_env: AnyEnv
    env_state: Any  # NumPy arrays
    action: Any  # None after a reset


class Renderer:
    """A renderer of one environment, with its window. The first frame determines the size of all frames.

    Args:
        caption: Title of the window.
        fps: Maximum frames per second in the window.
        height: Rows of a frame. If both sides are None, the longer one has 600 pixels.
        width: Columns of a frame. A side that is None follows from the aspect ratio of the scene.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> state, _ = env.reset(funcenv.key(0))
    >>> Renderer("a pole", fps=50, height=90).draw("rgb_array", RenderInput(env, state, None)).shape[0]
    90
    """

    def __init__(self, caption: str, fps: float, height: int | None = None, width: int | None = None) -> None:
        self._caption, self._fps = caption, fps
        self._requested_size = height, width
        self._size: tuple[int, int] | None = None
        self._window: Window | None = None

    def draw(self, mode: str, what: RenderInput) -> Any:
        """Return a frame for mode "rgb_array" and a string for "ansi"; for "human", show the window and return None."""
        if mode == "ansi":
            return self._draw_text(what)
        return self._draw_frame(what) if mode == "rgb_array" else self.show(what)

    def show(self, what: RenderInput) -> None:
        """Show a frame in the window, unless the user has closed it."""
        if self._window is None:
            self._window = Window(self._caption, self._fps)
        if not self._window.was_closed:
            self._window.show(self._draw_frame(what))

    def refresh(self) -> None:
        """Process the window's events without drawing."""
        if self._window is not None:
            self._window.events()

    def close(self) -> None:
        """Close the window, which the next `show` opens again; a second call does nothing."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _draw_frame(self, what: RenderInput) -> Any:
        return draw_frame(what.func_env, what.env_state, self._frame_size(what))

    def _draw_text(self, what: RenderInput) -> str:
        if has_text(type(what.func_env.unwrapped)):
            func_env = jax.device_get(what.func_env)
            return str(func_env.text(what.env_state, what.action))
        height, width = self._frame_size(what)
        size = frame_size_in_terminal(width / height, *shutil.get_terminal_size())
        return half_blocks(draw_scene(what.func_env, what.env_state, size))

    def _frame_size(self, what: RenderInput) -> tuple[int, int]:
        if self._size is None:
            aspect, (height, width) = 1.0, self._requested_size
            if height is None and width is None and what.func_env.image_size is not None:
                height, width = what.func_env.image_size
            if height is None or width is None:
                aspect = scene_aspect(what.func_env, what.env_state)
            self._size = frame_size(aspect, height, width)
        return self._size

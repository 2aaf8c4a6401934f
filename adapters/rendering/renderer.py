"""A renderer of one stateful environment, in every render mode."""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from funcenv.adapters.rendering.frames import draw_frame, draw_scene, scene_aspect
from funcenv.adapters.rendering.modes import LIST_SUFFIX, has_text
from funcenv.adapters.rendering.terminal import frame_size_in_terminal, half_blocks
from funcenv.adapters.rendering.window import Window
from funcenv.func_env import AnyEnv
from funcenv.scene.size import frame_size
from funcenv.struct import NDArray


class RenderInput(NamedTuple):
    """A state to render, with its environment and the action that led to it."""

    func_env: AnyEnv
    env_state: Any  # NumPy arrays
    action: Any  # None after a reset


@dataclasses.dataclass(frozen=True)
class PendingFrame:
    """A state to render that is read when it is drawn, so that a frame that nobody asks for costs nothing."""

    func_env: AnyEnv
    read: Callable[[Any], Any]  # returns the state of a packed result
    packed: Any
    action: Any

    def __call__(self) -> RenderInput:
        """Read the state."""
        return RenderInput(self.func_env, self.read(np.array(self.packed)), self.action)


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
        self.window: Window | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"window": None}

    def draw(self, mode: str, what: RenderInput) -> Any:
        """Return what a mode without a list names: a frame, its depth, both, or a string.

        For "human", show the window and return None.
        """
        match mode:
            case "rgb_array":
                return self._draw_frame(what)
            case "depth_array":
                return self._draw_rgbd(what)[1]
            case "rgbd_tuple":
                return self._draw_rgbd(what)
            case "ansi":
                return self._draw_text(what)
        return self.show(what)

    def show(self, what: RenderInput) -> None:
        """Show a frame in the window, unless the user has closed it."""
        if self.window is None:
            self.window = Window(self._caption, self._fps)
        if not self.window.was_closed:
            self.window.show(self._draw_frame(what))

    def refresh(self) -> None:
        """Process the window's events without drawing."""
        if self.window is not None:
            self.window.events()

    def close(self) -> None:
        """Close the window, which the next `show` opens again; a second call does nothing."""
        if self.window is not None:
            self.window.close()
            self.window = None

    def _draw_frame(self, what: RenderInput) -> Any:
        return draw_frame(what.func_env, what.env_state, self._frame_size(what))

    def _draw_rgbd(self, what: RenderInput) -> tuple[NDArray, NDArray]:
        return what.func_env.host_rgbd(what.env_state, self._frame_size(what))

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


class CallRenderer:
    """A renderer of the calls of one stateful environment.

    Args:
        mode: Render mode of the environment, or None, which decides what is done at every call.
        caption: Title of the window.
        fps: Maximum frames per second in the window.
        size: Rows and columns of a frame; None where they follow from the scene.

    Attributes:
        renders_each_call: True if every call is shown or collected.
    """

    def __init__(self, mode: str | None, caption: str, fps: float, size: tuple[int | None, int | None]) -> None:
        self.renders_each_call = mode == "human" or (mode or "").endswith(LIST_SUFFIX)
        self._shows_each_call, self._renderer = mode == "human", Renderer(caption, fps, *size)
        self._collected: list[Callable[[], RenderInput]] = []  # since the last `render` or `forget_frames`
        self._shown: Any = None  # packed result that the window shows

    @property
    def window(self) -> Window | None:
        """The window, or None if none is open."""
        return self._renderer.window

    def render(self, mode: str, present: PendingFrame) -> Any:
        """Return an image, a string or a list of these, as a mode wants it; None if that is "human"."""
        if mode == "human":
            self._show(present)
            return None
        single = mode.removesuffix(LIST_SUFFIX)
        if single == mode:
            return self._renderer.draw(single, present())
        frames, self._collected = self._collected, []
        return [self._renderer.draw(single, frame()) for frame in frames]

    def render_call(self, frame: PendingFrame) -> None:
        """Show or collect the frame of a call."""
        if self._shows_each_call:
            self._show(frame)
        else:
            self._collected.append(frame)

    def forget_frames(self) -> None:
        """Drop the collected frames, as a new episode does."""
        self._collected.clear()

    def close(self) -> None:
        """Close the window, which the next frame opens again; a second call does nothing."""
        self._renderer.close()

    def _show(self, frame: PendingFrame) -> None:
        if self._shown is frame.packed:
            self._renderer.refresh()
            return
        self._renderer.show(frame())
        self._shown = frame.packed

    def __getstate__(self) -> dict[str, Any]:
        collected = [functools.partial(RenderInput, *frame()) for frame in self._collected]
        return vars(self) | {"_collected": collected, "_shown": None}

"""Rendering of a vector environment: images, text and windows of the states of all environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from funcenv.adapters.rendering.frames import Frame, draw_frames, draw_mosaic, row_of, scene_aspect
from funcenv.adapters.rendering.modes import LIST_SUFFIX
from funcenv.adapters.rendering.renderer import Renderer, RenderInput
from funcenv.adapters.rendering.window import Window
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.scene.grid import grid_shape
from funcenv.scene.size import frame_size
from funcenv.struct import NDArray

MOSAIC_SIDE_PIXELS = 900  # the longer side of a mosaic, by default


class PresentFrame(NamedTuple):
    """The content of the frames of a batch that are not drawn yet."""

    func_envs: Any
    env_state: Any
    episode_length: Any
    last_actions: Any
    moved: NDArray  # [num_envs]: the environments that the call stepped or reset


class BatchRenderer:
    """A renderer of a vector environment, in every render mode. The first frame determines the aspect ratio.

    Args:
        mode: Render mode, or None.
        num_envs: Number of environments.
        caption: Title of the window.
        fps: Maximum frames per second in the window.
        size: Rows and columns of the image of one environment; None where they follow from the scene.

    Attributes:
        renders_each_call: Whether every call is shown or collected.
    """

    def __init__(
        self, mode: str | None, num_envs: int, caption: str, fps: float, size: tuple[int | None, int | None]
    ) -> None:
        self.renders_each_call = mode == "human" or (mode or "").endswith(LIST_SUFFIX)
        self._mode, self._num_envs, self._caption, self._fps, self._size = mode, num_envs, caption, fps, size
        self.window: Window | None = None
        self._aspect: float | None = None
        self._frame_size: tuple[int, int] | None = None
        self._collected: list[PresentFrame] = []
        self._first_of = np.zeros(num_envs, int)  # the first collected frame of each environment's episode

    def render(self, present: Callable[[], PresentFrame]) -> Any:
        """Return for each environment what the mode names, or a list of these; None if the mode is "human"."""
        mode = self._mode or ""
        if mode == "human":
            return self._show_window(present())
        return self._take_collected() if mode.endswith(LIST_SUFFIX) else self._draw(mode, present())

    def render_call(self, frame: PresentFrame, *, skips_frames: bool = False) -> None:
        """Show or collect the frame of a call.

        Args:
            frame: The states after it.
            skips_frames: Whether the states between the last frame and this one are unknown; then the list begins anew.
        """
        if self._mode == "human":
            self._show_window(frame)
            return
        if skips_frames:
            self._collected.clear()
            self._first_of[:] = 0
        self._collected.append(frame)
        self._first_of[frame.moved & (np.asarray(frame.episode_length) == 0)] = len(self._collected) - 1
        num_needless = int(self._first_of.min())
        del self._collected[:num_needless]
        self._first_of -= num_needless

    def mosaic(self, frame: PresentFrame, height: int | None, width: int | None, columns: int | None) -> Frame:
        """Return one image with a tile for each environment, uint8 `[height, width, 3]`.

        Raises:
            ValueError: The environment draws nothing.
        """
        require_drawable(frame.func_envs)
        rows, columns = grid_shape(self._num_envs, columns)
        size = frame_size(self._frame_aspect(frame) * columns / rows, height, width, MOSAIC_SIDE_PIXELS)
        return draw_mosaic(frame.func_envs, frame.env_state, size, columns)

    def close(self) -> None:
        """Close the window, which the next frame opens again; a second call does nothing."""
        if self.window is not None:
            self.window.close()
            self.window = None

    def _take_collected(self) -> tuple[list[Any], ...]:
        """Return a list of frames for each environment, of its present episode since the last call."""
        mode = (self._mode or "").removesuffix(LIST_SUFFIX)
        lists: tuple[list[Any], ...] = tuple([] for _ in range(self._num_envs))
        for number, frame in enumerate(self._collected):
            images = self._draw(mode, frame)
            for i in np.flatnonzero(frame.moved & (self._first_of <= number)):
                lists[i].append(images[i])
        self._collected.clear()
        self._first_of[:] = 0
        return lists

    def _draw(self, mode: str, frame: PresentFrame) -> tuple[Any, ...]:
        return self._frames(frame) if mode == "rgb_array" else self._one_by_one(mode, frame)

    def _frames(self, frame: PresentFrame) -> tuple[Frame, ...]:
        if self._frame_size is None:
            first = row_of(frame.func_envs, 0)
            size = first.image_size if self._size == (None, None) else None
            self._frame_size = size or frame_size(self._frame_aspect(frame), *self._size)
        return tuple(draw_frames(frame.func_envs, frame.env_state, self._frame_size))

    def _one_by_one(self, mode: str, frame: PresentFrame) -> tuple[Any, ...]:
        renderer = Renderer(self._caption, 1, *self._size)
        actions = frame.last_actions
        if actions is not None:
            actions, is_block = actions
            actions = jax.tree.map(lambda leaf: leaf[-1], actions) if is_block else actions
        # Indexing costs nothing on the host.
        batch = jax.device_get((frame.func_envs, frame.env_state, actions, frame.episode_length))
        rows = (row_of(batch, i) for i in range(self._num_envs))
        return tuple(
            renderer.draw(mode, RenderInput(func_env, env_state, action if length else None))
            for func_env, env_state, action, length in rows
        )

    def _frame_aspect(self, frame: PresentFrame) -> float:
        """Return width over height of the first environment's first frame, which all frames keep."""
        if self._aspect is None:
            self._aspect = scene_aspect(*row_of((frame.func_envs, frame.env_state), 0))
        return self._aspect

    def _show_window(self, frame: PresentFrame) -> None:
        if self.window is None:
            self.window = Window(self._caption, self._fps)
        if not self.window.was_closed:
            self.window.show(self.mosaic(frame, None, None, None))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "window": None}


def require_drawable(func_env: AnyEnv) -> None:
    """Raise `ValueError` unless an environment, or a batch of it, has scenes."""
    env_class = type(func_env.unwrapped)
    if env_class.scene is FuncEnv.scene:
        if func_env.unwrapped.draws_images:
            raise ValueError(f"a mosaic needs scenes, and {env_class.__name__} has images; call render() for these")
        raise ValueError(func_env.unwrapped.why_undrawn)

"""Rendering of a vector environment: images, text and windows of the states of all environments."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np

from funcenv.adapters.engine.lifecycle import exclusive
from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.rendering.frames import (
    Frame,
    draw_frames,
    draw_mosaic,
    require_frame_size,
    scene_aspect,
)
from funcenv.adapters.rendering.modes import LIST_SUFFIX, metadata, render_modes, require_mode
from funcenv.adapters.rendering.renderer import Renderer, RenderInput
from funcenv.adapters.rendering.window import Window, window_title
from funcenv.adapters.vector_env import VectorEnv
from funcenv.func_env import AnyEnv
from funcenv.scene.grid import grid_shape
from funcenv.scene.size import frame_size
from funcenv.struct import NDArray
from funcenv.vector import VectorState

MOSAIC_SIDE_PIXELS = 900  # the longer side of a mosaic, by default


class PresentFrame(NamedTuple):
    """The content of the frames of a batch that are not drawn yet."""

    func_envs: Any
    env_state: Any
    episode_length: Any
    last_actions: Any
    moved: NDArray  # [num_envs]: the environments that the call stepped or reset


class RenderedVectorEnv(VectorEnv[ObsType, ActType]):
    """The rendering half of `FunctionalVectorEnv`.

    Frames are drawn when they are asked for, with the parameters of each environment. A subclass defines `_present`.
    """

    func_env: AnyEnv
    _window: Window | None = None
    _renders_each_call: bool = False
    _last_actions: Any = None  # the last actions, and whether they are a block of several steps; None after a reset

    def _present(self) -> tuple[AnyEnv, VectorState[Any]]:
        """Return the environments, in which every parameter has a leading axis, and their states."""
        raise NotImplementedError(f"{type(self).__name__} must define _present()")

    @exclusive
    def render(self) -> Any:
        """Return a tuple with an image, a string or a list of these for each environment; None if the mode is "human".

        Without a mode this warns and returns None.

        Raises:
            ResetNeeded: before the first `reset`.
            ClosedEnvironment: after `close`.
        """
        if self.render_mode is None:
            warnings.warn(
                f"render() draws nothing: {self} has no render mode; say which when you make it, as in "
                'make_vec(..., render_mode="rgb_array")',
                UserWarning,
                stacklevel=3,
            )
            return None
        if self.render_mode == "human":
            return self._show_window()
        if self.render_mode.endswith(LIST_SUFFIX):
            return self._take_collected()
        return self._draw(self.render_mode, self._present_frame())

    @exclusive
    def render_mosaic(self, height: int | None = None, width: int | None = None, columns: int | None = None) -> Frame:
        """Return one image with a tile for each environment, in any render mode.

        Args:
            height: rows of the image. By default the aspect ratio is that of the grid, and the longer side has 900
                pixels, or as many as the other side requires.
            width: columns of the image, with the same default.
            columns: the number of environments in a row; by default the grid is about square.

        Returns:
            uint8 `[height, width, 3]`, a fresh array.

        Raises:
            ResetNeeded: before the first `reset`.
            ValueError: a size is below 1, or the environment draws nothing.
        """
        return self._mosaic(*require_frame_size(height, width), columns)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()
            self._window = None  # an environment that is used again opens another

    def _set_up_rendering(self, render_mode: str | None, height: int | None, width: int | None) -> None:
        modes = render_modes(self.func_env)
        require_mode(render_mode, modes, self.func_env)
        self.render_mode = render_mode
        self.metadata = metadata(self.func_env, modes)
        self._render_size = require_frame_size(height, width)
        self._renders_each_call = render_mode == "human" or (render_mode or "").endswith(LIST_SUFFIX)
        self._aspect: float | None = None
        self._collected: list[PresentFrame] = []
        self._first_of = np.zeros(self.num_envs, int)  # the first collected frame of each environment's episode

    def _render_call(self, moved: NDArray, *, skips_frames: bool = False) -> None:
        """Show or collect the frame of the present call.

        Args:
            moved: `[num_envs]`: the environments that were stepped or reset.
            skips_frames: whether the states between the last frame and this one are unknown; then the list begins anew.
        """
        if self.render_mode == "human":
            self._show_window()
            return
        frame = self._present_frame()
        if skips_frames:
            self._collected.clear()
            self._first_of[:] = 0
        self._collected.append(frame._replace(moved=moved))
        self._first_of[moved & (np.asarray(frame.episode_length) == 0)] = len(self._collected) - 1
        num_needless = int(self._first_of.min())
        del self._collected[:num_needless]
        self._first_of -= num_needless

    def _take_collected(self) -> tuple[list[Any], ...]:
        """Return a list of frames for each environment, of its present episode since the last call."""
        mode = (self.render_mode or "").removesuffix(LIST_SUFFIX)
        lists: tuple[list[Any], ...] = tuple([] for _ in range(self.num_envs))
        for number, frame in enumerate(self._collected):
            images = self._draw(mode, frame)
            for i in np.flatnonzero(frame.moved & (self._first_of <= number)):
                lists[i].append(images[i])
        self._collected.clear()
        self._first_of[:] = 0
        return lists

    def _present_frame(self) -> PresentFrame:
        func_envs, vstate = self._present()
        moved = np.ones(self.num_envs, bool)
        return PresentFrame(func_envs, vstate.env_state, vstate.episode_length, self._last_actions, moved)

    def _draw(self, mode: str, frame: PresentFrame) -> tuple[Any, ...]:
        return self._texts(frame) if mode == "ansi" else self._frames(frame)

    def _frames(self, frame: PresentFrame) -> tuple[Frame, ...]:
        size = self.func_env.image_size if self._render_size == (None, None) else None
        if size is None:
            size = frame_size(self._frame_aspect(frame.func_envs, frame.env_state), *self._render_size)
        return tuple(draw_frames(frame.func_envs, frame.env_state, size))

    def _texts(self, frame: PresentFrame) -> tuple[str, ...]:
        renderer = Renderer(str(self), 1, *self._render_size)
        actions = frame.last_actions
        if actions is not None:
            actions, is_block = actions
            actions = jax.tree.map(lambda leaf: leaf[-1], actions) if is_block else actions
        # Indexing costs nothing on the host.
        batch = jax.device_get((frame.func_envs, frame.env_state, actions, frame.episode_length))
        rows = (_row(batch, i) for i in range(self.num_envs))
        return tuple(
            renderer.draw("ansi", RenderInput(func_env, env_state, action if length else None))
            for func_env, env_state, action, length in rows
        )

    def _mosaic(self, height: int | None, width: int | None, columns: int | None) -> Frame:
        func_envs, vstate = self._present()
        if "rgb_array" not in self.metadata["render_modes"]:
            raise ValueError(f"{type(self.func_env.unwrapped).__name__} draws nothing until it defines scene(state)")
        rows, columns = grid_shape(self.num_envs, columns)
        size = frame_size(
            self._frame_aspect(func_envs, vstate.env_state) * columns / rows, height, width, MOSAIC_SIDE_PIXELS
        )
        return draw_mosaic(func_envs, vstate.env_state, size, columns)

    def _frame_aspect(self, func_envs: AnyEnv, env_state: Any) -> float:
        """Return width over height of the first environment's first frame, which all frames keep."""
        if self._aspect is None:
            self._aspect = scene_aspect(*_row((func_envs, env_state), 0))
        return self._aspect

    def _show_window(self) -> None:
        if self._window is None:
            self._window = Window(window_title(self), self.metadata["render_fps"])
        if not self._window.was_closed:
            self._window.show(self._mosaic(None, None, None))


def _row(batch: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], batch)

"""How a vector environment over a pure one is shown."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import jax

from funcenv.adapters.rendering.frames import (
    Frame,
    draw_frames,
    draw_mosaic,
    frame_size,
    require_frame_size,
    scene_aspect,
)
from funcenv.adapters.rendering.modes import LIST_SUFFIX, metadata, render_modes, require_mode
from funcenv.adapters.rendering.renderer import Renderer, RenderInput
from funcenv.adapters.rendering.window import Window
from funcenv.adapters.single.env import ActType, ObsType
from funcenv.adapters.vector.vector_env import VectorEnv
from funcenv.func_env import FuncEnv
from funcenv.scene.grid import grid_shape
from funcenv.vector import VectorState

_MOSAIC_SIDE = 900  # of a mosaic, the longer one, where no size is asked for


class RenderedVectorEnv(VectorEnv[ObsType, ActType]):
    """The drawing half of `FunctionalVectorEnv`, which tells it the environments and their states.

    Frames are drawn when they are asked for; environments that differ in their parameters are drawn with their own.
    """

    func_env: FuncEnv[Any, Any, Any]
    _window: Window | None = None
    _follows: bool = False  # whether each call shows the window
    _played: Any = None  # the last actions, and whether they are a block of several steps; None after a reset
    _busy: threading.Lock

    def _present(self) -> tuple[FuncEnv[Any, Any, Any], VectorState[Any]]:
        """A batch of the environments, every parameter of which has a leading axis, and their states."""
        raise NotImplementedError(f"{type(self).__name__} must define _present()")

    def _begin(self) -> None:
        """Take the lock `_busy`."""
        raise NotImplementedError(f"{type(self).__name__} must define _begin()")

    def render(self) -> Any:
        """What `render_mode` names, of each environment: a tuple of pictures or strings; in a window, None.

        Without a mode it warns and returns None.

        Raises:
            ResetNeeded: before the first `reset`.
            ClosedEnvironment: after `close`.
        """
        self._begin()
        try:
            if self.render_mode is None:
                warnings.warn(
                    f"render() draws nothing: {self} has no render mode; say which when you make it, as in "
                    'make_vec(..., render_mode="rgb_array")',
                    UserWarning,
                    stacklevel=2,
                )
                return None
            if self.render_mode == "human":
                return self._show_window()
            return self._texts() if self.render_mode == "ansi" else self._pictures()
        finally:
            self._busy.release()

    def render_mosaic(self, height: int | None = None, width: int | None = None, columns: int | None = None) -> Frame:
        """All environments side by side in one picture, whatever the render mode.

        Args:
            height: rows of the picture. By default the proportions are those of the grid, and the longer side has 900
                pixels, or what the other side demands.
            width: columns of the picture; likewise.
            columns: how many environments stand in a row; as many as make the grid about square by default.

        Returns:
            uint8 `[height, width, 3]`, a fresh array.

        Raises:
            ResetNeeded: before the first `reset`.
            ValueError: a size below 1; an environment that draws nothing.
        """
        self._begin()
        try:
            return self._mosaic(*require_frame_size(height, width), columns)
        finally:
            self._busy.release()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()

    def _set_up_rendering(self, render_mode: str | None, height: int | None, width: int | None) -> None:
        modes = [mode for mode in render_modes(self.func_env) if not mode.endswith(LIST_SUFFIX)]
        require_mode(render_mode, modes, self.func_env)
        self.render_mode = render_mode
        self.metadata = metadata(self.func_env, modes)
        self._render_size = require_frame_size(height, width)
        self._follows = render_mode == "human"
        self._aspect: float | None = None

    def _pictures(self) -> tuple[Frame, ...]:
        func_envs, vstate = self._present()
        size = frame_size(self._proportion(func_envs, vstate), *self._render_size)
        return tuple(draw_frames(func_envs, vstate.env_state, size))

    def _texts(self) -> tuple[str, ...]:
        func_envs, vstate = self._present()
        renderer = Renderer(str(self), 1, *self._render_size)
        # On the host, where taking one of them apart costs nothing.
        batch = jax.device_get((func_envs, vstate.env_state, self._last_actions(), vstate.episode_length))
        moments = (_row(batch, i) for i in range(self.num_envs))
        return tuple(
            renderer.draw("ansi", RenderInput(func_env, env_state, action if length else None))
            for func_env, env_state, action, length in moments
        )

    def _last_actions(self) -> Any:
        if self._played is None:
            return None
        actions, is_block = self._played
        return jax.tree.map(lambda leaf: leaf[-1], actions) if is_block else actions

    def _follow(self, played: Any) -> None:
        """After each call: keep what was played, and show the window in the mode that does so."""
        self._played = played
        if self._follows:
            self._show_window()

    def _mosaic(self, height: int | None, width: int | None, columns: int | None) -> Frame:
        func_envs, vstate = self._present()
        if "rgb_array" not in self.metadata["render_modes"]:
            raise ValueError(f"{type(self.func_env.unwrapped).__name__} draws nothing until it defines scene(state)")
        rows, columns = grid_shape(self.num_envs, columns)
        size = frame_size(self._proportion(func_envs, vstate) * columns / rows, height, width, _MOSAIC_SIDE)
        return draw_mosaic(func_envs, vstate.env_state, size, columns)

    def _proportion(self, func_envs: FuncEnv[Any, Any, Any], vstate: VectorState[Any]) -> float:
        """Width over height of the first environment's picture when it is first drawn, and of all from then on."""
        if self._aspect is None:
            self._aspect = scene_aspect(*_row((func_envs, vstate.env_state), 0))
        return self._aspect

    def _show_window(self) -> None:
        if self._window is None:
            self._window = Window(str(self), self.metadata["render_fps"])
        if not self._window.was_closed:
            self._window.show(self._mosaic(None, None, None))


def _row(batch: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], batch)

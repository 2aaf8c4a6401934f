"""A wrapper that collects a frame after every call."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.rendering.modes import LIST_SUFFIX, add_render_mode
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_flag


class RenderCollection(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that renders after every `reset` and `step`, and whose `render` returns the list of frames.

    It is Gymnasium's wrapper of this name. It turns a render mode into the mode with the suffix `_list`, for
    handwritten environments. A `FunctionalEnv` has these modes itself, and draws a frame only when `render` needs it.

    Args:
        env: Environment with a render mode.
        pop_frames: Whether `render` empties the list.
        reset_clean: Whether `reset` empties the list.

    Attributes:
        frame_list: Frames collected so far.

    Raises:
        ValueError: The environment has no render mode, or one that already collects frames.

    >>> from funcenv import adapters
    >>> env = RenderCollection(adapters.make("FrozenLake-v1", render_mode="ansi"))
    >>> _ = env.reset(seed=0)
    >>> _ = env.step(2)
    >>> len(env.render()), env.render(), env.render_mode
    (2, [], 'ansi_list')
    """

    def __init__(self, env: Env[Any, Any], pop_frames: bool = True, reset_clean: bool = True) -> None:
        super().__init__(env)
        if env.render_mode is None or env.render_mode.endswith(LIST_SUFFIX):
            raise ValueError(
                "RenderCollection needs an environment whose render_mode gives one frame, such as 'rgb_array', got "
                f"{env.render_mode!r}"
            )
        self.pop_frames = require_flag("pop_frames", pop_frames)
        self.reset_clean = require_flag("reset_clean", reset_clean)
        self.frame_list: list[Any] = []
        self.metadata = add_render_mode(env.metadata, self.render_mode)

    @property
    def render_mode(self) -> str:  # type: ignore[override]  # determined by this wrapper
        """Render mode of the inner environment with the suffix `_list`."""
        return f"{self.env.render_mode}{LIST_SUFFIX}"

    def render(self, mode: str | None = None) -> Any:
        """Return the frames collected so far; in a given mode, as old Gym's interface asks, a single frame."""
        if mode is not None:
            return super().render(mode)
        frames = self.frame_list
        if self.pop_frames:
            self.frame_list = []
        return frames

    def _after_reset(self, result: Any) -> Any:
        if self.reset_clean:
            self.frame_list = []
        return self._after_step(result)

    def _after_step(self, result: Any) -> Any:
        self.frame_list.append(self.env.render())
        return result

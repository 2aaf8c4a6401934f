"""A wrapper that shows frames in a window."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.rendering.modes import add_render_mode, require_rgb_mode
from funcenv.adapters.rendering.window import Window, window_title
from funcenv.adapters.wrappers.wrapper import Wrapper


class HumanRendering(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that renders the environment in a window after every `reset` and `step`.

    It is Gymnasium's wrapper of this name, for handwritten environments that return frames but have no window. A
    `FunctionalEnv` has its own window. Once the user closes the window, it stays closed and the environment continues.

    Args:
        env: Environment with the render mode "rgb_array" or "rgb_array_list".

    Raises:
        ValueError: The environment has another render mode.
        RuntimeError: There is no display.
        ModuleNotFoundError: pygame is not installed.

    >>> from funcenv import adapters
    >>> env = HumanRendering(adapters.make("CartPole-v1", render_mode="rgb_array"))
    >>> _ = env.reset(seed=0)
    >>> env.render_mode, env.render()
    ('human', None)
    >>> env.close()
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        require_rgb_mode("HumanRendering", env)
        self._window = Window(window_title(env), env.metadata.get("render_fps", 30))
        self.metadata = add_render_mode(env.metadata, "human")

    @property
    def render_mode(self) -> str:  # type: ignore[override]  # determined by this wrapper
        """Always "human"."""
        return "human"

    def render(self, mode: str | None = None) -> None:
        """Do nothing; the window already shows the current frame."""
        del mode

    def close(self) -> None:
        """Close the window and the inner environment."""
        self._window.close()
        super().close()

    def _after_step(self, result: Any) -> Any:
        if not self._window.was_closed:
            frame = self.env.render()
            self._window.show(frame[-1] if isinstance(frame, list) else frame)
        return result

    _after_reset = _after_step

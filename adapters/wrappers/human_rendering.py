"""Show pictures in a window."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.rendering.window import Window
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper

_MODES = ("rgb_array", "rgb_array_list")


class HumanRendering(Wrapper[ObsType, ActType]):
    """Shows what the environment inside draws, after every `reset` and `step`, in a window.

    Gymnasium's wrapper of this name, for environments written by hand that give pictures and have no window; a
    `FunctionalEnv` has one itself. Where the user closes the window it stays closed, and the environment goes on.

    Args:
        env: an environment with the render mode "rgb_array" or "rgb_array_list".

    Raises:
        ValueError: another render mode.
        RuntimeError: there is no display.
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
        if env.render_mode not in _MODES:
            raise ValueError(
                f"HumanRendering needs an environment whose render_mode is one of {', '.join(_MODES)}, got "
                f"{env.render_mode!r}"
            )
        self._window = Window(str(env), env.metadata.get("render_fps", 30))
        modes = env.metadata.get("render_modes", [])
        self.metadata = {**env.metadata, "render_modes": [*modes, *({"human"} - set(modes))]}

    @property
    def render_mode(self) -> str:  # type: ignore[override]  # it follows from this wrapper
        """Always "human"."""
        return "human"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        started: tuple[ObsType, dict[str, Any]] = super().reset(seed=seed, options=options)
        self._show()
        return started

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        stepped = super().step(action)
        self._show()
        return stepped

    def render(self) -> None:
        """Nothing: the window is up to date."""

    def close(self) -> None:
        """Close the window, and the environment inside."""
        self._window.close()
        super().close()

    def _show(self) -> None:
        if self._window.was_closed:
            return
        picture = self.env.render()
        self._window.show(picture[-1] if isinstance(picture, list) else picture)

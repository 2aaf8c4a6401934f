"""Collect the frames of every call."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.rendering.modes import LIST
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper


class RenderCollection(Wrapper[ObsType, ActType]):
    """Draws after every `reset` and `step`; `render` returns the list of frames.

    Gymnasium's wrapper of this name. It makes a render mode with `_list` of one without, for environments written by
    hand; a `FunctionalEnv` has these modes itself, and draws nothing before it is asked.

    Args:
        env: an environment with a render mode.
        pop_frames: whether `render` leaves an empty list behind.
        reset_clean: whether `reset` begins an empty list.

    Attributes:
        frame_list: the frames so far.

    Raises:
        ValueError: the environment has no render mode, or one that collects frames already.

    >>> from funcenv import adapters
    >>> env = RenderCollection(adapters.make("FrozenLake-v1", render_mode="ansi"))
    >>> _ = env.reset(seed=0)
    >>> _ = env.step(2)
    >>> len(env.render()), env.render(), env.render_mode
    (2, [], 'ansi_list')
    """

    def __init__(self, env: Env[Any, Any], pop_frames: bool = True, reset_clean: bool = True) -> None:
        super().__init__(env)
        if env.render_mode is None or env.render_mode.endswith(LIST):
            raise ValueError(
                "RenderCollection needs an environment whose render_mode gives one frame, such as 'rgb_array', got "
                f"{env.render_mode!r}"
            )
        self.pop_frames, self.reset_clean = pop_frames, reset_clean
        self.frame_list: list[Any] = []
        modes = env.metadata.get("render_modes", [])
        self.metadata = {**env.metadata, "render_modes": [*modes, *({self.render_mode} - set(modes))]}

    @property
    def render_mode(self) -> str:  # type: ignore[override]  # it follows from this wrapper
        """That of the environment inside, with `_list`."""
        return f"{self.env.render_mode}{LIST}"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        started: tuple[ObsType, dict[str, Any]] = super().reset(seed=seed, options=options)
        if self.reset_clean:
            self.frame_list = []
        self.frame_list.append(self.env.render())
        return started

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        stepped = super().step(action)
        self.frame_list.append(self.env.render())
        return stepped

    def render(self) -> list[Any]:
        """The frames so far."""
        frames = self.frame_list
        if self.pop_frames:
            self.frame_list = []
        return frames

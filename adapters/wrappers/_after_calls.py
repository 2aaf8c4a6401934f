"""The base of wrappers that act after every `reset` and `step`."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.single.env import ActType, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper

RGB_MODES = ("rgb_array", "rgb_array_list")


class AfterCallsWrapper(Wrapper[ObsType, ActType]):
    """A wrapper that passes calls on and then runs `_after_reset` or `_after_step`."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        result = self.env.reset(seed=seed, options=options)
        self._after_reset(result)
        return result

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        return self._after_step(self.env.step(action))

    def _after_reset(self, result: tuple[Any, dict[str, Any]]) -> None:
        raise NotImplementedError

    def _after_step(self, result: tuple[Any, float, bool, bool, dict[str, Any]]) -> Any:
        """Return what `step` returns."""
        raise NotImplementedError

    def _add_render_mode(self, mode: str) -> None:
        modes = self.env.metadata.get("render_modes", [])
        self.metadata = {**self.env.metadata, "render_modes": [*modes, *({mode} - set(modes))]}

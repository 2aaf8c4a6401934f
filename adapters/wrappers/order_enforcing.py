"""A wrapper that rejects calls in the wrong order."""

from __future__ import annotations

import dataclasses
from typing import Any

from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.error import ResetNeeded
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_flag


class OrderEnforcing(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that raises an error if `step` or `render` precedes `reset`, or if `step` follows an episode's end.

    It is meant for handwritten environments; a `FunctionalEnv` enforces the order itself.

    Args:
        env: Environment to wrap.
        disable_render_order_enforcing: Whether `render` may be called before `reset`.

    Attributes:
        has_reset: Whether `reset` was called.

    Raises:
        ResetNeeded: A call is out of order.

    >>> from funcenv import adapters
    >>> OrderEnforcing(adapters.make("CartPole-v1")).step(0)
    Traceback (most recent call last):
        ...
    funcenv.adapters.error.ResetNeeded: call reset() before the first step, and after an episode's end
    """

    def __init__(self, env: Env[Any, Any], disable_render_order_enforcing: bool = False) -> None:
        super().__init__(env)
        self._may_render = require_flag("disable_render_order_enforcing", disable_render_order_enforcing)
        self.has_reset = self._is_playing = False

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action of an episode that has begun and not ended."""
        if not self._is_playing:
            raise ResetNeeded("call reset() before the first step, and after an episode's end")
        return super().step(action)

    def render(self, mode: str | None = None) -> Any:
        """Render the current state."""
        if not (self._may_render or self.has_reset):
            raise ResetNeeded("call reset() before render(), or pass disable_render_order_enforcing=True")
        return super().render(mode)

    def _specified(self, spec: Any) -> Any:
        return dataclasses.replace(spec, order_enforce=True)

    def _after_reset(self, result: Any) -> Any:
        self.has_reset = self._is_playing = True
        return result

    def _after_step(self, result: Any) -> Any:
        _, _, terminated, truncated, _ = result
        self._is_playing = not (terminated or truncated)
        return result

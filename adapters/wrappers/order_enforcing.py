"""Refuse calls out of order."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.errors import ResetNeeded
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper


class OrderEnforcing(Wrapper[ObsType, ActType]):
    """Raises where `step` or `render` is called before `reset`, and where `step` is called after an episode's end.

    For environments written by hand; a `FunctionalEnv` does so by itself.

    Args:
        env: the environment.
        disable_render_order_enforcing: whether `render` may be called at any time.

    Attributes:
        has_reset: whether `reset` was called.

    Raises:
        ResetNeeded: at such a call.

    >>> from funcenv import adapters
    >>> OrderEnforcing(adapters.make("CartPole-v1")).step(0)
    Traceback (most recent call last):
        ...
    funcenv.adapters.errors.ResetNeeded: call reset() before the first step, and after an episode's end
    """

    def __init__(self, env: Env[Any, Any], disable_render_order_enforcing: bool = False) -> None:
        super().__init__(env)
        self._may_render = disable_render_order_enforcing
        self.has_reset = self._playing = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        started: tuple[ObsType, dict[str, Any]] = super().reset(seed=seed, options=options)
        self.has_reset = self._playing = True
        return started

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action of an episode that was started and has not ended."""
        if not self._playing:
            raise ResetNeeded("call reset() before the first step, and after an episode's end")
        observation, reward, terminated, truncated, info = super().step(action)
        self._playing = not (terminated or truncated)
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:
        """A picture, once there is something to draw."""
        if not (self._may_render or self.has_reset):
            raise ResetNeeded("call reset() before render(), or pass disable_render_order_enforcing=True")
        return super().render()

"""Check what an environment returns while it is used."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from funcenv.adapters.checking.api_rules import check_picture, check_started, check_stepped
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper


class PassiveEnvChecker(Wrapper[ObsType, ActType]):
    """Checks the first results of `reset`, `step` and `render`; `check_env` checks more, but uses the environment up.

    Advice is given as `UserWarning`.

    Raises:
        EnvCheckError: from these, a result that is not as `Env` promises.

    >>> from funcenv import adapters
    >>> env = PassiveEnvChecker(adapters.make("CartPole-v1"))
    >>> observation, info = env.reset(seed=0)
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        self._unchecked = {"reset", "step", "render"}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        started = self.env.reset(seed=seed, options=options)
        if self._is_first("reset"):
            _tell(check_started(self.env, started))
        return started

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        stepped = self.env.step(action)
        if self._is_first("step"):
            _tell(check_stepped(self.env, stepped))
        return stepped

    def render(self) -> Any:
        """A picture."""
        picture = self.env.render()
        if self.render_mode is not None and self._is_first("render"):
            check_picture(self.render_mode, picture)
        return picture

    def _is_first(self, call: str) -> bool:
        first = call in self._unchecked
        self._unchecked.discard(call)
        return first


def _tell(advice: Iterator[str]) -> None:
    for sentence in advice:
        warnings.warn(sentence, UserWarning, stacklevel=3)

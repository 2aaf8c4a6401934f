"""A wrapper that checks what an environment returns while it is used."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from funcenv.adapters.checking.api_rules import check_frame, check_reset_result, check_step_result
from funcenv.adapters.checking.space_rules import check_spaces
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checker.findings import EnvCheckError
from funcenv.checks import require_flag


class PassiveEnvChecker(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that checks the spaces, and the first result of each of `reset`, `step` and `render`.

    Results that work but are probably unintended cause a `UserWarning`. `check_env` checks more, but it resets and
    steps the environment itself.

    Args:
        env: Environment to wrap.
        warn: Whether results that break the contract cause a `UserWarning` instead of an error.

    Raises:
        EnvCheckError: A space breaks the contract of `Env`; or, unless `warn`, a result does.

    >>> from funcenv import adapters
    >>> env = PassiveEnvChecker(adapters.make("CartPole-v1"))
    >>> observation, info = env.reset(seed=0)
    """

    def __init__(self, env: Env[Any, Any], warn: bool = False) -> None:
        super().__init__(env)
        self._warns = require_flag("warn", warn)
        list(check_spaces(env))  # its advice is for `check_env`; here only faults count
        self._unchecked = {"reset", "step", "render"}

    def render(self, mode: str | None = None) -> Any:
        """Render the current state."""
        frame = super().render(mode)
        if mode is None and self.render_mode is not None and self._is_first("render"):
            self._check(lambda: check_frame(str(self.render_mode), frame))
        return frame

    def _specified(self, spec: Any) -> Any:
        return dataclasses.replace(spec, disable_env_checker=False)

    def _after_reset(self, result: Any) -> Any:
        if self._is_first("reset"):
            self._check(lambda: check_reset_result(self.env, result))
        return result

    def _after_step(self, result: Any) -> Any:
        if self._is_first("step"):
            self._check(lambda: check_step_result(self.env, result))
        return result

    def _check(self, check: Callable[[], Iterable[str] | None]) -> None:
        """Run a check, and warn of what it yields, and of what it raises if this wrapper only warns."""
        messages: list[str] = []
        try:
            messages += check() or ()
        except EnvCheckError as error:
            if not self._warns:
                raise
            messages.append(str(error))
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=5)

    def _is_first(self, call: str) -> bool:
        is_first = call in self._unchecked
        self._unchecked.discard(call)
        return is_first

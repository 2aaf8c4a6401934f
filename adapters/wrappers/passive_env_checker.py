"""A wrapper that checks what an environment returns while it is used."""

from __future__ import annotations

import warnings
from typing import Any

from funcenv.adapters.checking.api_rules import check_frame, check_reset_result, check_step_result
from funcenv.adapters.checking.space_rules import check_spaces
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper


class PassiveEnvChecker(Wrapper[ObsType, ActType]):
    """A wrapper that checks the spaces, and the first result of each of `reset`, `step` and `render`.

    Results that work but are probably unintended cause a `UserWarning`. `check_env` checks more, but it resets and
    steps the environment itself.

    Raises:
        EnvCheckError: A space or a result breaks the contract of `Env`.

    >>> from funcenv import adapters
    >>> env = PassiveEnvChecker(adapters.make("CartPole-v1"))
    >>> observation, info = env.reset(seed=0)
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        list(check_spaces(env))  # its advice is for `check_env`; here only faults count
        self._unchecked = {"reset", "step", "render"}

    def render(self) -> Any:
        """Render the current state."""
        frame = self.env.render()
        if self.render_mode is not None and self._is_first("render"):
            check_frame(self.render_mode, frame)
        return frame

    def _after_reset(self, result: Any) -> Any:
        if self._is_first("reset"):
            check_reset_result(self.env, result)
        return result

    def _after_step(self, result: Any) -> Any:
        if self._is_first("step"):
            for message in check_step_result(self.env, result):
                warnings.warn(message, UserWarning, stacklevel=3)
        return result

    def _is_first(self, call: str) -> bool:
        is_first = call in self._unchecked
        self._unchecked.discard(call)
        return is_first

"""A wrapper that resets any stateful environment after the end of an episode."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.compat.results import call_reset, observation_and_info, step_api_compatibility
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper


class Autoreset(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that resets the environment at the step that follows the end of an episode.

    It is `funcenv.wrappers.Autoreset` for stateful environments. That step ignores its action. It returns the first
    observation and info of the new episode, reward 0, and both flags False.

    Args:
        env: Environment with all its other wrappers.

    Attributes:
        autoreset: Whether the next step resets.

    >>> from funcenv import adapters
    >>> env = Autoreset(adapters.make("CartPole-v1", max_episode_steps=1))
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1:4], env.step(0)[1:4]
    ((1.0, False, True), (0.0, False, False))
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        self.autoreset = False
        self._returns_two_flags = True  # or one, where the environment has old Gym's interface

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action, or begin an episode."""
        result: Any
        if self.autoreset:
            observation, info = observation_and_info(call_reset(self.env, None, None, return_info=True))
            result = observation, 0.0, False, False, info
        else:
            result = self.env.step(action)
            self._returns_two_flags = len(result) == 5
            result = step_api_compatibility(result)
        self.autoreset = bool(result[2] or result[3])
        return step_api_compatibility(result, self._returns_two_flags)  # or four values

    def _after_reset(self, result: Any) -> Any:
        self.autoreset = False
        return result

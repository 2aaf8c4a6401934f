"""A wrapper that truncates long episodes of handwritten environments."""

from __future__ import annotations

import dataclasses
from typing import Any

from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_size


class TimeLimit(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that truncates an episode at step number `max_episode_steps`.

    It is meant for handwritten environments; `funcenv.wrappers.TimeLimit` is compiled with a functional environment.

    Args:
        env: Environment to wrap.
        max_episode_steps: Number of steps, at least 1.

    Raises:
        TypeError: `max_episode_steps` is not an integer.
        ValueError: `max_episode_steps` is below 1.

    >>> from funcenv import adapters
    >>> env = TimeLimit(adapters.make("CartPole-v1"), max_episode_steps=1)
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[2:4]
    (False, True)
    """

    def __init__(self, env: Env[Any, Any], max_episode_steps: int) -> None:
        super().__init__(env)
        self.max_episode_steps = require_size("max_episode_steps", max_episode_steps)
        self._elapsed_steps = 0

    def _specified(self, spec: Any) -> Any:
        return dataclasses.replace(spec, max_episode_steps=self.max_episode_steps)

    @property
    def _max_episode_steps(self) -> int:
        """The limit, by the name of the attribute of Gymnasium's wrapper, which programs read and set."""
        return self.max_episode_steps

    @_max_episode_steps.setter
    def _max_episode_steps(self, limit: int) -> None:
        self.max_episode_steps = require_size("max_episode_steps", limit)

    def _after_reset(self, result: Any) -> Any:
        self._elapsed_steps = 0
        return result

    def _after_step(self, result: Any) -> Any:
        observation, reward, terminated, truncated, info = result
        self._elapsed_steps += 1
        return observation, reward, terminated, truncated or self._elapsed_steps >= self.max_episode_steps, info

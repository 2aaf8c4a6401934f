"""Wrappers that play an action several times, or the last one again, in any stateful environment."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from funcenv import wrappers as pure
from funcenv.adapters.compat.results import step_api_compatibility
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.wrapper import ActionWrapper, Wrapper, WrapperObsType


class RepeatWrapper(Wrapper[WrapperObsType, ActType, ObsType, ActType]):
    """A wrapper whose step is several steps of the environment, up to the end of the episode.

    A subclass says how many, and may override `_see`, which looks at the result of each of them.
    """

    def __init__(self, env: Env[Any, Any], num_repeats: int) -> None:
        super().__init__(env)
        self._num_repeats = num_repeats

    def step(self, action: ActType) -> tuple[WrapperObsType, float, bool, bool, dict[str, Any]]:
        """Play the action several times, and return the last result, with the sum of the rewards."""
        total = 0.0
        for number in range(self._num_repeats):
            result: Any = self.env.step(action)
            observation, reward, *ends, info = self._see(number, step_api_compatibility(result))
            total += float(reward)
            if any(ends):
                break
        combined = self._after_step((observation, total, *ends, info))
        return combined if len(result) == 5 else step_api_compatibility(combined, False)

    def _see(self, number: int, result: Any) -> Any:
        """Return what counts as the result of repeat `number`, from 0."""
        del number
        return result


class RepeatAction(RepeatWrapper[ObsType, ObsType, ActType]):
    """A wrapper that repeats every action, or until the episode ends, and returns the sum of the rewards.

    It is `funcenv.wrappers.RepeatAction` for stateful environments.

    Args:
        env: Environment to wrap.
        num_repeats: At least 1.

    Raises:
        TypeError: `num_repeats` is not an integer.
        ValueError: `num_repeats` is below 1.

    >>> from funcenv import adapters
    >>> env = RepeatAction(adapters.make("CartPole-v1"), num_repeats=4)
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1]
    4.0
    """

    def __init__(self, env: Env[Any, Any], num_repeats: int) -> None:
        self.num_repeats = pure.RepeatAction(described(self, env), num_repeats).num_repeats
        super().__init__(env, self.num_repeats)


class MaxAndSkipObservation(RepeatWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that repeats every action `skip` times, and observes the maximum of the last two frames.

    It is `funcenv.wrappers.MaxAndSkipObservation` for stateful environments. If the episode ends before the last
    repeat, the two frames are the last ones of the episode; Gymnasium 1.4.0 returns frames of an earlier step there.

    Args:
        env: Environment whose observations are single arrays.
        skip: At least 2.

    Raises:
        TypeError: The observations are not single arrays, or `skip` is not an integer.
        ValueError: `skip` is below 2.

    >>> from funcenv import adapters
    >>> env = MaxAndSkipObservation(adapters.make("CartPole-v1"), skip=3)
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1]
    3.0
    """

    def __init__(self, env: Env[Any, Any], skip: int = 4) -> None:
        checked: pure.MaxAndSkipObservation[Any] = pure.MaxAndSkipObservation(described(self, env), skip)
        super().__init__(env, checked.skip)
        self._frames: collections.deque[Any] = collections.deque(maxlen=2)

    def _see(self, number: int, result: Any) -> Any:
        self._frames.append(result[0])
        return super()._see(number, result)

    def _after_step(self, result: Any) -> Any:
        return np.max(self._frames, axis=0), *result[1:]

    def _after_reset(self, result: Any) -> Any:
        self._frames.clear()
        self._frames.append(result[0])
        return result


class StickyAction(ActionWrapper[ObsType, ActType, ActType]):
    """A wrapper that repeats the last action with some probability, which the environment's generator draws.

    It is `funcenv.wrappers.StickyAction` for stateful environments. The first action of an episode is never replaced.

    Args:
        env: Environment to wrap.
        repeat_action_probability: At least 0 and below 1.
        repeat_action_duration: Number of steps that a repeat lasts, or a pair (least, most), both included, to draw it
            from uniformly.

    Attributes:
        last_action: Action of the last step; None before the first.

    Raises:
        TypeError: The duration is not an integer or a pair of integers.
        ValueError: The probability is outside [0, 1), a duration is below 1, or least > most.

    >>> from funcenv import adapters
    >>> env = StickyAction(adapters.make("CartPole-v1"), repeat_action_probability=0.9)
    >>> _ = env.reset(seed=0)
    >>> _ = env.step(1), env.step(0)
    >>> env.last_action
    1
    """

    def __init__(
        self,
        env: Env[Any, Any],
        repeat_action_probability: float,
        repeat_action_duration: int | tuple[int, int] = 1,
    ) -> None:
        super().__init__(env)
        pure.StickyAction(described(self, env), repeat_action_probability, repeat_action_duration)  # checks them
        self.repeat_action_probability, self.repeat_action_duration = repeat_action_probability, repeat_action_duration
        self.last_action: Any = None
        self._repeats_left = 0

    def action(self, action: Any) -> Any:
        """Return the action, or the last one."""
        is_free = self._repeats_left == 0 and self.last_action is not None
        if is_free and self.np_random.uniform() < self.repeat_action_probability:
            duration = self.repeat_action_duration
            least, most = duration if isinstance(duration, tuple) else (duration, duration)
            self._repeats_left = int(self.np_random.integers(least, most + 1))
        if self._repeats_left > 0:
            self._repeats_left -= 1
            action = self.last_action
        self.last_action = action
        return action

    def _after_reset(self, result: Any) -> Any:
        self.last_action, self._repeats_left = None, 0
        return result

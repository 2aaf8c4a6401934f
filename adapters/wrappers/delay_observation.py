"""A wrapper that delays the observations of any stateful environment."""

from __future__ import annotations

import collections
import copy
from typing import Any

from funcenv import wrappers as pure
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.utils import create_zero_array
from funcenv.adapters.wrappers.wrapper import ObservationWrapper


class DelayObservation(ObservationWrapper[ObsType, ObsType, ActType]):
    """A wrapper that delays every observation by `delay` steps.

    It is `funcenv.wrappers.DelayObservation` for stateful environments. The first `delay` observations of an episode
    are the member of the space that is closest to zero. Rewards, flags and `info` are not delayed.

    Args:
        env: Environment to wrap.
        delay: At least 0.

    Raises:
        TypeError: `delay` is not an integer, or the space has no zero.
        ValueError: `delay` is below 0.

    >>> from funcenv import adapters
    >>> env = DelayObservation(adapters.make("CartPole-v1"), delay=1)
    >>> first = adapters.make("CartPole-v1").reset(seed=0)[0]
    >>> env.reset(seed=0)[0].tolist(), bool((env.step(0)[0] == first).all())
    ([0.0, 0.0, 0.0, 0.0], True)
    """

    def __init__(self, env: Env[Any, Any], delay: int) -> None:
        super().__init__(env)
        self.delay = pure.DelayObservation(described(self, env), delay).delay
        self._zero = create_zero_array(self.observation_space)
        self._queue: collections.deque[Any] = collections.deque()

    def observation(self, observation: Any) -> Any:
        """Return the observation of `delay` steps ago."""
        self._queue.append(observation)
        return self._queue.popleft() if len(self._queue) > self.delay else copy.deepcopy(self._zero)

    def _after_reset(self, result: Any) -> Any:
        self._queue.clear()
        return super()._after_reset(result)

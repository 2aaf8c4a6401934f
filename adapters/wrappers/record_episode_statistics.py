"""A wrapper that records the returns and lengths of episodes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_size


class EpisodeQueues:
    """The queues of the latest episodes, which the wrappers of one environment and of a vector share.

    Attributes:
        return_queue: Returns of the latest episodes.
        length_queue: Lengths of the latest episodes, in steps.
        time_queue: Durations of the latest episodes, in seconds.
        episode_count: Number of episodes that have ended.
    """

    def _set_up(self, buffer_length: int, stats_key: str, clock: Callable[[], float]) -> None:
        """Check the arguments that the wrappers share, and begin without episodes."""
        buffer_length = require_size("buffer_length", buffer_length)
        self.return_queue: deque[float] = deque(maxlen=buffer_length)
        self.length_queue: deque[int] = deque(maxlen=buffer_length)
        self.time_queue: deque[float] = deque(maxlen=buffer_length)
        self.episode_count = 0
        self._stats_key, self._clock = stats_key, clock

    def _require_free_key(self, name: str, infos: dict[str, Any]) -> None:
        if self._stats_key in infos:
            raise ValueError(f"{name} has an entry {self._stats_key!r} already; pass another stats_key")

    def _add_episodes(self, returns: Sequence[float], lengths: Sequence[int], seconds: Sequence[float]) -> None:
        """Add episodes that have ended to the queues."""
        self.return_queue.extend(returns)
        self.length_queue.extend(lengths)
        self.time_queue.extend(seconds)
        self.episode_count += len(returns)


class RecordEpisodeStatistics(EpisodeQueues, Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that adds the return `"r"`, length `"l"` and duration `"t"` of an episode to the last step's `info`.

    The entries are in `info["episode"]`, as with Gymnasium's wrapper of this name. Queues hold the same figures of the
    latest episodes, newest last. `funcenv.wrappers.EpisodeStatistics` records returns and lengths in compiled code.

    Args:
        env: Environment to wrap.
        buffer_length: Number of episodes in each queue, at least 1.
        stats_key: Key of the entry in `info`.
        clock: Function that returns the time in seconds.

    Attributes:
        return_queue: Returns of the latest episodes.
        length_queue: Lengths of the latest episodes, in steps.
        time_queue: Durations of the latest episodes, in seconds.
        episode_count: Number of episodes that have ended.
        episode_returns: Return of the current episode so far.
        episode_lengths: Length of the current episode so far.

    Raises:
        TypeError: `buffer_length` is not an integer.
        ValueError: `buffer_length` is below 1, or `step` finds an entry `stats_key` in `info`.

    >>> from funcenv import adapters
    >>> env = RecordEpisodeStatistics(adapters.make("CartPole-v1", max_episode_steps=3))
    >>> _ = env.reset(seed=0)
    >>> for _ in range(3):
    ...     *_, info = env.step(0)
    >>> info["episode"]["r"], info["episode"]["l"], list(env.return_queue)
    (3.0, 3, [3.0])
    """

    def __init__(
        self,
        env: Env[Any, Any],
        buffer_length: int = 100,
        stats_key: str = "episode",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(env)
        self._set_up(buffer_length, stats_key, clock)
        self._after_reset(None)

    def _after_reset(self, result: Any) -> Any:
        self.episode_returns, self.episode_lengths, self._start_time = 0.0, 0, self._clock()
        return result

    def _after_step(self, result: Any) -> Any:
        observation, reward, terminated, truncated, info = result
        self.episode_returns += float(reward)
        self.episode_lengths += 1
        if terminated or truncated:
            self._require_free_key("info", info)
            seconds = round(self._clock() - self._start_time, 6)
            info = {**info, self._stats_key: {"r": self.episode_returns, "l": self.episode_lengths, "t": seconds}}
            self._add_episodes([self.episode_returns], [self.episode_lengths], [seconds])
        return observation, reward, terminated, truncated, info

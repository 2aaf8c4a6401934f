"""Keep the returns and lengths of the last episodes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_size


class RecordEpisodeStatistics(Wrapper[ObsType, ActType]):
    """Adds to the `info` of an episode's last step its return `"r"`, length `"l"` and seconds since its start `"t"`.

    As Gymnasium's wrapper of this name does, under `info["episode"]`. Queues keep the same of the last episodes, the
    newest at the end. `funcenv.wrappers.EpisodeStatistics` keeps return and length inside compiled code.

    Args:
        env: the environment.
        buffer_length: of how many episodes, at least 1.
        stats_key: under which name the three stand in `info`.
        clock: seconds, as a function.

    Attributes:
        return_queue: returns.
        length_queue: lengths, in steps.
        time_queue: durations, in seconds.
        episode_count: how many episodes have ended.
        episode_returns: the return of the present episode so far.
        episode_lengths: its length so far.

    Raises:
        TypeError: `buffer_length` is not an integer.
        ValueError: `buffer_length` below 1; and from `step`, where `info` has an entry `stats_key` already.

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
        buffer_length = require_size("buffer_length", buffer_length)
        self.return_queue: deque[float] = deque(maxlen=buffer_length)
        self.length_queue: deque[int] = deque(maxlen=buffer_length)
        self.time_queue: deque[float] = deque(maxlen=buffer_length)
        self.episode_count = 0
        self._stats_key, self._clock = stats_key, clock
        self._begin()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode; what was played of the last one is forgotten."""
        started: tuple[ObsType, dict[str, Any]] = super().reset(seed=seed, options=options)
        self._begin()
        return started

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = super().step(action)
        self.episode_returns += float(reward)
        self.episode_lengths += 1
        if terminated or truncated:
            if self._stats_key in info:
                raise ValueError(f"info has an entry {self._stats_key!r} already; pass another stats_key")
            seconds = round(self._clock() - self._started, 6)
            info = {**info, self._stats_key: {"r": self.episode_returns, "l": self.episode_lengths, "t": seconds}}
            self.return_queue.append(self.episode_returns)
            self.length_queue.append(self.episode_lengths)
            self.time_queue.append(seconds)
            self.episode_count += 1
        return observation, reward, terminated, truncated, info

    def _begin(self) -> None:
        self.episode_returns, self.episode_lengths, self._started = 0.0, 0, self._clock()

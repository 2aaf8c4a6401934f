"""A wrapper that records the returns and lengths of a vector's episodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers.record_episode_statistics import EpisodeQueues
from funcenv.adapters.wrappers.vector.wrapper import VectorWrapper
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode


class RecordEpisodeStatistics(EpisodeQueues, VectorWrapper[ObsType, ActType]):
    """A wrapper that adds the return `"r"`, length `"l"` and duration `"t"` of episodes to the `infos` of their ends.

    It is Gymnasium's wrapper of this name: `infos["episode"]` holds arrays `[num_envs]`, 0 where no episode ended, and
    `infos["_episode"]` the mask of the environments in which one did. Queues hold the same figures of the latest
    episodes, newest last.

    Args:
        env: Vector environment to wrap.
        buffer_length: Number of episodes in each queue, at least 1.
        stats_key: Key of the entry in `infos`.
        clock: Function that returns the time in seconds.

    Attributes:
        return_queue: Returns of the latest episodes.
        length_queue: Lengths of the latest episodes, in steps.
        time_queue: Durations of the latest episodes, in seconds.
        episode_count: Number of episodes that have ended.
        episode_returns: Returns of the current episodes so far, `[num_envs]`.
        episode_lengths: Lengths of the current episodes so far, `[num_envs]`.

    Raises:
        TypeError: `buffer_length` is not an integer.
        ValueError: `buffer_length` is below 1, or `step` finds an entry `stats_key` in `infos`.

    >>> from funcenv import adapters
    >>> envs = RecordEpisodeStatistics(adapters.make_vec("CartPole-v1", 2, max_episode_steps=3))
    >>> _ = envs.reset(seed=0)
    >>> for _ in range(3):
    ...     *_, infos = envs.step(np.array([0, 1]))
    >>> infos["episode"]["r"], infos["_episode"], list(envs.length_queue)
    (array([3., 3.]), array([ True,  True]), [3, 3])
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any],
        buffer_length: int = 100,
        stats_key: str = "episode",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(env)
        self._set_up(buffer_length, stats_key, clock)
        self.episode_returns, self.episode_lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, int)
        self._start_times, self._resets_next = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        self._begin_episodes(is_new)
        return result

    def _begin_episodes(self, is_new: NDArray) -> None:
        self.episode_returns[is_new], self.episode_lengths[is_new], self._resets_next[is_new] = 0, 0, False
        self._start_times[is_new] = self._clock()

    def _after_step(self, result: Any) -> Any:
        observations, rewards, terminations, truncations, infos = result
        plays = ~self._resets_next
        self._begin_episodes(self._resets_next.copy())
        self.episode_returns[plays] += rewards[plays]
        self.episode_lengths[plays] += 1
        ended = terminations | truncations
        if ended.any():
            infos = self._with_statistics(infos, ended)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._begin_episodes(ended)
        else:
            self._resets_next = ended.copy()
        return observations, rewards, terminations, truncations, infos

    def _with_statistics(self, infos: dict[str, Any], ended: NDArray) -> dict[str, Any]:
        """Return the infos with the figures of the episodes that ended, and add these to the queues."""
        self._require_free_key("infos", infos)
        seconds = np.round(self._clock() - self._start_times, 6)
        figures = {"r": self.episode_returns, "l": self.episode_lengths, "t": seconds}
        self._add_episodes(*(values[ended].tolist() for values in figures.values()))
        entry = {name: np.where(ended, values, 0) for name, values in figures.items()}
        return {**infos, self._stats_key: entry, f"_{self._stats_key}": ended.copy()}

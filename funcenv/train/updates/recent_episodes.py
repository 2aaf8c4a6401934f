"""Statistics of the latest episodes, kept on the device during training."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.statistics import success_of
from funcenv.struct import PyTreeNode
from funcenv.train.algorithm import SUCCESS_RATE
from funcenv.train.shares import sum_over_rows
from funcenv.vector import VectorTimestep

MAX_RECENT_EPISODES = 100
"""The number of episodes over which reported returns and lengths are averaged, with others of the same step."""


class RecentEpisodes(PyTreeNode):
    """A ring buffer of the latest steps in which episodes finished: how many, and the sums of returns and lengths.

    Where the environment tells whether the goal is achieved, it also holds how many ended so.

    Means are over the newest steps that hold `MAX_RECENT_EPISODES` episodes together. Where environments are spread
    over devices, sums of steps are all that these have to know of each other.

    >>> ended, returns, lengths = jnp.array([True, False, True]), jnp.array([1.0, 9.0, 3.0]), jnp.array([10, 90, 30])
    >>> {name: float(value) for name, value in RecentEpisodes.empty().add(ended, returns, lengths).metrics().items()}
    {'episodes': 2.0, 'mean_return': 2.0, 'mean_length': 20.0}
    """

    returns: Float[Array, "MAX_RECENT_EPISODES"]  # sum of the episodes of a step
    lengths: Float[Array, "MAX_RECENT_EPISODES"]  # likewise
    finished: Int[Array, "MAX_RECENT_EPISODES"]  # their number; 0 in an entry without a step
    num_steps: Int[Array, ""]  # number of all steps in which episodes have ended
    count: Int[Array, ""]  # number of all episodes that have ended
    successes: Float[Array, "MAX_RECENT_EPISODES"] | None = None  # how many achieved the goal, if infos tell

    @classmethod
    def empty(cls, has_success: bool = False) -> RecentEpisodes:
        """Return a buffer without episodes."""
        zeros, zero = jnp.zeros(MAX_RECENT_EPISODES, float), jnp.zeros((), jnp.int32)
        finished, successes = jnp.zeros(MAX_RECENT_EPISODES, jnp.int32), zeros if has_success else None
        return cls(zeros, zeros, finished, num_steps=zero, count=zero, successes=successes)

    def add(self, ended: Bool[Array, "n"], returns: Float[Array, "n"], lengths: Int[Array, "n"]) -> RecentEpisodes:
        """Return the buffer after `n` steps of one environment; only steps that ended an episode count."""
        return self._add(ended.astype(jnp.int32), jnp.where(ended, returns, 0), jnp.where(ended, lengths, 0))

    def add_steps(self, timestep: VectorTimestep[Any]) -> RecentEpisodes:
        """Return the buffer after the time steps of a vector environment, `[num_steps, num_envs]`."""
        return self.add_batch(timestep.done, timestep.episode_return, timestep.episode_length, success_of(timestep))

    def add_batch(
        self,
        ended: Bool[Array, "num_steps num_envs"],
        returns: Float[Array, "num_steps num_envs"],
        lengths: Int[Array, "num_steps num_envs"],
        successes: Bool[Array, "num_steps num_envs"] | None = None,
    ) -> RecentEpisodes:
        """Return the buffer after steps of many environments, of which those count that ended an episode."""

        def sums(ended: jax.Array, *numbers: jax.Array) -> tuple[jax.Array, ...]:
            counts = ended.sum(1, dtype=self.returns.dtype)
            return counts, *(jnp.where(ended, leaf.astype(self.returns.dtype), 0).sum(1) for leaf in numbers)

        numbers = returns, lengths, *(() if successes is None else (successes,))
        counts, *totals = sum_over_rows(sums, ended, *numbers, axis=1)
        return self._add(counts.astype(jnp.int32), *totals)

    def _add(
        self,
        finished: Int[Array, "n"],
        returns: Float[Array, "n"],
        lengths: Float[Array, "n"],
        successes: Float[Array, "n"] | None = None,
    ) -> RecentEpisodes:
        """Return the buffer after `n` steps, given how many episodes each of them ended, and their sums."""
        has_ends = finished > 0
        rank = jnp.cumsum(has_ends, dtype=jnp.int32) - 1
        total = rank[-1] + 1
        is_recent = has_ends & (rank >= total - MAX_RECENT_EPISODES)
        index = jnp.where(is_recent, (self.num_steps + rank) % MAX_RECENT_EPISODES, MAX_RECENT_EPISODES)  # or dropped

        def write(old: jax.Array, new: jax.Array) -> jax.Array:
            return old.at[index].set(new.astype(old.dtype), mode="drop")

        return RecentEpisodes(
            returns=write(self.returns, returns),
            lengths=write(self.lengths, lengths),
            finished=write(self.finished, finished),
            num_steps=self.num_steps + total,
            count=self.count + finished.sum(dtype=jnp.int32),
            successes=None if self.successes is None or successes is None else write(self.successes, successes),
        )

    def metrics(self) -> dict[str, jax.Array]:
        """Return three of the `REQUIRED_METRICS` of an algorithm, and `SUCCESS_RATE` if the environment tells it.

        The means are 0 before the first episode ends.
        """
        success = {} if self.successes is None else {SUCCESS_RATE: self._mean(self.successes)}
        return {
            "episodes": self.count,
            "mean_return": self._mean(self.returns),
            "mean_length": self._mean(self.lengths),
            **success,
        }

    def _mean(self, sums: Float[Array, "MAX_RECENT_EPISODES"]) -> Float[Array, ""]:
        order = (self.num_steps - 1 - jnp.arange(MAX_RECENT_EPISODES)) % MAX_RECENT_EPISODES  # newest first
        finished = self.finished[order]
        is_needed = jnp.cumsum(finished) - finished < MAX_RECENT_EPISODES
        count = jnp.where(is_needed, finished, 0).sum().astype(sums.dtype)
        return jnp.where(is_needed, sums[order], 0).sum() / jnp.maximum(count, 1)

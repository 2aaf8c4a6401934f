"""Statistics of the latest episodes, kept on the device during training."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.struct import PyTreeNode
from funcenv.vector import VectorTimestep

MAX_RECENT_EPISODES = 100
"""The number of episodes over which reported returns and lengths are averaged."""


class RecentEpisodes(PyTreeNode):
    """A ring buffer of the returns and lengths of the latest finished episodes.

    >>> ended, returns, lengths = jnp.array([True, False, True]), jnp.array([1.0, 9.0, 3.0]), jnp.array([10, 90, 30])
    >>> {name: float(value) for name, value in RecentEpisodes.empty().add(ended, returns, lengths).metrics().items()}
    {'episodes': 2.0, 'mean_return': 2.0, 'mean_length': 20.0}
    """

    returns: Float[Array, "MAX_RECENT_EPISODES"]
    lengths: Float[Array, "MAX_RECENT_EPISODES"]
    count: Int[Array, ""]  # number of all episodes that have ended

    @classmethod
    def empty(cls) -> RecentEpisodes:
        """Return a buffer without episodes."""
        zeros = jnp.zeros(MAX_RECENT_EPISODES, float)
        return cls(returns=zeros, lengths=zeros, count=jnp.zeros((), jnp.int32))

    def add(self, ended: Bool[Array, "n"], returns: Float[Array, "n"], lengths: Int[Array, "n"]) -> RecentEpisodes:
        """Return the buffer after `n` steps in order; only steps that ended an episode count."""
        rank = jnp.cumsum(ended, dtype=jnp.int32) - 1
        total = rank[-1] + 1
        is_recent = ended & (rank >= total - MAX_RECENT_EPISODES)
        index = jnp.where(is_recent, (self.count + rank) % MAX_RECENT_EPISODES, MAX_RECENT_EPISODES)  # beyond: dropped
        return RecentEpisodes(
            returns=self.returns.at[index].set(returns, mode="drop"),
            lengths=self.lengths.at[index].set(lengths.astype(self.lengths.dtype), mode="drop"),
            count=self.count + total,
        )

    def add_steps(self, timestep: VectorTimestep[Any]) -> RecentEpisodes:
        """Return the buffer after the time steps of a vector environment, `[num_steps, num_envs]`."""
        return self.add(*map(jnp.ravel, (timestep.done, timestep.episode_return, timestep.episode_length)))

    def metrics(self) -> dict[str, jax.Array]:
        """Return three of the `REQUIRED_METRICS` of an algorithm; the means are 0 before the first episode ends."""
        return {
            "episodes": self.count,
            "mean_return": self._mean(self.returns),
            "mean_length": self._mean(self.lengths),
        }

    def _mean(self, values: Float[Array, "MAX_RECENT_EPISODES"]) -> Float[Array, ""]:
        is_present = jnp.arange(MAX_RECENT_EPISODES) < self.count
        count = jnp.minimum(self.count, MAX_RECENT_EPISODES).astype(values.dtype)
        return jnp.where(is_present, values, 0).sum() / jnp.maximum(count, 1)

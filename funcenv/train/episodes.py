"""The latest episodes, kept on the device while training runs."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.struct import PyTreeNode

RECENT_EPISODES = 100
"""Over how many episodes a reported return is averaged."""


class Episodes(PyTreeNode):
    """The latest episodes that ended, in a ring.

    >>> ended, returns, lengths = jnp.array([True, False, True]), jnp.array([1.0, 9.0, 3.0]), jnp.array([10, 90, 30])
    >>> episodes = Episodes.none().add(ended, returns, lengths)
    >>> int(episodes.count), float(episodes.mean(episodes.returns))
    (2, 2.0)
    """

    returns: Float[Array, "RECENT_EPISODES"]
    lengths: Float[Array, "RECENT_EPISODES"]
    count: Int[Array, ""]  # of all episodes that ended so far

    @classmethod
    def none(cls) -> Episodes:
        """Before the first."""
        empty = jnp.zeros(RECENT_EPISODES, float)
        return cls(returns=empty, lengths=empty, count=jnp.zeros((), jnp.int32))

    def add(self, ended: Bool[Array, "n"], returns: Float[Array, "n"], lengths: Int[Array, "n"]) -> Episodes:
        """With those of `n` steps that ended an episode, in order."""
        rank = jnp.cumsum(ended, dtype=jnp.int32) - 1
        total = rank[-1] + 1
        latest = ended & (rank >= total - RECENT_EPISODES)
        place = jnp.where(latest, (self.count + rank) % RECENT_EPISODES, RECENT_EPISODES)  # beyond the end: dropped
        return Episodes(
            returns=self.returns.at[place].set(returns, mode="drop"),
            lengths=self.lengths.at[place].set(lengths.astype(self.lengths.dtype), mode="drop"),
            count=self.count + total,
        )

    def mean(self, values: Float[Array, "RECENT_EPISODES"]) -> Float[Array, ""]:
        """Over the episodes there are; NaN before the first."""
        present = jnp.arange(RECENT_EPISODES) < self.count
        return jnp.where(present, values, 0).sum() / jnp.minimum(self.count, RECENT_EPISODES).astype(values.dtype)

"""Prioritized level replay: a buffer of the levels that an agent can learn most from.

Jiang, Grefenstette and Rocktaschel, "Prioritized level replay", ICML 2021; the order of insertions and the weights are
those of jaxued's `LevelSampler` (Coward, Beukman and Foerster, "JaxUED", 2024).
"""

from __future__ import annotations

from typing import Any, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_probability, require_size
from funcenv.struct import PyTreeNode, field
from funcenv.trees import select


class LevelSampler(PyTreeNode):
    """Up to `capacity` levels with their scores, a pytree that training carries and checkpoints.

    A level is drawn with the weight

        (1 - staleness_coefficient) rank^(-1 / temperature) + staleness_coefficient (episodes since it was drawn)

    where both terms are first normalized to sum 1, and rank 1 has the highest score. A new level fills an empty place
    and later takes the place of the one with the least weight, if its score is higher than that one's.

    >>> import funcenv
    >>> sampler = LevelSampler.empty({"gravity": jnp.float32(0)}, capacity=2)
    >>> sampler = sampler.insert({"gravity": jnp.array([1.6, 3.7, 9.8])}, jnp.array([0.1, 0.3, 0.2]))
    >>> [f"{level:.1f}" for level in sampler.levels["gravity"]], [f"{weight:.2f}" for weight in sampler.weights()]
    (['9.8', '3.7'], ['0.06', '0.94'])
    >>> sampler, indices, levels = sampler.sample(funcenv.key(0), 4)
    >>> levels["gravity"].shape
    (4,)
    """

    levels: dict[str, Any]  # `[capacity, ...]` each
    scores: Float[Array, "capacity"]  # minus infinity where there is no level
    drawn_at: Int[Array, "capacity"]  # value of `num_episodes` when the level was last drawn or inserted
    size: Int[Array, ""]  # number of levels
    num_episodes: Int[Array, ""]  # number of levels that were drawn or offered
    temperature: float = field(pytree_node=False, default=0.3)
    staleness_coefficient: float = field(pytree_node=False, default=0.3)

    @classmethod
    def empty(
        cls, level: dict[str, Any], capacity: int, temperature: float = 0.3, staleness_coefficient: float = 0.3
    ) -> Self:
        """Return a buffer without levels, whose levels have the shapes and dtypes of `level`.

        Raises:
            ValueError: A capacity below 1, a temperature that is not above 0, or a coefficient outside of [0, 1].
        """
        capacity = require_size("capacity", capacity)
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}; a high one makes all levels alike")
        require_probability(staleness_coefficient=staleness_coefficient)
        return cls(
            levels=jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), level),
            scores=jnp.full(capacity, -jnp.inf, float),
            drawn_at=jnp.zeros(capacity, jnp.int32),
            size=jnp.zeros((), jnp.int32),
            num_episodes=jnp.zeros((), jnp.int32),
            temperature=temperature,
            staleness_coefficient=staleness_coefficient,
        )

    @property
    def capacity(self) -> int:
        """Number of places."""
        return int(self.scores.shape[-1])

    @property
    def filled(self) -> Bool[Array, "capacity"]:
        """True for places that hold a level."""
        return jnp.arange(self.capacity, dtype=jnp.int32) < self.size

    def weights(self) -> Float[Array, "capacity"]:
        """Return the probability of each place to be drawn; NaN while there is no level."""
        ranks = jnp.argsort(jnp.argsort(jnp.where(self.filled, -self.scores, jnp.inf))) + 1
        by_score = jnp.where(self.filled, (1 / ranks.astype(float)) ** (1 / self.temperature), 0.0)
        stale = jnp.where(self.filled, self.num_episodes - self.drawn_at, 0).astype(float)
        # Levels that were all drawn just now are equally stale.
        stale = jnp.where(stale.sum() > 0, stale, self.filled.astype(float))
        share = self.staleness_coefficient
        return (1 - share) * by_score / by_score.sum() + share * stale / stale.sum()

    def sample(self, key: jax.Array, num_levels: int) -> tuple[Self, Int[Array, "num_levels"], dict[str, Any]]:
        """Draw levels one after the other; each is less stale afterwards. There must be at least one.

        Returns:
            The buffer after the draws, the places of the levels, and the levels `[num_levels, ...]`.
        """

        def draw(sampler: Self, key: jax.Array) -> tuple[Self, jax.Array]:
            index = jax.random.choice(key, self.capacity, p=sampler.weights()).astype(jnp.int32)
            count = sampler.num_episodes + 1
            return sampler.replace(drawn_at=sampler.drawn_at.at[index].set(count), num_episodes=count), index

        sampler, indices = jax.lax.scan(draw, self, jax.random.split(key, num_levels))
        return sampler, indices, jax.tree.map(lambda leaf: leaf[indices], self.levels)

    def insert(self, levels: dict[str, Any], scores: Float[Array, "num_levels"]) -> Self:
        """Offer levels `[num_levels, ...]` one after the other, and return the buffer with those that it took."""

        def offer(sampler: Self, new: tuple[dict[str, Any], jax.Array]) -> tuple[Self, None]:
            level, score = new
            is_full = sampler.size == sampler.capacity
            index = jnp.where(is_full, jnp.argmin(sampler.weights()), jnp.minimum(sampler.size, sampler.capacity - 1))
            taken = sampler.replace(
                levels=jax.tree.map(lambda old, leaf: old.at[index].set(leaf), sampler.levels, level),
                scores=sampler.scores.at[index].set(score),
                drawn_at=sampler.drawn_at.at[index].set(sampler.num_episodes + 1),
                size=jnp.minimum(sampler.size + 1, sampler.capacity),
            )
            chosen = select(sampler.scores[index] < score, taken, sampler)
            return chosen.replace(num_episodes=sampler.num_episodes + 1), None

        sampler, _ = jax.lax.scan(offer, self, (levels, scores.astype(self.scores.dtype)))
        return sampler

    def rescore(self, indices: Int[Array, "num_levels"], scores: Float[Array, "num_levels"]) -> Self:
        """Return the buffer with new scores at some places; of one place that is named twice, the last counts."""

        def update(kept: jax.Array, new: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            return kept.at[new[0]].set(new[1]), None

        scores, _ = jax.lax.scan(update, self.scores, (indices, scores.astype(self.scores.dtype)))
        return self.replace(scores=scores)

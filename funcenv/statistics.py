"""Statistics of the episodes that end in a rollout, kept for each environment until the rollout is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv._compile.rollout.step import Play
from funcenv.struct import PyTreeNode
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep, select


class RolloutStatistics(PyTreeNode):
    """The episodes that ended in a rollout; NaN where a figure needs at least one and there was none."""

    count: Int[Array, ""]
    mean_return: Float[Array, ""]
    std_return: Float[Array, ""]
    min_return: Float[Array, ""]
    max_return: Float[Array, ""]
    mean_length: Float[Array, ""]
    std_length: Float[Array, ""]
    min_length: Float[Array, ""]
    max_length: Float[Array, ""]


class Moments(PyTreeNode):
    """Spread and range of a stream of numbers, kept for each environment: `[num_envs]`.

    Sums are taken of the distance to the first number, so that equal numbers have a spread of exactly 0 in float32.
    """

    first: Float[Array, "num_envs"]
    total: Float[Array, "num_envs"]
    squares: Float[Array, "num_envs"]
    smallest: Float[Array, "num_envs"]
    largest: Float[Array, "num_envs"]

    @classmethod
    def empty(cls, like: jax.Array) -> Moments:
        """Of no number yet."""
        zeros, infinity = jnp.zeros_like(like), jnp.full_like(like, jnp.inf)
        return cls(first=zeros, total=zeros, squares=zeros, smallest=infinity, largest=-infinity)

    def add(self, count: jax.Array, number: jax.Array) -> Moments:
        """One number more for every environment, which has had `count` so far."""
        first = jnp.where(count == 0, number, self.first)
        distance = number - first
        return Moments(
            first=first,
            total=self.total + distance,
            squares=self.squares + distance**2,
            smallest=jnp.minimum(self.smallest, number),
            largest=jnp.maximum(self.largest, number),
        )

    def combined(self, counts: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Mean, standard deviation, least and greatest over all environments."""
        count = counts.astype(self.total.dtype)
        number = _reduced(jnp.sum, count, 0)
        weight = jnp.where(count > 0, count / number, 0)
        shift = self.total / jnp.maximum(count, 1)
        means = self.first + shift
        within = jnp.maximum(self.squares / jnp.maximum(count, 1) - shift**2, 0)
        # Any number near the mean, so that equal means have a spread of exactly 0.
        centre = _reduced(jnp.max, jnp.where(count > 0, means, -jnp.inf), -jnp.inf)
        mean = centre + _reduced(jnp.sum, weight * (means - centre), 0)
        variance = _reduced(jnp.sum, weight * (within + (means - mean) ** 2), 0)
        nan = jnp.where(number > 0, 0, jnp.nan).astype(mean.dtype)
        least, greatest = _reduced(jnp.min, self.smallest, jnp.inf), _reduced(jnp.max, self.largest, -jnp.inf)
        return mean + nan, jnp.sqrt(variance) + nan, least + nan, greatest + nan


def _reduced(reduce: Callable[..., jax.Array], numbers: jax.Array, neutral: float) -> jax.Array:
    """`reduce(numbers)`; of many, lane by lane and then over lanes.

    XLA's CPU backend takes one number after the other where it must not reorder them. The barrier keeps it from making
    one reduction of the two again.
    """
    if numbers.size < _MANY:
        return reduce(numbers)
    barrier: Any = jax.lax.optimization_barrier  # for which JAX has no types
    padded = jnp.pad(numbers, (0, -numbers.size % _LANES), constant_values=neutral)
    return reduce(barrier(reduce(padded.reshape(-1, _LANES), axis=0)))


_LANES = 64
_MANY = 1024  # numbers: of fewer a second reduction costs more to compile than it saves


class Episodes(PyTreeNode):
    """The totals of a rollout."""

    counts: Int[Array, "num_envs"]
    returns: Moments
    lengths: Moments
    over: Bool[Array, "num_envs"] | None  # in the mode DISABLED: an environment left where it ended counts once

    @classmethod
    def start(cls, venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any]) -> Episodes:
        """No episode yet."""
        nothing = Moments.empty(vstate.episode_return)
        left = venv.autoreset_mode is AutoresetMode.DISABLED
        return cls(
            counts=jnp.zeros(vstate.done.shape, jnp.int32),
            returns=nothing,
            lengths=nothing,
            over=vstate.done if left else None,
        )

    def add(self, timestep: VectorTimestep[Any]) -> Episodes:
        """One episode more where one ended."""
        ended = timestep.done if self.over is None else timestep.done & ~self.over
        lengths = timestep.episode_length.astype(timestep.episode_return.dtype)
        more = Episodes(
            counts=self.counts + 1,
            returns=self.returns.add(self.counts, timestep.episode_return),
            lengths=self.lengths.add(self.counts, lengths),
            over=None if self.over is None else jnp.ones_like(self.over),
        )
        added: Episodes = select(ended, more, self)
        return added

    def statistics(self) -> RolloutStatistics:
        """Over all environments."""
        both = jax.tree.map(lambda *leaves: jnp.stack(leaves), self.returns, self.lengths)
        figures = jax.vmap(Moments.combined, in_axes=(0, None))(both, self.counts)
        (mean_return, mean_length), (std_return, std_length), (min_return, min_length), (max_return, max_length) = (
            figures
        )
        return RolloutStatistics(
            count=self.counts.sum(dtype=jnp.int32),
            mean_return=mean_return,
            std_return=std_return,
            min_return=min_return,
            max_return=max_return,
            mean_length=mean_length,
            std_length=std_length,
            min_length=min_length,
            max_length=max_length,
        )


EPISODES = Play(
    start=Episodes.start,
    add=lambda timestep, totals: totals.add(timestep),
    idle_without_ends=True,
)

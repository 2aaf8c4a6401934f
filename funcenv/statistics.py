"""Statistics of the episodes that end in a rollout."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv._compile.rollout.step import Accumulator
from funcenv._jax import config
from funcenv.func_env import AnyEnv
from funcenv.row_groups import by_group
from funcenv.struct import PyTreeNode
from funcenv.trees import select
from funcenv.vector import AnyVectorEnv, AutoresetMode, VectorState, VectorTimestep
from funcenv.vector_step import map_rows


class RolloutStatistics(PyTreeNode):
    """Statistics of the episodes that ended in a rollout.

    A figure is NaN if it needs at least one episode and none ended. Inside a function that is traced while
    `jax_debug_nans` is set it is 0, because that option refuses every program that returns NaN.
    """

    count: Int[Array, ""]
    mean_return: Float[Array, ""]
    std_return: Float[Array, ""]
    min_return: Float[Array, ""]
    max_return: Float[Array, ""]
    mean_length: Float[Array, ""]
    std_length: Float[Array, ""]
    min_length: Float[Array, ""]
    max_length: Float[Array, ""]
    success_rate: Float[Array, ""] | None = None  # where `info["is_success"]` tells whether the goal is achieved


IS_SUCCESS = "is_success"
"""The entry of `info` that tells whether the goal is achieved, as that of a `GoalEnv` does."""


def success_of(timestep: VectorTimestep[Any]) -> Bool[Array, "*rows"] | None:
    """Return whether the goal is achieved, before any reset; None if the environment does not tell it.

    >>> import funcenv
    >>> venv = funcenv.FuncVectorEnv(funcenv.make("BitFlip-v0"), num_envs=2)
    >>> success_of(venv.reset(funcenv.key(0))[1]).tolist()
    [False, False]
    """
    value = timestep.final_info.get(IS_SUCCESS)
    return value.astype(bool) if isinstance(value, jax.Array) and value.shape == timestep.done.shape else None


def tells_success(venv: AnyVectorEnv, vstate: VectorState[Any]) -> bool:
    """Return whether the environments tell in every state whether the goal is achieved."""

    def infos(env: AnyEnv, num_envs: int, states: Any) -> Any:
        return map_rows(lambda env, state: env.state_info(state), env, num_envs, states)

    info = jax.eval_shape(lambda states: by_group(infos, venv.env, venv.num_envs, states), vstate.env_state)
    return IS_SUCCESS in info and getattr(info[IS_SUCCESS], "shape", None) == (venv.num_envs,)


class Moments(PyTreeNode):
    """Spread and range of a stream of numbers for each environment, `[num_envs]`.

    Sums are taken of the distance to the first number, so that equal numbers have a spread of exactly 0 in float32.
    """

    first: Float[Array, "num_envs"]
    total: Float[Array, "num_envs"]
    squares: Float[Array, "num_envs"]
    smallest: Float[Array, "num_envs"]
    largest: Float[Array, "num_envs"]

    @classmethod
    def empty(cls, like: jax.Array) -> Moments:
        """Return the moments of no numbers, with the shape and dtype of `like`."""
        zeros, infinity = jnp.zeros_like(like), jnp.full_like(like, jnp.inf)
        return cls(first=zeros, total=zeros, squares=zeros, smallest=infinity, largest=-infinity)

    def add(self, count: jax.Array, number: jax.Array) -> Moments:
        """Add one number for every environment, which has had `count` numbers so far."""
        first = jnp.where(count == 0, number, self.first)
        distance = number - first
        return Moments(
            first=first,
            total=self.total + distance,
            squares=self.squares + distance**2,
            smallest=jnp.minimum(self.smallest, number),
            largest=jnp.maximum(self.largest, number),
        )

    def combine(self, counts: jax.Array, missing: float) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Compute mean, standard deviation, minimum and maximum over all environments; `missing` without numbers."""
        count = counts.astype(self.total.dtype)
        number = count.sum()
        weight = count / jnp.maximum(number, 1)
        shift = self.total / jnp.maximum(count, 1)
        means = self.first + shift
        within = jnp.maximum(self.squares / jnp.maximum(count, 1) - shift**2, 0)
        # Distances are taken to a number near the mean, so that equal means have a spread of exactly 0.
        centre = jnp.where(number > 0, jnp.where(count > 0, means, -jnp.inf).max(), 0)
        mean = centre + (weight * (means - centre)).sum()
        variance = (weight * (within + (means - mean) ** 2)).sum()
        mean, deviation, smallest, largest = (
            jnp.where(number > 0, figure, missing)
            for figure in (mean, jnp.sqrt(variance), self.smallest.min(), self.largest.max())
        )
        return mean, deviation, smallest, largest


class EpisodeTotals(PyTreeNode):
    """Totals of the episodes that ended in each environment."""

    counts: Int[Array, "num_envs"]
    returns: Moments
    lengths: Moments
    successes: Int[Array, "num_envs"] | None  # number of episodes that ended with the goal achieved
    counted: Bool[Array, "num_envs"] | None  # true if the ended episode is counted already; only in the mode DISABLED

    @classmethod
    def init(cls, venv: AnyVectorEnv, vstate: VectorState[Any]) -> EpisodeTotals:
        """Return the totals of no episodes."""
        empty = Moments.empty(vstate.episode_return)
        return cls(
            counts=jnp.zeros(vstate.done.shape, jnp.int32),
            returns=empty,
            lengths=empty,
            successes=jnp.zeros(vstate.done.shape, jnp.int32) if tells_success(venv, vstate) else None,
            counted=vstate.done if venv.autoreset_mode is AutoresetMode.DISABLED else None,
        )

    def update(self, timestep: VectorTimestep[Any]) -> EpisodeTotals:
        """Add the episodes that ended in a step."""
        ended = timestep.done if self.counted is None else timestep.done & ~self.counted
        lengths = timestep.episode_length.astype(timestep.episode_return.dtype)
        more = EpisodeTotals(
            counts=self.counts + 1,
            returns=self.returns.add(self.counts, timestep.episode_return),
            lengths=self.lengths.add(self.counts, lengths),
            successes=None if self.successes is None else self.successes + _required_success(timestep),
            counted=None if self.counted is None else jnp.ones_like(self.counted),
        )
        updated: EpisodeTotals = select(ended, more, self)
        return updated

    def statistics(self, missing: float = jnp.nan) -> RolloutStatistics:
        """Compute the statistics over all environments; a figure is `missing` if it needs an episode and none ended."""
        both = jax.tree.map(lambda *leaves: jnp.stack(leaves), self.returns, self.lengths)
        combined = jax.vmap(Moments.combine, in_axes=(0, None, None))(both, self.counts, missing)
        figures = {
            f"{figure}_{quantity}": values[i]
            for figure, values in zip(("mean", "std", "min", "max"), combined, strict=True)
            for i, quantity in enumerate(("return", "length"))
        }
        count = self.counts.sum(dtype=jnp.int32)
        if self.successes is not None:
            rate = self.successes.sum().astype(float) / jnp.maximum(count, 1).astype(float)
            figures["success_rate"] = jnp.where(count > 0, rate, missing)
        return RolloutStatistics(count=count, **figures)


def _required_success(timestep: VectorTimestep[Any]) -> Int[Array, "num_envs"]:
    success = success_of(timestep)
    assert success is not None  # narrows the type for mypy; `tells_success` says so
    return success.astype(jnp.int32)


EPISODE_TOTALS = Accumulator(
    entry="rollout",
    init=EpisodeTotals.init,
    update=lambda timestep, totals: totals.update(timestep),
    changes_only_at_ends=True,
    summary=EpisodeTotals.statistics,
)
_WITHOUT_NAN = EPISODE_TOTALS._replace(summary=functools.partial(EpisodeTotals.statistics, missing=0.0))


def episode_totals() -> Accumulator:
    """Return the accumulator of `RolloutStatistics`, whose program computes no NaN if `jax_debug_nans` is set."""
    return _WITHOUT_NAN if config.jax_debug_nans else EPISODE_TOTALS


def marked_missing(statistics: RolloutStatistics) -> RolloutStatistics:
    """Return statistics with the NaN that `jax_debug_nans` keeps programs from computing, unless they are traced."""
    if not config.jax_debug_nans or isinstance(statistics.count, jax.core.Tracer) or statistics.count > 0:
        return statistics
    nan = jax.device_put(np.full((), np.nan, statistics.mean_return.dtype))
    nans: RolloutStatistics = jax.tree.map(lambda _: nan, statistics)
    return nans.replace(count=statistics.count)

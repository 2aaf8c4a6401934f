"""Running mean and variance of a stream of vectors, normalization by them, and moments that a batch shares."""

from __future__ import annotations

import math
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.struct import PyTreeNode, field

Tree = TypeVar("Tree")

_TINY = 1e-30  # replaces a count of 0 below a fraction; smaller than any other count


class RunningMoments(PyTreeNode):
    """Mean and variance of all vectors so far, updated batch by batch.

    Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1982.

    >>> moments = RunningMoments.empty((1,)).update(jnp.array([[1.0], [3.0]])).update(jnp.array([[5.0]]))
    >>> float(moments.mean[0]), round(float(moments.variance[0]), 4)
    (3.0, 2.6667)
    """

    count: Float[Array, ""] = field(ndim=0)
    mean: Float[Array, "*shape"] = field(ndim=1)
    variance: Float[Array, "*shape"] = field(ndim=1)

    @classmethod
    def empty(cls, shape: tuple[int, ...], count: float = 0.0) -> RunningMoments:
        """Return the moments before the first batch: mean 0, variance 1, which weigh as much as `count` vectors."""
        return cls(count=jnp.full((), count, float), mean=jnp.zeros(shape, float), variance=jnp.ones(shape, float))

    def update(self, batch: Float[Array, "... *shape"]) -> RunningMoments:
        """Return the moments after a batch with any leading axes."""
        leading = tuple(range(batch.ndim - self.mean.ndim))  # not merged: some may be spread over devices
        mean = batch.mean(leading)
        variance = ((batch - jnp.expand_dims(mean, leading)) ** 2).mean(leading)
        count = math.prod(batch.shape[axis] for axis in leading)
        return self.merge(RunningMoments(jnp.full((), count, self.count.dtype), mean, variance))

    def merge(self, other: RunningMoments) -> RunningMoments:
        """Return the moments of both streams.

        >>> one, other = (RunningMoments.empty(()).update(jnp.array(numbers)) for numbers in ([1.0, 3.0], [5.0]))
        >>> float(one.merge(other).mean)
        3.0
        """
        count = self.count + other.count
        share = other.count / jnp.maximum(count, _TINY)
        delta = other.mean - self.mean
        return RunningMoments(
            count=count,
            mean=self.mean + share * delta,
            variance=(1 - share) * self.variance + share * other.variance + share * (1 - share) * delta**2,
        )

    def pool(self) -> RunningMoments:
        """Return the moments of all streams together, given those of each stream along a leading axis.

        >>> streams = jax.vmap(RunningMoments.empty(()).update)(jnp.array([[1.0, 3.0], [5.0, 7.0]]))
        >>> float(streams.pool().mean), float(streams.pool().variance)
        (4.0, 5.0)
        """
        count = self.count.sum(0)
        weights = self.count / jnp.maximum(count, _TINY)
        weights = weights.reshape(-1, *(1,) * (self.mean.ndim - 1))
        mean = (weights * self.mean).sum(0)
        variance = (weights * (self.variance + (self.mean - mean[None]) ** 2)).sum(0)
        return RunningMoments(count=count, mean=mean, variance=variance)

    def normalize(
        self, vector: Float[Array, "... *shape"], clip: float | None = 10.0, epsilon: float | Array = 1e-8
    ) -> Float[Array, "... *shape"]:
        """Shift to mean 0, scale to variance 1, and clip to `[-clip, clip]` unless `clip` is None."""
        deviation = jnp.sqrt(self.variance + epsilon)
        mean, deviation = (jnp.broadcast_to(m, vector.shape) for m in (self.mean, deviation))
        return _clip((vector - mean) / deviation, clip)

    def scale(
        self, vector: Float[Array, "... *shape"], clip: float | None = 10.0, epsilon: float | Array = 1e-8
    ) -> Float[Array, "... *shape"]:
        """Scale to variance 1 and clip, without a shift, which would change the signs of rewards."""
        return _clip(vector / jnp.sqrt(self.variance + epsilon), clip)


class SharedMoments(PyTreeNode):
    """The moments that one environment of a batch knows: those that all share, and its own since they were shared."""

    shared: RunningMoments
    own: RunningMoments

    @classmethod
    def begin(cls, shared: RunningMoments) -> SharedMoments:
        """Return moments that know only what is shared."""
        return cls(shared=shared, own=RunningMoments.empty(shared.mean.shape))

    @property
    def total(self) -> RunningMoments:
        """The moments of everything that this environment knows."""
        return self.shared.merge(self.own)

    def add(self, vector: Float[Array, "*shape"]) -> SharedMoments:
        """Return the moments after one vector."""
        return SharedMoments(shared=self.shared, own=self.own.update(vector))


def pool_moments(moments: SharedMoments) -> RunningMoments:
    """Return what all environments of a batch know together, or one environment that is not in a batch."""
    if not jnp.ndim(moments.own.count):
        return moments.total
    shared = jax.tree.map(lambda leaf: leaf[0], moments.shared)
    return shared.merge(moments.own.pool())


def share_moments(vstate: Tree) -> Tree:
    """Return the state of a vector environment after its environments have shared their running moments.

    Every environment then normalizes by what all have seen, as Gymnasium's vector wrappers do. Between two calls, an
    environment normalizes by what was shared and what it has seen itself. Nothing else changes. The function is pure,
    and can be called after every rollout or after every step.

    Args:
        vstate: the vector state, or any pytree with a leading axis of environments that holds `SharedMoments`.

    >>> import funcenv
    >>> env = funcenv.wrappers.NormalizeObservation(funcenv.make("CartPole-v1"))
    >>> venv = funcenv.FuncVectorEnv(env, num_envs=8)
    >>> vstate, _ = venv.reset(funcenv.key(0))
    >>> vstate = share_moments(vstate)
    >>> vstate.env_state.moments.shared.count.round().tolist()
    [8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    """

    def share(node: object) -> object:
        if not isinstance(node, SharedMoments):
            return node
        pooled = SharedMoments.begin(pool_moments(node))
        return jax.tree.map(lambda new, old: jnp.broadcast_to(new, old.shape).astype(old.dtype), pooled, node)

    shared: Tree = jax.tree.map(share, vstate, is_leaf=lambda node: isinstance(node, SharedMoments))
    return shared


def _clip(vector: jax.Array, clip: float | None) -> jax.Array:
    return vector if clip is None else jnp.clip(vector, -clip, clip)

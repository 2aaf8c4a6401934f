"""Running mean and variance of a stream of batches, and normalization by them."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.struct import PyTreeNode


class RunningMoments(PyTreeNode):
    """Mean and variance of all vectors so far, updated batch by batch.

    Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1982.

    >>> moments = RunningMoments.empty((1,)).update(jnp.array([[1.0], [3.0]])).update(jnp.array([[5.0]]))
    >>> float(moments.mean[0]), round(float(moments.variance[0]), 4)
    (3.0, 2.6667)
    """

    count: Float[Array, ""]
    mean: Float[Array, "*shape"]
    variance: Float[Array, "*shape"]

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> RunningMoments:
        """Return the moments before the first batch: mean 0, variance 1."""
        return cls(count=jnp.zeros((), float), mean=jnp.zeros(shape, float), variance=jnp.ones(shape, float))

    def update(self, batch: Float[Array, "... *shape"]) -> RunningMoments:
        """Return the moments after a batch with any leading axes."""
        rows = batch.reshape(-1, *self.mean.shape)
        batch_mean = rows.mean(0)
        batch_variance = ((rows - batch_mean[None]) ** 2).mean(0)
        count = self.count + rows.shape[0]
        share = rows.shape[0] / count
        delta = batch_mean - self.mean
        return RunningMoments(
            count=count,
            mean=self.mean + share * delta,
            variance=(1 - share) * self.variance + share * batch_variance + share * (1 - share) * delta**2,
        )

    def normalize(self, vector: Float[Array, "... *shape"], clip: float = 10.0) -> Float[Array, "... *shape"]:
        """Shift to mean 0, scale to variance 1, and clip to `[-clip, clip]`."""
        mean, deviation = (jnp.broadcast_to(m, vector.shape) for m in (self.mean, jnp.sqrt(self.variance + 1e-8)))
        return jnp.clip((vector - mean) / deviation, -clip, clip)

    def scale(self, vector: Float[Array, "... *shape"], clip: float = 10.0) -> Float[Array, "... *shape"]:
        """Scale to variance 1 and clip to `[-clip, clip]`, without a shift, which would change the signs of rewards."""
        return jnp.clip(vector / jnp.sqrt(self.variance + 1e-8), -clip, clip)

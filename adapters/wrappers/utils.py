"""Running moments and zeros for wrappers, under the name of `gymnasium.wrappers.utils`."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from funcenv.adapters.spaces.space import plain_member
from funcenv.struct import NDArray

__all__ = ["RunningMeanStd", "create_zero_array"]


class RunningMeanStd:
    """Mean and variance of all values so far, as Gymnasium's class of this name computes them.

    Args:
        epsilon: Weight of mean 0 and variance 1 before the first value.
        shape: Shape of a value.
        dtype: Dtype of mean and variance.

    Attributes:
        mean: Mean, of the shape of a value.
        var: Variance, likewise.
        count: Number of values, plus `epsilon`.

    >>> moments = RunningMeanStd()
    >>> moments.update([1.0])
    >>> moments.update([3.0, 5.0])
    >>> round(float(moments.mean), 2), round(float(moments.var), 2), round(moments.count)
    (3.0, 2.67, 3)
    """

    def __init__(self, epsilon: float = 1e-4, shape: tuple[int, ...] = (), dtype: Any = np.float64) -> None:
        self.mean: NDArray = np.zeros(shape, dtype)
        self.var: NDArray = np.ones(shape, dtype)
        self.count = epsilon

    def update(self, x: Any) -> None:
        """Add a batch of values, `[number, *shape]`."""
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), len(x))

    def update_from_moments(self, batch_mean: Any, batch_var: Any, batch_count: int) -> None:
        """Add a batch of `batch_count` values, of which mean and variance are given."""
        difference, count = batch_mean - self.mean, self.count + batch_count
        squares = self.var * self.count + batch_var * batch_count
        squares = squares + difference**2 * self.count * batch_count / count
        self.mean = self.mean + difference * batch_count / count
        self.var, self.count = squares / count, count


def create_zero_array(space: Any) -> Any:
    """Return the member of a space that is closest to zero.

    Args:
        space: Space of `funcenv.adapters.spaces`.

    Raises:
        TypeError: The members vary in size, such as strings, so that none stands for zero.

    >>> from funcenv.adapters.spaces import Box
    >>> create_zero_array(Box(np.array([-1, 2]), 3, dtype=np.float32))
    array([0., 2.], dtype=float32)
    """
    with jax.enable_x64(True):
        return plain_member(space.pure, space.pure.zero())

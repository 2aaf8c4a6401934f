"""Arrays of zeros and ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int8

from funcenv.spaces._bounds import as_array
from funcenv.spaces._dtypes import dtype_of, is_array, with_shape
from funcenv.spaces._sampling import require_entries, require_one
from funcenv.spaces.batch import stack_space
from funcenv.spaces.box import Box
from funcenv.spaces.space import Space, require_alike


class MultiBinary(Space[jax.Array]):
    """Arrays of zeros and ones: int8, of shape `[n]`, or of the shape `n`.

    Args:
        n: the number of entries, or a shape.

    Raises:
        ValueError: A size is below 1.
        TypeError: `n` is neither an integer nor a sequence of integers.

    >>> import funcenv
    >>> space = MultiBinary([3, 2])
    >>> space
    MultiBinary((3, 2))
    >>> bool(space.contains(space.sample(funcenv.key(0))))
    True
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.int8)

    def __init__(self, n: int | Sequence[int]) -> None:
        try:
            self.n: int | tuple[int, ...] = tuple(map(operator.index, n)) if np.iterable(n) else operator.index(n)
        except TypeError:
            raise TypeError(f"MultiBinary needs an integer or a shape, got {n!r}") from None
        self.shape = (self.n,) if isinstance(self.n, int) else self.n
        if min(self.shape, default=1) < 1:
            raise ValueError(f"MultiBinary needs sizes of at least 1, got {n!r}")

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Int8[Array, "*shape"]:
        """Draw a member: independent entries, each 1 with probability 1/2 by default.

        Args:
            key: a typed key.
            mask: an array of the shape of a member: 0 and 1 fix an entry, 2 leaves it free.
            probability: an array of the shape of a member: the probability of a 1.

        Raises:
            ValueError: Both `mask` and `probability` are given, or one has a wrong shape or wrong entries.
        """
        require_one(mask, probability)
        if probability is not None:
            chance = require_entries("probability", probability, self.shape, "in [0, 1]", lambda p: (p >= 0) & (p <= 1))
            return jax.random.bernoulli(key, chance.astype(float)).astype(self.dtype)
        coins = (jax.random.bits(key, self.shape, np.uint8) & np.uint8(1)).astype(self.dtype)
        if mask is None:
            return coins
        fixed = require_entries("mask", mask, self.shape, "0, 1 or 2", lambda entries: np.isin(entries, (0, 1, 2)))
        fixed = fixed.astype(self.dtype)
        return jnp.where(fixed == 2, coins, fixed)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` has the shape, and every entry equals 0 or 1, of any number dtype."""
        x = as_array(x, np.dtype(float)) if dtype_of(x) is None else x
        if not is_array(x, "biuf", self.shape):
            return jnp.zeros((), bool)
        return jnp.asarray(((x == 0) | (x == 1)).all())

    def union(self, other: Any) -> MultiBinary:
        """Return the space itself, because no other space has its shape."""
        require_alike("kind or shape", lambda space: space.n, self, other)
        return self

    @property
    def flattened(self) -> Box:
        """Vectors between 0 and 1."""
        return Box(0, 1, (int(np.prod(self.shape)),), self.dtype)

    def flatten(self, x: Any) -> Int8[Array, "size"]:
        """Return the entries in row-major order."""
        return with_shape("a member of MultiBinary", x, self.shape, self.dtype).reshape(-1)

    def unflatten(self, flat: Any) -> Int8[Array, "*shape"]:
        """Reshape the vector to the shape of a member."""
        size = (int(np.prod(self.shape)),)
        return with_shape("a flattened member of MultiBinary", flat, size, self.dtype).reshape(self.shape)

    @property
    def bounds(self) -> tuple[Any, Any]:
        """0 and 1."""
        return np.int64(0), np.int64(1)

    def zero(self) -> Int8[Array, "*shape"]:
        """Return zeros."""
        return jnp.zeros(self.shape, self.dtype)

    def parts(self) -> tuple[Any, ...]:
        """Return `n`."""
        return (self.n,)

    def __repr__(self) -> str:
        return f"MultiBinary({self.n})"


@stack_space.register
def _(space: MultiBinary, n: int) -> Box:
    return Box(0, 1, (n, *space.shape), space.dtype)

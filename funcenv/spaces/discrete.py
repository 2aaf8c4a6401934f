"""A finite set of consecutive integers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.checks import require_integer, require_size
from funcenv.spaces import _sampling
from funcenv.spaces._dtypes import canonical, integers_within, is_array, read_dtype, require_range, with_shape
from funcenv.spaces.box import Box
from funcenv.spaces.space import Space, require_alike


class IntegerSpace(Space[jax.Array]):
    """The base of `Discrete` and `MultiDiscrete`: each element has its own range of integers."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: Any
    _last: Any

    def _require_dtype(self, described: str) -> None:
        """Raise `ValueError` unless the dtype is an integer dtype that can represent all members."""
        if self.dtype.kind not in "iu":
            raise ValueError(f"{type(self).__name__} needs an integer dtype, got {self.dtype}")
        limits = np.iinfo(self.dtype)
        if np.any(self.start < limits.min) or np.any(self._last > limits.max):
            raise ValueError(f"{described} does not fit {self.dtype}; pass a wider dtype")

    def _member(self, index: jax.Array) -> jax.Array:
        """Add the smallest values to indices from 0."""
        dtype = canonical(self.dtype)
        return index.astype(dtype) + jnp.asarray(np.asarray(self.start).astype(dtype))

    @property
    def bounds(self) -> tuple[Any, Any]:
        """The smallest and the largest value of each element."""
        return np.asarray(self.start), np.asarray(self._last)

    def zero(self) -> jax.Array:
        """Return the smallest value of each element."""
        return jnp.asarray(self.start, self.dtype)


class Discrete(IntegerSpace):
    """The integers `start, ..., start + n - 1`.

    Args:
        n: number of members, at least 1.
        start: the smallest member.
        dtype: an integer dtype that can represent all members. The default is int32, because JAX has no int64 without
            `jax_enable_x64`; Gymnasium's default is int64.

    Raises:
        ValueError: `n` is below 1, or `dtype` is not an integer dtype or cannot represent all members.
        TypeError: `n` or `start` is not an integer.

    >>> import funcenv
    >>> space = Discrete(3, start=-1)
    >>> space
    Discrete(3, start=-1)
    >>> bool(space.contains(space.sample(funcenv.key(0)))), -2 in space
    (True, False)
    """

    shape = ()

    def __init__(self, n: int, start: int = 0, dtype: Any = np.int32) -> None:
        self.n, self.start = require_size("n of Discrete", n), require_integer("start of Discrete", start)
        self.dtype = read_dtype("Discrete", dtype)
        self._last = self.start + self.n - 1
        self._require_dtype(f"Discrete({self.n}, start={self.start})")

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Int[Array, ""]:
        """Draw a member: uniformly, or under a mask or with given probabilities.

        Args:
            key: a typed key.
            mask: `[n]` bool or 0/1. Members with a true entry are drawn uniformly. A traced mask without a true entry
                gives `start`.
            probability: `[n]`, the probability of each member: non-negative numbers that sum to 1.

        Raises:
            ValueError: Both `mask` and `probability` are given, or one has a wrong shape or wrong entries: a mask that
                allows nothing, or probabilities that do not sum to 1.
        """
        _sampling.require_one(mask, probability)
        dtype = require_range(self, self.dtype, self.start, self._last)
        if mask is not None:
            index = _sampling.draw_allowed(key, _sampling.require_mask(mask, self.n))
        elif probability is not None:
            index = _sampling.draw_weighted(key, _sampling.require_distribution(probability, self.n))
        else:
            word = np.dtype("u4" if self.n <= _sampling.MAX_ONE_WORD_CHOICES else f"u{max(dtype.itemsize, 4)}")
            index = _sampling.uniform_below(key, jnp.asarray(np.uint64(self.n).astype(word)), self.n)
        return self._member(index)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` is an integer scalar in range, of any integer dtype; a float is not a member."""
        if isinstance(x, int):
            return jnp.asarray(self.start <= x <= self._last)
        if not is_array(x, "iu", ()):
            return jnp.zeros((), bool)
        return integers_within(x, self.start, self._last)

    def union(self, other: Any) -> Discrete:
        """Return the range that spans both."""
        require_alike("kind or dtype", lambda space: space.dtype, self, other)
        start = min(self.start, other.start)
        return Discrete(max(self._last, other._last) + 1 - start, start, self.dtype)

    @property
    def flattened(self) -> Box:
        """Vectors between 0 and 1, which include the one-hot vectors."""
        return Box(0, 1, (self.n,), self.dtype)

    def flatten(self, x: Any) -> Int[Array, "n"]:
        """Return a one-hot vector, or zeros if `x` is not a member."""
        start = np.asarray(self.start).astype(canonical(self.dtype))
        index = with_shape("a member of Discrete", x, (), self.dtype) - start
        return (jnp.arange(self.n, dtype=index.dtype) == index).astype(index.dtype)

    def unflatten(self, flat: Any) -> Int[Array, ""]:
        """Return the member at the first entry that is not 0, or `start` if all entries are 0."""
        hot = with_shape("a flattened member of Discrete", flat, (self.n,), self.dtype) != 0
        return self._member(jnp.argmax(hot))

    def decode(self, member: Any) -> int:
        """Convert a member to an int."""
        return int(member)

    def encode_action(self, x: Any) -> Any:
        """Check an integer on the host, and convert it to an array of the space's dtype.

        Raises:
            ValueError: `x` is out of range or not an integer. A Python bool is one, but a bool of NumPy is none.
        """
        if not (isinstance(x, int) or is_array(x, "iu", ())):
            raise self.refuse_action(x)
        if not self.start <= int(x) <= self._last:
            raise self.refuse_action(int(x))
        return np.asarray(int(x), self.dtype)

    def parts(self) -> tuple[Any, ...]:
        """Return `n`, `start` and `dtype`."""
        return self.n, self.start, self.dtype

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        dtype = f", dtype={self.dtype}" if self.dtype != np.int32 else ""
        return f"Discrete({self.n}{start}{dtype})"

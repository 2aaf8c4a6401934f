"""A finite set of consecutive integers."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.spaces._dtypes import canonical, dtype_of, integers_within, require_range, with_shape
from funcenv.spaces._sampling import (
    ONE_WORD,
    draw_allowed,
    draw_weighted,
    require_mask,
    require_one,
    require_probability,
    uniform_below,
)
from funcenv.spaces.box import Box
from funcenv.spaces.space import Space


class Discrete(Space[jax.Array]):
    """The integers `start, ..., start + n - 1`.

    Args:
        n: number of members, at least 1.
        start: the smallest member.
        dtype: an integer dtype that holds all of them; int32 by default, where Gymnasium has int64, because JAX has no
            int64 without x64.

    Raises:
        ValueError: `n` below 1, or a dtype that is not an integer dtype or does not hold the members.
        TypeError: `n` or `start` is not an integer.

    >>> import funcenv
    >>> space = Discrete(3, start=-1)
    >>> space
    Discrete(3, start=-1)
    >>> bool(space.contains(space.sample(funcenv.key(0)))), -2 in space
    (True, False)
    """

    def __init__(self, n: int, start: int = 0, dtype: Any = np.int32) -> None:
        self.n = _integer("n", n)
        self.start = _integer("start", start)
        self._dtype = np.dtype(dtype)
        if self.n < 1:
            raise ValueError(f"Discrete needs n of at least 1, got {self.n}")
        if self._dtype.kind not in "iu":
            raise ValueError(f"Discrete needs an integer dtype, got {self._dtype}")
        limits = np.iinfo(self._dtype)
        if self.start < limits.min or self._last > limits.max:
            raise ValueError(f"Discrete({self.n}, start={self.start}) does not fit {self._dtype}; pass a wider dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """Members are scalars: ()."""
        return ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The integer dtype of members."""
        return self._dtype

    @property
    def _last(self) -> int:
        return self.start + self.n - 1

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Int[Array, ""]:
        """Draw a member uniformly, or from a part of the space.

        Args:
            key: a typed key.
            mask: `[n]` bool or 0/1; only members with a true entry are drawn, uniformly. If none is true, `start`,
                where the mask is traced and cannot be refused.
            probability: `[n]`, non-negative and summing to 1; the probability of each member. Not together with `mask`.

        Raises:
            ValueError: both are given, or one has the wrong shape or impossible entries: a mask that allows nothing,
                probabilities that do not sum to 1.
        """
        require_one(mask, probability)
        dtype = require_range(self, self.dtype, self.start, self._last)
        if mask is not None:
            index = draw_allowed(key, require_mask(mask, self.n))
        elif probability is not None:
            index = draw_weighted(key, require_probability(probability, self.n))
        elif self.n <= ONE_WORD:
            index = jax.random.bits(key, (), np.uint32) % np.uint32(self.n)
        else:
            word = np.dtype(f"u{max(dtype.itemsize, 4)}")
            index = uniform_below(key, jnp.asarray(np.uint64(self.n % 2**64).astype(word)), self.n)
        return index.astype(dtype) + np.asarray(self.start).astype(dtype)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` is an integer scalar in range.

        Any integer dtype is accepted, also one that does not cast to the dtype of the space; a float is not.
        """
        if isinstance(x, int):
            return jnp.asarray(self.start <= x <= self._last)
        dtype = dtype_of(x)
        if dtype is None or dtype.kind not in "iu" or np.shape(x) != ():
            return jnp.zeros((), bool)
        return integers_within(x, self.start, self._last)

    def union(self, other: Space[Any]) -> Discrete:
        """The range that spans both."""
        if not isinstance(other, Discrete) or other.dtype != self.dtype:
            raise TypeError(f"{self!r} and {other!r} are of different kinds; a union needs spaces of one kind")
        start = min(self.start, other.start)
        return Discrete(max(self._last, other._last) + 1 - start, start, self.dtype)

    @property
    def flattened(self) -> Box:
        """One-hot vectors, among all vectors between 0 and 1."""
        return Box(0, 1, (self.n,), self.dtype)

    def flatten(self, x: Any) -> Int[Array, "n"]:
        """A one-hot vector, all zeros where `x` is no member."""
        index = with_shape("a member of Discrete", x, (), self.dtype) - np.asarray(self.start).astype(
            canonical(self.dtype)
        )
        return (jnp.arange(self.n, dtype=index.dtype) == index).astype(index.dtype)

    def unflatten(self, flat: Any) -> Int[Array, ""]:
        """The member whose entry is the first that is not 0; `start` if all are."""
        index = jnp.argmax(with_shape("a flattened member of Discrete", flat, (self.n,), self.dtype) != 0)
        return index.astype(canonical(self.dtype)) + np.asarray(self.start).astype(canonical(self.dtype))

    @property
    def bounds(self) -> tuple[Any, Any]:
        """The first and the last member."""
        return np.int64(self.start), np.int64(self._last)

    def zero(self) -> Int[Array, ""]:
        """Return the smallest member."""
        return jnp.asarray(self.start, self.dtype)

    def decode(self, member: Any) -> int:
        """Convert a member to an int."""
        return int(member)

    def encode_action(self, x: Any) -> Any:
        """Check an integer on the host, and convert it to an array of the space's dtype.

        Raises:
            ValueError: `x` is out of range or not an integer; a bool is none.
        """
        is_array = getattr(getattr(x, "dtype", None), "kind", "") in ("i", "u") and np.shape(x) == ()
        if isinstance(x, bool) or not (isinstance(x, int) or is_array):
            raise self.refuse_action(x)
        if not self.start <= int(x) <= self._last:
            raise self.refuse_action(int(x))
        return np.asarray(int(x), self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Discrete) and (self.n, self.start, self.dtype) == (other.n, other.start, other.dtype)

    def __hash__(self) -> int:
        return hash((Discrete, self.n, self.start, self.dtype))

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        dtype = f", dtype={self.dtype}" if self.dtype != np.int32 else ""
        return f"Discrete({self.n}{start}{dtype})"


def _integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"Discrete needs an integer {name}, got {value!r}") from None

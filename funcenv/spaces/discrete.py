"""A finite set of consecutive integers."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.spaces.space import Space

# Up to here one 32-bit word modulo n is uniform to within n / 2**32 < 2e-5 of each probability.
_ONE_WORD = 2**16


class Discrete(Space[jax.Array]):
    """The integers `start, ..., start + n - 1`.

    Args:
        n: number of members, at least 1.
        start: the smallest member.
        dtype: an integer dtype that holds all of them.

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
        if self.start < limits.min or self.start + self.n - 1 > limits.max:
            raise ValueError(f"Discrete({self.n}, start={self.start}) does not fit {self._dtype}; pass a wider dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """Members are scalars: ()."""
        return ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The integer dtype of members."""
        return self._dtype

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Int[Array, ""]:
        """Draw a member uniformly, or from a part of the space.

        Args:
            key: a typed key.
            mask: `[n]` bool or 0/1; only members with a true entry are drawn, uniformly. If none is true, `start`.
            probability: `[n]`, non-negative and summing to 1; the probability of each member. Not together with `mask`.

        Raises:
            ValueError: both are given, or one has the wrong shape.
        """
        if mask is not None and probability is not None:
            raise ValueError("pass either mask or probability, not both")
        if mask is not None:
            allowed = self._weights("mask", mask) != 0
            index = jnp.where(allowed.any(), jax.random.categorical(key, jnp.where(allowed, 0.0, -jnp.inf)), 0)
        elif probability is not None:
            index = jax.random.categorical(key, jnp.log(self._weights("probability", probability)))
        elif self.n <= _ONE_WORD:
            index = jax.random.bits(key, (), np.uint32) % np.uint32(self.n)
        else:
            return jax.random.randint(key, (), self.start, self.start + self.n, self.dtype)
        return index.astype(self.dtype) + np.asarray(self.start, self.dtype)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` is an integer scalar in range; any integer dtype is accepted, a float or a bool is not."""
        kind = np.dtype(type(x)).kind if isinstance(x, (int, float)) else getattr(getattr(x, "dtype", None), "kind", "")
        if kind not in ("i", "u") or np.shape(x) != ():
            return jnp.zeros((), bool)
        return (jnp.asarray(x) >= self.start) & (jnp.asarray(x) <= self.start + self.n - 1)

    def union(self, other: Space[Any]) -> Discrete:
        """The range that spans both."""
        if not isinstance(other, Discrete) or other.dtype != self.dtype:
            raise TypeError(f"{self!r} and {other!r} are of different kinds")
        start = min(self.start, other.start)
        return Discrete(max(self.start + self.n, other.start + other.n) - start, start, self.dtype)

    def _weights(self, name: str, values: Any) -> jax.Array:
        array = jnp.asarray(values)
        if array.shape != (self.n,):
            raise ValueError(
                f"{name} must have one entry for each of the {self.n} members, shape ({self.n},), got {array.shape}"
            )
        return array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Discrete) and (self.n, self.start, self.dtype) == (other.n, other.start, other.dtype)

    def __hash__(self) -> int:
        return hash((Discrete, self.n, self.start, self.dtype))

    def __repr__(self) -> str:
        return f"Discrete({self.n}, start={self.start})" if self.start else f"Discrete({self.n})"


def _integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"Discrete needs an integer {name}, got {value!r}") from None

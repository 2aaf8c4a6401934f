"""Arrays of integers, each with a range of its own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.spaces._bounds import as_array
from funcenv.spaces._dtypes import canonical, dtype_of, integers_within, require_range, with_shape
from funcenv.spaces._sampling import (
    draw_allowed,
    draw_weighted,
    require_mask,
    require_one,
    require_probability,
    uniform_below,
)
from funcenv.spaces.batch import stack_space
from funcenv.spaces.box import Box
from funcenv.spaces.discrete import Discrete
from funcenv.spaces.space import Space


class MultiDiscrete(Space[jax.Array]):
    """Arrays whose element i lies in `start[i], ..., start[i] + nvec[i] - 1`.

    Args:
        nvec: how many values each element has, at least 1: an array of the shape of a member.
        start: the smallest value of each element, 0 by default.
        dtype: an integer dtype that holds all values; int32 by default, where Gymnasium has int64.

    Raises:
        ValueError: a count below 1, a `start` of another shape, or a dtype that does not hold the members.
        TypeError: counts or starts that are not integers.

    >>> import funcenv
    >>> space = MultiDiscrete([5, 2], start=[0, -1])
    >>> space
    MultiDiscrete([5 2], start=[ 0 -1])
    >>> bool(space.contains(space.sample(funcenv.key(0)))), space[0]
    (True, Discrete(5))
    """

    def __init__(self, nvec: Any, start: Any = None, dtype: Any = np.int32) -> None:
        self._dtype = np.dtype(dtype)
        if self._dtype.kind not in "iu":
            raise ValueError(f"MultiDiscrete needs an integer dtype, got {self._dtype}")
        counts = _integers("nvec", nvec)
        starts = np.zeros(counts.shape, np.int64) if start is None else _integers("start", start)
        if starts.shape != counts.shape:
            raise ValueError(
                f"MultiDiscrete needs a start for each count, got shapes {starts.shape} and {counts.shape}"
            )
        if (counts < 1).any():
            raise ValueError(f"MultiDiscrete needs counts of at least 1, got nvec={counts}")
        limits = np.iinfo(self._dtype)
        lasts = starts.astype(object) + counts - 1  # of Python integers, which do not overflow
        if (starts < limits.min).any() or (lasts > limits.max).any():
            raise ValueError(f"MultiDiscrete({counts}, start={starts}) does not fit {self._dtype}; pass a wider dtype")
        self.nvec, self.start = counts, starts
        self.nvec.setflags(write=False)
        self.start.setflags(write=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a member."""
        return self.nvec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The integer dtype of members."""
        return self._dtype

    @property
    def _last(self) -> np.ndarray[Any, Any]:
        return self.start + (self.nvec - 1)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Int[Array, "*shape"]:
        """Draw a member: elements independent, each uniform or from a part of its range.

        Args:
            key: a typed key.
            mask: a tuple with a mask for each element (tuples of tuples for several axes), as `Discrete.sample` takes
                it, or None; or an array, where all counts are the same.
            probability: likewise, with probabilities. Not together with `mask`.

        Raises:
            ValueError: both are given, or one has the wrong shape or impossible entries.
            TypeError: `mask` or `probability` is not a tuple.
        """
        require_one(mask, probability)
        if self.nvec.size == 0:
            return jnp.zeros(self.shape, canonical(self.dtype))
        dtype = require_range(self, self.dtype, int(self.start.min()), int(self._last.max()))
        if mask is not None:
            index = draw_allowed(key, self._rows("mask", mask, require_mask)).reshape(self.shape)
        elif probability is not None:
            index = draw_weighted(key, self._rows("probability", probability, require_probability)).reshape(self.shape)
        else:
            word = np.dtype(f"u{max(dtype.itemsize, 4)}")
            index = uniform_below(key, jnp.asarray(self.nvec.astype(word)), int(self.nvec.max()))
        return index.astype(dtype) + jnp.asarray(self.start.astype(dtype))

    def _rows(self, name: str, choices: Any, require: Any) -> Array:
        """The choices of all elements, one row each, with zeros up to the longest."""
        counts = self.nvec.reshape(-1)
        rows = []
        for count, choice in zip(counts, _leaves(name, choices, self.shape), strict=True):
            if choice is None:
                row = np.ones(count, bool) if name == "mask" else np.full(count, 1 / count)
            else:
                row = require(choice, int(count), f"an entry of {name}")
            rows.append(jnp.pad(jnp.asarray(row), (0, int(counts.max() - count))))
        return jnp.stack(rows)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` has the shape and every element is an integer in its range, whatever its integer dtype."""
        x = as_array(x, self.dtype) if dtype_of(x) is None else x
        dtype = dtype_of(x)
        if dtype is None or dtype.kind not in "biu" or np.shape(x) != self.shape:
            return jnp.zeros((), bool)
        return integers_within(x, self.start, self._last)

    def union(self, other: Space[Any]) -> MultiDiscrete:
        """The ranges that span both."""
        if not isinstance(other, MultiDiscrete) or (other.shape, other.dtype) != (self.shape, self.dtype):
            raise TypeError(
                f"{self!r} and {other!r} differ in kind, shape or dtype; a union needs spaces alike in these"
            )
        start = np.minimum(self.start, other.start)
        return MultiDiscrete(np.maximum(self._last, other._last) - start + 1, start, self.dtype)

    @property
    def flattened(self) -> Box:
        """One-hot vectors, one after the other, among all vectors between 0 and 1."""
        return Box(0, 1, (int(self.nvec.sum()),), self.dtype)

    def flatten(self, x: Any) -> Int[Array, "size"]:
        """The one-hot vectors of the elements in row-major order; zeros where one is no member."""
        element, value = self._layout()
        flat = with_shape("a member of MultiDiscrete", x, self.shape, self.dtype).reshape(-1)
        return (flat[element] == jnp.asarray(value.astype(flat.dtype))).astype(flat.dtype)

    def unflatten(self, flat: Any) -> Int[Array, "*shape"]:
        """The value of each element whose entry is the first that is not 0; `start` if all are."""
        counts = self.nvec.reshape(-1)
        hot = with_shape("a flattened member of MultiDiscrete", flat, (int(counts.sum()),), self.dtype) != 0
        place = np.arange(counts.max(initial=1))
        offset = np.minimum((np.cumsum(counts) - counts)[:, None] + place, max(hot.size - 1, 0))
        index = jnp.argmax(hot[offset] & (place < counts[:, None]), axis=1).reshape(self.shape)
        dtype = canonical(self.dtype)
        return index.astype(dtype) + jnp.asarray(self.start.astype(dtype))

    def _layout(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Which element each entry of the flattened vector belongs to, and which of its values it stands for."""
        counts = self.nvec.reshape(-1)
        element = np.repeat(np.arange(counts.size), counts)
        place = np.arange(element.size) - (np.cumsum(counts) - counts)[element]
        return element, place + self.start.reshape(-1)[element]

    @property
    def bounds(self) -> tuple[Any, Any]:
        """The smallest and the largest value of each element."""
        return self.start, self._last

    def zero(self) -> Int[Array, "*shape"]:
        """Return the smallest value of each element."""
        return jnp.asarray(self.start, self.dtype)

    def __getitem__(self, index: Any) -> Space[Any]:
        counts, starts = self.nvec[index], self.start[index]
        if np.ndim(counts) == 0:
            return Discrete(int(counts), int(starts), self.dtype)
        return MultiDiscrete(counts, starts, self.dtype)

    def __len__(self) -> int:
        return len(self.nvec)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MultiDiscrete)
            and self.dtype == other.dtype
            and np.array_equal(self.nvec, other.nvec)
            and np.array_equal(self.start, other.start)
        )

    def __hash__(self) -> int:
        return hash((MultiDiscrete, self.dtype, self.shape, self.nvec.tobytes(), self.start.tobytes()))

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start.any() else ""
        return f"MultiDiscrete({self.nvec}{start})"


@stack_space.register
def _(space: Discrete, n: int) -> MultiDiscrete:
    return MultiDiscrete(np.full(n, space.n), np.full(n, space.start), space.dtype)


@stack_space.register
def _(space: MultiDiscrete, n: int) -> Box:
    low, high = (np.broadcast_to(bound, (n, *space.shape)) for bound in space.bounds)
    return Box(low, high, dtype=space.dtype)


def _integers(name: str, values: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"MultiDiscrete needs integers as {name}, got {values!r}")
    if array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"MultiDiscrete needs {name} below 2**63, got {values!r}")
    return array.astype(np.int64)


def _leaves(name: str, choices: Any, shape: tuple[int, ...]) -> list[Any]:
    """The entries of nested tuples of this shape, in row-major order."""
    if not shape:
        return [choices]
    if choices is None:
        return [None] * int(np.prod(shape))
    if not isinstance(choices, (tuple, list, np.ndarray, jax.Array)):
        raise TypeError(f"{name} must be a tuple with an entry or None for each element, got {choices!r}")
    if len(choices) != shape[0]:
        raise ValueError(f"{name} must have one entry for each of {shape[0]} elements, got {len(choices)}")
    return [leaf for choice in choices for leaf in _leaves(name, choice, shape[1:])]

"""Arrays of integers, where each element has its own range."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.spaces import _sampling
from funcenv.spaces._bounds import as_array
from funcenv.spaces._dtypes import canonical, dtype_of, integers_within, is_array, read_dtype, require_range, with_shape
from funcenv.spaces.batch import stack_space
from funcenv.spaces.box import Box
from funcenv.spaces.discrete import Discrete, IntegerSpace
from funcenv.spaces.space import AnySpace, require_alike
from funcenv.struct import NDArray


class MultiDiscrete(IntegerSpace):
    """Arrays whose element i lies in `start[i], ..., start[i] + nvec[i] - 1`.

    Args:
        nvec: the number of values of each element, at least 1: an array of the shape of a member.
        start: the smallest value of each element, 0 by default.
        dtype: an integer dtype that can represent all values. The default is int32; Gymnasium's is int64.

    Raises:
        ValueError: A count is below 1, `start` has another shape, or `dtype` cannot represent all values.
        TypeError: The counts or starts are not integers.

    >>> import funcenv
    >>> space = MultiDiscrete([5, 2], start=[0, -1])
    >>> space
    MultiDiscrete([5 2], start=[ 0 -1])
    >>> bool(space.contains(space.sample(funcenv.key(0)))), space[0]
    (True, Discrete(5))
    """

    def __init__(self, nvec: Any, start: Any = None, dtype: Any = np.int32) -> None:
        counts = _integers("nvec", nvec)
        starts = np.zeros(counts.shape, np.int64) if start is None else _integers("start", start)
        if starts.shape != counts.shape:
            raise ValueError(
                f"MultiDiscrete needs a start for each count, got shapes {starts.shape} and {counts.shape}"
            )
        if (counts < 1).any():
            raise ValueError(f"MultiDiscrete needs counts of at least 1, got nvec={counts}")
        self.nvec, self.start, self.shape, self.dtype = counts, starts, counts.shape, read_dtype("MultiDiscrete", dtype)
        self._last = starts.astype(object) + counts - 1  # Python integers do not overflow
        self._require_dtype(f"MultiDiscrete({counts}, start={starts})")
        self._last = starts + (counts - 1)
        self.nvec.setflags(write=False)
        self.start.setflags(write=False)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Int[Array, "*shape"]:
        """Draw a member: independent elements, each uniform, or under a mask or with given probabilities.

        Args:
            key: a typed key.
            mask: a tuple with a mask or None for each element, as `Discrete.sample` takes them (nested tuples for
                several axes); or an array, where all counts are equal.
            probability: a tuple with probabilities or None for each element, in the same form.

        Raises:
            ValueError: Both are given, or one has a wrong shape or wrong entries.
            TypeError: `mask` or `probability` is not a tuple.
        """
        _sampling.require_one(mask, probability)
        if self.nvec.size == 0:
            return jnp.zeros(self.shape, canonical(self.dtype))
        dtype = require_range(self, self.dtype, int(self.start.min()), int(self._last.max()))
        if mask is not None:
            index = _sampling.draw_allowed(key, self._rows("mask", mask, _sampling.require_mask)).reshape(self.shape)
        elif probability is not None:
            index = _sampling.draw_weighted(
                key, self._rows("probability", probability, _sampling.require_distribution)
            ).reshape(self.shape)
        else:
            word = np.dtype(f"u{max(dtype.itemsize, 4)}")
            index = _sampling.uniform_below(key, jnp.asarray(self.nvec.astype(word)), int(self.nvec.max()))
        return self._member(index)

    def _rows(self, name: str, choices: Any, require: Any) -> Array:
        """Stack the masks or probabilities of all elements, padded with zeros to the largest count."""
        counts = self.nvec.reshape(-1)
        rows = []
        for count, choice in zip(counts, _leaves(name, choices, self.shape), strict=True):
            if choice is None:
                row = np.ones(count, bool) if name == "mask" else np.full(count, 1 / count)
            else:
                row = require(choice, int(count), f"an entry of {name}")
            rows.append(row)
        return _sampling.stack_padded(rows, int(counts.max()))

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` has the shape and holds integers, of any integer dtype, in their ranges."""
        x = as_array(x, self.dtype) if dtype_of(x) is None else x
        if not is_array(x, "biu", self.shape):
            return jnp.zeros((), bool)
        return integers_within(x, self.start, self._last)

    def union(self, other: Any) -> MultiDiscrete:
        """Return the ranges that span both."""
        require_alike("kind, shape or dtype", lambda space: (space.shape, space.dtype), self, other)
        start = np.minimum(self.start, other.start)
        return MultiDiscrete(np.maximum(self._last, other._last) - start + 1, start, self.dtype)

    @property
    def flattened(self) -> Box:
        """Vectors between 0 and 1, which include the elements' one-hot vectors end to end."""
        return Box(0, 1, (int(self.nvec.sum()),), self.dtype)

    def flatten(self, x: Any) -> Int[Array, "size"]:
        """Return the one-hot vectors of the elements in row-major order, with zeros for values out of range."""
        counts = self.nvec.reshape(-1)
        element = np.repeat(np.arange(counts.size), counts)  # element to which each entry of the vector belongs
        position = np.arange(element.size) - (np.cumsum(counts) - counts)[element]
        value = position + self.start.reshape(-1)[element]
        flat = with_shape("a member of MultiDiscrete", x, self.shape, self.dtype).reshape(-1)
        return (flat[element] == jnp.asarray(value.astype(flat.dtype))).astype(flat.dtype)

    def unflatten(self, flat: Any) -> Int[Array, "*shape"]:
        """Return for each element the value at its first entry that is not 0, or its `start` if all are 0."""
        counts = self.nvec.reshape(-1)
        hot = with_shape("a flattened member of MultiDiscrete", flat, (int(counts.sum()),), self.dtype) != 0
        position = np.arange(counts.max(initial=1))
        offset = np.minimum((np.cumsum(counts) - counts)[:, None] + position, max(hot.size - 1, 0))
        return self._member(jnp.argmax(hot[offset] & (position < counts[:, None]), axis=1).reshape(self.shape))

    def parts(self) -> tuple[Any, ...]:
        """Return dtype, shape, counts and starts."""
        return self.dtype, self.shape, self.nvec.tobytes(), self.start.tobytes()

    def __getitem__(self, index: Any) -> AnySpace:
        counts, starts = self.nvec[index], self.start[index]
        if np.ndim(counts) == 0:
            return Discrete(int(counts), int(starts), self.dtype)
        return MultiDiscrete(counts, starts, self.dtype)

    def __len__(self) -> int:
        return len(self.nvec)

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


def _integers(name: str, values: Any) -> NDArray:
    array = np.asarray(values)
    is_huge = array.dtype.kind == "O" and all(isinstance(one, int) for one in array.flat)
    if array.dtype.kind not in "iu" and array.size and not is_huge:
        raise TypeError(f"MultiDiscrete needs integers as {name}, got {values!r}")
    if array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"MultiDiscrete needs {name} below 2**63, got {values!r}")
    return array.astype(np.int64)


def _leaves(name: str, choices: Any, shape: tuple[int, ...]) -> list[Any]:
    """List the entries of nested tuples of this shape, in row-major order."""
    if not shape:
        return [choices]
    if choices is None:
        return [None] * int(np.prod(shape))
    if not isinstance(choices, (tuple, list, np.ndarray, jax.Array)):
        raise TypeError(f"{name} must be a tuple with an entry or None for each element, got {choices!r}")
    if len(choices) != shape[0]:
        raise ValueError(f"{name} must have one entry for each of {shape[0]} elements, got {len(choices)}")
    return [leaf for choice in choices for leaf in _leaves(name, choice, shape[1:])]

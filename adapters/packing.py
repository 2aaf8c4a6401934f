"""One array for everything: where each leaf of a pytree lies in a vector of 32-bit words.

A compiled call pays for every array that it returns, and again for every one that is read. So the stateful environments
keep their state and what they show in one array: one call, one read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt

_WORD = np.dtype(np.uint32)


class Packing:
    """The layout of one kind of pytree.

    >>> layout = Packing({"a": jnp.ones(2), "b": jnp.array(True)})
    >>> words = layout.pack({"a": jnp.array([1.5, -2.0]), "b": jnp.array(False)})
    >>> words.shape, layout.unpack(words)["a"].tolist(), layout.read(np.asarray(words))["b"]
    ((3,), [1.5, -2.0], array(False))
    """

    def __init__(self, example: Any) -> None:
        """Lay out a pytree of arrays, or of their shapes and dtypes."""
        leaves, self._structure = jax.tree.flatten(example)
        self._fields: list[_Field] = []
        start = 0
        for leaf in leaves:
            field = _Field(leaf, start)
            self._fields.append(field)
            start = field.stop
        self.num_words = start

    def pack(self, tree: Any) -> UInt[Array, "num_words"]:
        """A pytree as words; traceable."""
        leaves = jax.tree.leaves(tree)
        if not leaves:
            return jnp.zeros(0, jnp.uint32)
        return jnp.concatenate([field.pack(leaf) for field, leaf in zip(self._fields, leaves, strict=True)])

    def unpack(self, words: UInt[Array, "num_words"]) -> Any:
        """The pytree again; traceable."""
        return jax.tree.unflatten(self._structure, [field.unpack(words) for field in self._fields])

    def read(self, words: Any) -> Any:
        """The pytree as fresh, writable numpy arrays, typed keys as the integers they are made of; on the host."""
        words = np.asarray(words)
        return jax.tree.unflatten(self._structure, [field.read(words) for field in self._fields])

    def readers(self) -> Any:
        """For each leaf, a function from the words to its fresh numpy array."""
        return jax.tree.unflatten(self._structure, [field.read for field in self._fields])


class Encoding:
    """How the numbers of one leaf become words, and words numbers.

    Bytes are packed by four where they come in fours; other small numbers take a word each, and large ones two.

    Args:
        leaf: an array, or its shape and dtype; typed keys too.
        batched: the leaf has a leading axis, and numbers along it share no word.

    Attributes:
        shape: of the leaf; without the leading axis, if there is one.
        dtype: of the numbers; those that keys are made of.
        stored: the dtype that words are a view of.
        num_words: how many words; for each entry along the leading axis, if there is one.
    """

    def __init__(self, leaf: Any, batched: bool = False) -> None:
        self._impl = None
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            self._impl = jax.random.key_impl(leaf)
            leaf = jax.eval_shape(jax.random.key_data, leaf)
        self.shape, self.dtype = tuple(leaf.shape[batched:]), np.dtype(leaf.dtype)
        size, itemsize, kind = math.prod(self.shape), self.dtype.itemsize, self.dtype.kind
        self._by_four = itemsize == 1 and kind != "b" and size % 4 == 0 and size > 0
        self.stored = self.dtype if self._by_four or itemsize >= 4 else np.dtype(_WIDENED.get(kind, "uint32"))
        self.num_words = size // 4 if self._by_four else size * max(itemsize // 4, 1)

    def to_numbers(self, leaf: jax.Array) -> jax.Array:
        """The leaf, or what its keys are made of; traceable."""
        return leaf if self._impl is None else jax.random.key_data(leaf)

    def to_words(self, numbers: jax.Array) -> UInt[Array, "words"]:
        """The words of numbers, or of some of them, along one axis; traceable."""
        if self._by_four:
            return jax.lax.bitcast_convert_type(numbers.reshape(-1, 4), jnp.uint32)
        return jax.lax.bitcast_convert_type(numbers.astype(self.stored), jnp.uint32).reshape(-1)

    def to_stored(self, words: UInt[Array, "words"]) -> jax.Array:
        """The numbers as they are stored; traceable."""
        return jax.lax.bitcast_convert_type(words.reshape(-1, 2) if self.stored.itemsize == 8 else words, self.stored)

    def to_leaf(self, stored: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """The leaf, of this shape, from what `to_stored` gave; traceable."""
        leaf = stored.reshape(shape).astype(self.dtype)
        return leaf if self._impl is None else jax.random.wrap_key_data(leaf, impl=self._impl)


_WIDENED = {"f": "float32", "V": "float32", "i": "int32"}


class _Field:
    """One leaf: its encoding and its place."""

    def __init__(self, leaf: Any, start: int) -> None:
        self._encoding = Encoding(leaf)
        self._start, self.stop = start, start + self._encoding.num_words
        self.read = self._reader()

    def pack(self, leaf: jax.Array) -> jax.Array:
        return self._encoding.to_words(self._encoding.to_numbers(leaf))

    def unpack(self, words: jax.Array) -> jax.Array:
        stored = self._encoding.to_stored(words[self._start : self.stop])
        return self._encoding.to_leaf(stored, self._encoding.shape)

    def _reader(self) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
        start, stop, encoding = self._start, self.stop, self._encoding
        shape, dtype, stored = encoding.shape, encoding.dtype, encoding.stored
        if stored == dtype:
            return lambda words: words[start:stop].view(dtype).reshape(shape).copy()
        return lambda words: words[start:stop].view(stored).astype(dtype).reshape(shape)

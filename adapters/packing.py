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


class _Field:
    """One leaf: its dtype and its place."""

    def __init__(self, leaf: Any, start: int) -> None:
        self.is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        if self.is_key:
            self.impl = jax.random.key_impl(leaf)
            leaf = jax.eval_shape(jax.random.key_data, leaf)
        self.shape, self.dtype = tuple(leaf.shape), np.dtype(leaf.dtype)
        size = math.prod(self.shape)
        # Bytes are packed by four where they come in fours; other small numbers take a word each.
        self.by_four = self.dtype.itemsize == 1 and self.dtype.kind != "b" and size % 4 == 0 and size > 0
        self.start = start
        self.stop = start + (size // 4 if self.by_four else size * max(self.dtype.itemsize // 4, 1))
        self.wide = self._widened()
        self.read = self._reader()

    def pack(self, leaf: jax.Array) -> jax.Array:
        if self.is_key:
            leaf = jax.random.key_data(leaf)
        if self.by_four:
            return jax.lax.bitcast_convert_type(leaf.reshape(-1, 4), jnp.uint32)
        return jax.lax.bitcast_convert_type(leaf.astype(self.wide), jnp.uint32).reshape(-1)

    def unpack(self, words: jax.Array) -> jax.Array:
        mine = words[self.start : self.stop]
        if self.by_four:
            leaf = jax.lax.bitcast_convert_type(mine, self.dtype)
        elif self.wide.itemsize == 8:
            leaf = jax.lax.bitcast_convert_type(mine.reshape(-1, 2), self.wide).astype(self.dtype)
        else:
            leaf = jax.lax.bitcast_convert_type(mine, self.wide).astype(self.dtype)
        leaf = leaf.reshape(self.shape)
        return jax.random.wrap_key_data(leaf, impl=self.impl) if self.is_key else leaf

    def _widened(self) -> np.dtype[Any]:
        """The dtype that the leaf is stored as."""
        if self.by_four or self.dtype.itemsize >= 4:
            return self.dtype
        return np.dtype({"f": np.float32, "V": np.float32, "i": np.int32}.get(self.dtype.kind, np.uint32))

    def _reader(self) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
        start, stop, shape, dtype, wide = self.start, self.stop, self.shape, self.dtype, self.wide
        if self.by_four or wide == dtype:
            return lambda words: words[start:stop].view(dtype).reshape(shape).copy()
        return lambda words: words[start:stop].view(wide).astype(dtype).reshape(shape)

"""One array for a batch: where each environment's numbers lie in a vector of 32-bit words.

A leaf of few numbers lies word after word: first one word of every environment, then the next. So a program that steps
some of the environments loads and stores whole vectors, and the host reads the leaf as a view, without sorting it out.
A leaf of many numbers, such as a picture, lies environment after environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt

_MOST_APART = 16  # words of a leaf: with more, the words of one environment lie side by side

Reader = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


class BatchPacking:
    """The layout of one kind of pytree, whose leaves have a leading axis `[num_envs]`.

    Args:
        example: a pytree of arrays, or of their shapes and dtypes.
        num_envs: how many environments.

    >>> layout = BatchPacking({"a": jnp.ones((2, 2)), "b": jnp.ones(2, bool)}, num_envs=2)
    >>> words = layout.pack({"a": jnp.array([[1.5, 2.5], [3.5, 4.5]]), "b": jnp.array([False, True])})
    >>> words.shape, words[:4].view("float32").tolist()
    ((6,), [1.5, 3.5, 2.5, 4.5])
    >>> words = layout.put(words, {"a": jnp.zeros((1, 2)), "b": None}, start=1)
    >>> layout.take(words, start=0, size=2)["a"].tolist()
    [[1.5, 2.5], [0.0, 0.0]]
    """

    def __init__(self, example: Any, num_envs: int) -> None:
        leaves, structure = jax.tree.flatten(example)
        self._structure: Any = structure
        self._fields: list[_Field] = []
        self.num_envs, self.num_words = num_envs, 0
        for leaf in leaves:
            field = _Field(leaf, num_envs, self.num_words)
            self._fields.append(field)
            self.num_words = field.stop

    @property
    def words_per_env(self) -> int:
        """How many words one environment has."""
        return self.num_words // self.num_envs

    def pack(self, tree: Any) -> UInt[Array, "num_words"]:
        """A pytree as words; traceable."""
        leaves = jax.tree.leaves(tree)
        pieces = [piece for field, leaf in zip(self._fields, leaves, strict=True) for piece in field.pieces(leaf)]
        return jnp.concatenate(pieces) if pieces else self.zeros()

    def zeros(self) -> UInt[Array, "num_words"]:
        """Words to `put` into."""
        return jnp.zeros(self.num_words, jnp.uint32)

    def put(self, words: UInt[Array, "num_words"], tree: Any, start: int | Int[Array, ""]) -> Any:
        """The words with some environments' numbers replaced, from `start` on; traceable.

        Args:
            words: from `pack` or `zeros`.
            tree: of the environments `start`, `start + 1`, ...; a leaf that is None is left alone.
            start: of the first.
        """
        leaves = self._structure.flatten_up_to(tree)
        for field, leaf in zip(self._fields, leaves, strict=True):
            if leaf is not None:
                words = field.put(words, leaf, start)
        return words

    def take(self, words: UInt[Array, "num_words"], start: int | Int[Array, ""], size: int) -> Any:
        """The pytree of environments `start` to `start + size - 1`; traceable."""
        return jax.tree.unflatten(self._structure, [field.take(words, start, size) for field in self._fields])

    def unpack(self, words: UInt[Array, "num_words"]) -> Any:
        """The whole pytree again; traceable."""
        return self.take(words, 0, self.num_envs)

    def read(self, words: Any) -> Any:
        """The whole pytree as numpy arrays, typed keys as the integers they are made of; on the host."""
        words = np.asarray(words)
        return jax.tree.map(lambda read: read(words), self.readers())

    def readers(self) -> Any:
        """For each leaf, a function from the words on the host to its numpy array, which may share their memory."""
        return jax.tree.unflatten(self._structure, [field.reader() for field in self._fields])

    def spans(self) -> Any:
        """For each leaf, where its words begin and end."""
        return jax.tree.unflatten(self._structure, [slice(field.start, field.stop) for field in self._fields])


class _Field:
    """One leaf: its dtype, its place, and the order of its words."""

    def __init__(self, leaf: Any, num_envs: int, start: int) -> None:
        self.is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        if self.is_key:
            self.impl = jax.random.key_impl(leaf)
            leaf = jax.eval_shape(jax.random.key_data, leaf)
        self.shape, self.dtype, self.num_envs = tuple(leaf.shape[1:]), np.dtype(leaf.dtype), num_envs
        size, itemsize = math.prod(self.shape), self.dtype.itemsize
        # Bytes are packed by four where they come in fours; other small numbers take a word each.
        self.by_four = itemsize == 1 and self.dtype.kind != "b" and size % 4 == 0 and size > 0
        self.stored = self.dtype if self.by_four or itemsize >= 4 else np.dtype(_WIDENED.get(self.dtype.kind, "uint32"))
        self.per_env = size // 4 if self.by_four else size * max(itemsize // 4, 1)
        self.apart = self.per_env <= _MOST_APART and self.stored.itemsize == 4
        self.start, self.stop = start, start + self.per_env * num_envs

    def put(self, words: jax.Array, leaf: jax.Array, start: Any) -> jax.Array:
        """The words with those of some environments replaced."""
        for piece, at in zip(self.pieces(leaf), self._starts(start), strict=True):
            words = jax.lax.dynamic_update_slice(words, piece, (at,))
        return words

    def take(self, words: jax.Array, start: Any, size: int) -> jax.Array:
        """The leaf of some environments."""
        length = size if self.apart else size * self.per_env
        pieces = [jax.lax.dynamic_slice(words, (at,), (length,)) for at in self._starts(start)]
        if not pieces:
            return jnp.zeros((size, *self.shape), self.dtype)
        if self.apart:
            pieces = [jax.lax.bitcast_convert_type(piece, self.stored) for piece in pieces]
            leaf = jnp.stack(pieces, axis=1) if self.shape else pieces[0]
        else:
            whole = pieces[0].reshape(-1, 2) if self.stored.itemsize == 8 else pieces[0]
            leaf = jax.lax.bitcast_convert_type(whole, self.stored)
        leaf = leaf.reshape(size, *self.shape).astype(self.dtype)
        return jax.random.wrap_key_data(leaf, impl=self.impl) if self.is_key else leaf

    def pieces(self, leaf: jax.Array) -> list[jax.Array]:
        """The words of some environments, in pieces that lie side by side."""
        if not self.per_env:
            return []
        if self.is_key:
            leaf = jax.random.key_data(leaf)
        if self.by_four:
            words = jax.lax.bitcast_convert_type(leaf.reshape(-1, 4), jnp.uint32)
        else:
            words = jax.lax.bitcast_convert_type(leaf.astype(self.stored), jnp.uint32)
        if not self.apart:
            return [words.reshape(-1)]
        columns = words.reshape(leaf.shape[0], self.per_env)
        return [columns[:, number] for number in range(self.per_env)]

    def reader(self) -> Reader:
        """From the words on the host to the leaf."""
        mine, stored, dtype = slice(self.start, self.stop), self.stored, self.dtype
        shape, axes = (self.num_envs, *self.shape), tuple(range(len(self.shape) + 1))
        if self.apart:
            shape, axes = (*self.shape, self.num_envs), (len(self.shape), *range(len(self.shape)))

        def read(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return words[mine].view(stored).reshape(shape).transpose(axes)

        if dtype.kind == "b":
            return lambda words: read(words) != 0
        return read if dtype == stored else lambda words: read(words).astype(dtype)

    def _starts(self, start: Any) -> list[Any]:
        if not self.per_env:
            return []
        if self.apart:
            return [self.start + number * self.num_envs + start for number in range(self.per_env)]
        return [self.start + start * self.per_env]


_WIDENED = {"f": "float32", "V": "float32", "i": "int32"}

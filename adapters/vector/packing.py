"""One array for a batch: where each environment's numbers lie in a vector of 32-bit words.

A leaf of few numbers lies word after word: first one word of every environment, then the next. So a program that steps
some of the environments loads and stores whole vectors, and the host reads the leaf as a view, without sorting it out.
A leaf of many numbers, such as a picture, lies environment after environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt

from funcenv.adapters.packing import Encoding

_MOST_APART = 16  # words of a leaf: with more, the words of one environment lie side by side

Reader = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


class BatchPacking:
    """The layout of one kind of pytree, whose leaves have a leading axis `[num_envs]`.

    Args:
        example: a pytree of arrays, or of their shapes and dtypes.
        num_envs: how many environments.
        shared: for the number of a leaf, that of an earlier one whose words are its words too, and from which number of
            an environment on. Both hold the same, always.

    >>> layout = BatchPacking({"a": jnp.ones((2, 2)), "b": jnp.ones(2, bool)}, num_envs=2)
    >>> words = layout.pack({"a": jnp.array([[1.5, 2.5], [3.5, 4.5]]), "b": jnp.array([False, True])})
    >>> words.shape, words[:4].view("float32").tolist()
    ((6,), [1.5, 3.5, 2.5, 4.5])
    >>> words = layout.put(words, {"a": jnp.zeros((1, 2)), "b": None}, start=1)
    >>> layout.take(words, start=0, size=2)["a"].tolist()
    [[1.5, 2.5], [0.0, 0.0]]
    """

    def __init__(self, example: Any, num_envs: int, shared: Mapping[int, tuple[int, int]] | None = None) -> None:
        leaves, structure = jax.tree.flatten(example)
        self._structure: Any = structure
        self._fields: list[_Field] = []
        self.num_envs, self.num_words = num_envs, 0
        shared = shared or {}
        for number, leaf in enumerate(leaves):
            if number in shared:
                other, first = shared[number]
                field = _Field(leaf, num_envs, self._fields[other].start + first * num_envs, other)
                if field.lies_apart and self._fields[other].lies_apart:
                    self._fields.append(field)
                    continue
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
        pieces: dict[int, jax.Array] = {}  # by where they begin; of words that are shared, the last
        for field, leaf in zip(self._fields, leaves, strict=True):
            pieces |= dict(zip(field.starts(0), field.pieces(leaf), strict=True))
        return jnp.concatenate([pieces[start] for start in sorted(pieces)]) if pieces else self.zeros()

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
            if leaf is not None and (field.shared_with is None or leaves[field.shared_with] is None):
                words = field.put(words, leaf, start)
        return words

    def take(self, words: UInt[Array, "num_words"], start: int | Int[Array, ""], size: int) -> Any:
        """The pytree of environments `start` to `start + size - 1`; traceable."""
        return jax.tree.unflatten(self._structure, [field.take(words, start, size) for field in self._fields])

    def take_rows(self, words: UInt[Array, "num_words"], rows: Int[Array, "some"]) -> Any:
        """The pytree of the environments with these numbers, which must be in range; traceable."""
        return jax.tree.unflatten(self._structure, [field.take_rows(words, rows) for field in self._fields])

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
    """One leaf: its encoding, its place, the order of its words, and the number of the leaf that has them, too."""

    def __init__(self, leaf: Any, num_envs: int, start: int, shared_with: int | None = None) -> None:
        self._encoding = encoding = Encoding(leaf, batched=True)
        self._per_env, self._num_envs, self.shared_with = encoding.num_words, num_envs, shared_with
        self.lies_apart = self._per_env <= _MOST_APART and encoding.stored.itemsize == 4
        self.start, self.stop = start, start + self._per_env * num_envs

    def put(self, words: jax.Array, leaf: jax.Array, start: Any) -> jax.Array:
        """The words with those of some environments replaced."""
        for piece, at in zip(self.pieces(leaf), self.starts(start), strict=True):
            words = jax.lax.dynamic_update_slice(words, piece, (at,), allow_negative_indices=False)
        return words

    def take(self, words: jax.Array, start: Any, size: int) -> jax.Array:
        """The leaf of some environments."""
        length = size if self.lies_apart else size * self._per_env
        return self._joined(
            [jax.lax.dynamic_slice(words, (at,), (length,), allow_negative_indices=False) for at in self.starts(start)],
            size,
        )

    def take_rows(self, words: jax.Array, rows: jax.Array) -> jax.Array:
        """The leaf of the environments with these numbers."""
        if not self.lies_apart:
            within = jnp.arange(self._per_env, dtype=rows.dtype)[None, :]
            places = self.start + rows[:, None] * self._per_env + within
            return self._joined([words.at[places.reshape(-1)].get(mode="promise_in_bounds")], len(rows))
        pieces = [words.at[at + rows].get(mode="promise_in_bounds") for at in self.starts(0)]
        return self._joined(pieces, len(rows))

    def _joined(self, pieces: list[jax.Array], size: int) -> jax.Array:
        """The leaf of `size` environments from the pieces of its words."""
        stored = [self._encoding.to_stored(piece) for piece in pieces]
        if len(stored) != 1:
            stored = [jnp.stack(stored, axis=1) if stored else jnp.zeros(0, self._encoding.stored)]
        return self._encoding.to_leaf(stored[0], (size, *self._encoding.shape))

    def pieces(self, leaf: jax.Array) -> list[jax.Array]:
        """The words of some environments, in pieces that lie side by side."""
        if not self._per_env:
            return []
        numbers = self._encoding.to_numbers(leaf)
        if not self.lies_apart:
            return [self._encoding.to_words(numbers)]
        columns = numbers.reshape(-1, self._per_env).T  # so that XLA sees through what was stacked along the last axis
        return [self._encoding.to_words(columns[number]) for number in range(self._per_env)]

    def reader(self) -> Reader:
        """From the words on the host to the leaf."""
        encoding, at = self._encoding, self.start * 4
        dtype, stored, shape = encoding.dtype, encoding.stored, (self._num_envs, *encoding.shape)
        bytes_apart = self._strides()

        def read(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return np.ndarray(shape, stored, words, at, bytes_apart)  # one call for a slice, a view and a transpose

        if dtype.kind == "b":
            return lambda words: read(words) != 0
        return read if dtype == stored else lambda words: read(words).astype(dtype)

    def _strides(self) -> tuple[int, ...]:
        """How many bytes lie between the numbers of one environment and the next, and of one index and the next."""
        size = self._encoding.stored.itemsize
        within = np.empty(self._encoding.shape, self._encoding.stored).strides
        if self.lies_apart:
            return size, *(stride * self._num_envs for stride in within)
        return self._per_env * 4, *within

    def starts(self, start: Any) -> list[Any]:
        """Where the pieces of the environments from `start` on begin."""
        if not self._per_env:
            return []
        if self.lies_apart:
            return [self.start + number * self._num_envs + start for number in range(self._per_env)]
        return [self.start + start * self._per_env]

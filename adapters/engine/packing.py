"""One array of 32-bit words that holds all leaves of a pytree.

A compiled call pays for every array that it returns, and the host pays again for every array that it reads. So the
stateful environments keep their state and their outputs in one array: one call, one read.

In a batch, the words of a small leaf are stored in columns: the first word of every environment, then the second word
of every environment. A program that steps a part of the batch then loads and stores whole vectors, and the host reads
the leaf as a view. A large leaf, such as an image, is stored environment by environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt

from funcenv.random.keys import is_key
from funcenv.struct import NDArray

MAX_COLUMNS = 16  # words per environment of a leaf that is stored in columns

Reader = Callable[[NDArray], NDArray]


class Packing:
    """The layout of a pytree, or of a batch of pytrees.

    Args:
        example: a pytree of arrays, or of their shapes and dtypes.
        num_envs: the size of the leading axis of every leaf; None if the leaves have no such axis.
        aliases: maps the index of a leaf to an earlier leaf and the first of that leaf's columns that always hold the
            same values, so that both are stored once. Ignored for leaves that are not stored in columns.

    Attributes:
        num_words: the length of the packed array.

    >>> layout = Packing({"a": jnp.ones(2), "b": jnp.array(True)})
    >>> words = layout.pack({"a": jnp.array([1.5, -2.0]), "b": jnp.array(False)})
    >>> words.shape, layout.unpack(words)["a"].tolist(), layout.read(words)["b"]
    ((3,), [1.5, -2.0], array(False))

    >>> layout = Packing({"a": jnp.ones((2, 2)), "b": jnp.ones(2, bool)}, num_envs=2)
    >>> words = layout.pack({"a": jnp.array([[1.5, 2.5], [3.5, 4.5]]), "b": jnp.array([False, True])})
    >>> words.shape, words[:4].view("float32").tolist()
    ((6,), [1.5, 3.5, 2.5, 4.5])
    >>> words = layout.write(words, {"a": jnp.zeros((1, 2)), "b": None}, start=1)
    >>> layout.unpack_slice(words, start=0, size=2)["a"].tolist()
    [[1.5, 2.5], [0.0, 0.0]]
    """

    def __init__(
        self, example: Any, num_envs: int | None = None, aliases: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        leaves, structure = jax.tree.flatten(example)
        self._structure: Any = structure
        self._num_envs, self.num_words = num_envs, 0
        self._fields: list[_Field] = []
        for index, leaf in enumerate(leaves):
            field = _Field(leaf, num_envs, self.num_words)
            if aliases and index in aliases:
                field.share_columns(self._fields, *aliases[index])
            self._fields.append(field)
            self.num_words = max(self.num_words, field.stop)

    @property
    def words_per_env(self) -> int:
        """The number of words of one environment."""
        return self.num_words // (self._num_envs or 1)

    def zeros(self) -> UInt[Array, "num_words"]:
        """Return a packed array of zeros, to `write` into."""
        return jnp.zeros(self.num_words, jnp.uint32)

    def pack(self, tree: Any) -> UInt[Array, "num_words"]:
        """Pack a pytree; traceable."""
        leaves = jax.tree.leaves(tree)
        pieces: dict[int, jax.Array] = {}  # by position; of two aliases, the later one
        for field, leaf in zip(self._fields, leaves, strict=True):
            pieces |= dict(zip(field.starts(), field.to_pieces(leaf), strict=True))
        return jnp.concatenate([pieces[start] for start in sorted(pieces)]) if pieces else self.zeros()

    def unpack(self, words: UInt[Array, "num_words"]) -> Any:
        """Return the pytree; traceable."""
        return jax.tree.unflatten(self._structure, [field.unpack(words) for field in self._fields])

    def write(
        self, words: UInt[Array, "num_words"], tree: Any, start: int | Int[Array, ""]
    ) -> UInt[Array, "num_words"]:
        """Replace the values of some environments; traceable.

        Args:
            words: the packed array.
            tree: new values of the environments `start`, `start + 1`, ...; a leaf that is None is left as it is.
            start: the index of the first of them.
        """
        leaves = self._structure.flatten_up_to(tree)
        for field, leaf in zip(self._fields, leaves, strict=True):
            if leaf is not None and (field.alias_of is None or leaves[field.alias_of] is None):
                words = field.write(words, leaf, start)
        return words

    def unpack_slice(self, words: UInt[Array, "num_words"], start: int | Int[Array, ""], size: int) -> Any:
        """Return the pytree of environments `start` to `start + size - 1`; traceable."""
        return jax.tree.unflatten(self._structure, [field.unpack_slice(words, start, size) for field in self._fields])

    def unpack_rows(self, words: UInt[Array, "num_words"], rows: Int[Array, "num_rows"]) -> Any:
        """Return the pytree of the environments with these indices, which must be in range; traceable."""
        return jax.tree.unflatten(self._structure, [field.unpack_rows(words, rows) for field in self._fields])

    def read(self, words: Any) -> Any:
        """Return the pytree in fresh, writable NumPy arrays; typed keys become the integers they consist of."""
        words = np.array(words)
        return jax.tree.map(lambda read: read(words), self.readers())

    def readers(self) -> Any:
        """Return for each leaf a function from a packed NumPy array to the leaf, which may share its memory."""
        return jax.tree.unflatten(self._structure, [field.reader() for field in self._fields])

    def spans(self) -> Any:
        """Return for each leaf the slice of its words."""
        return jax.tree.unflatten(self._structure, [slice(field.start, field.stop) for field in self._fields])


class _Field:
    """The encoding of one leaf and the position of its words.

    Bytes are packed by fours where their number per environment allows it; other small values take a word each, and
    64-bit values take two.
    """

    def __init__(self, leaf: Any, num_envs: int | None, start: int) -> None:
        self._impl = None
        if is_key(leaf):
            self._impl = jax.random.key_impl(leaf)
            leaf = jax.eval_shape(jax.random.key_data, leaf)
        self._num_envs = num_envs or 1
        self._batch_shape = () if num_envs is None else (num_envs,)
        self._shape, self._dtype = tuple(leaf.shape[len(self._batch_shape) :]), np.dtype(leaf.dtype)
        size, itemsize, kind = math.prod(self._shape), self._dtype.itemsize, self._dtype.kind
        by_fours = itemsize == 1 and kind != "b" and size % 4 == 0 and size > 0
        # Words are viewed with this dtype.
        self._stored = self._dtype if by_fours or itemsize >= 4 else np.dtype(_WIDENED.get(kind, "uint32"))
        self._words_per_env = size // 4 if by_fours else size * max(itemsize // 4, 1)
        self._in_columns = self._num_envs > 1 and self._words_per_env <= MAX_COLUMNS and self._stored.itemsize == 4
        self.start, self.stop = start, start + self._words_per_env * self._num_envs
        self.alias_of: int | None = None

    def share_columns(self, fields: list[_Field], other: int, first_column: int) -> None:
        """Store this leaf in the columns of another one, if both are stored in columns."""
        if self._in_columns and fields[other]._in_columns:
            start = fields[other].start + first_column * self._num_envs
            self.alias_of, self.start, self.stop = other, start, start + self.stop - self.start

    def starts(self, first_env: Any = 0) -> list[Any]:
        """Return where the pieces of the environments from `first_env` on begin."""
        if not self._words_per_env:
            return []
        if self._in_columns:
            return [self.start + column * self._num_envs + first_env for column in range(self._words_per_env)]
        return [self.start + first_env * self._words_per_env]

    def to_pieces(self, leaf: jax.Array) -> list[jax.Array]:
        """Return the words of some environments, in contiguous pieces."""
        values = leaf if self._impl is None else jax.random.key_data(leaf)
        if not self._words_per_env:
            return []
        if not self._in_columns:
            return [self._to_words(values)]
        columns = values.reshape(-1, self._words_per_env).T  # XLA sees through values stacked along the last axis
        return [self._to_words(columns[column]) for column in range(self._words_per_env)]

    def write(self, words: jax.Array, leaf: jax.Array, first_env: Any) -> jax.Array:
        """Replace the words of some environments."""
        for piece, start in zip(self.to_pieces(leaf), self.starts(first_env), strict=True):
            words = jax.lax.dynamic_update_slice(words, piece, (start,), allow_negative_indices=False)
        return words

    def unpack(self, words: jax.Array) -> jax.Array:
        """Return the leaf."""
        return self._to_leaf(self._sliced(words, 0, self._num_envs), self._batch_shape)

    def unpack_slice(self, words: jax.Array, first_env: Any, size: int) -> jax.Array:
        """Return the leaf of some environments in a row."""
        return self._to_leaf(self._sliced(words, first_env, size), (size,))

    def unpack_rows(self, words: jax.Array, rows: jax.Array) -> jax.Array:
        """Return the leaf of the environments with these indices."""
        if self._in_columns:
            positions = [start + rows for start in self.starts()]
        else:
            within = jnp.arange(self._words_per_env, dtype=rows.dtype)[None, :]
            positions = [(self.start + rows[:, None] * self._words_per_env + within).reshape(-1)]
        pieces = [words.at[position].get(mode="promise_in_bounds") for position in positions]
        return self._to_leaf(pieces, (len(rows),))

    def reader(self) -> Reader:
        """Return a function from the words on the host to the leaf."""
        shape, dtype, stored, offset = (*self._batch_shape, *self._shape), self._dtype, self._stored, self.start * 4
        strides = np.empty(self._shape, stored).strides
        if self._in_columns:
            strides = stored.itemsize, *(stride * self._num_envs for stride in strides)
        elif self._batch_shape:
            strides = self._words_per_env * 4, *strides

        def view(words: NDArray) -> NDArray:
            return np.ndarray(shape, stored, words, offset, strides)  # one call for a slice, a view and a transpose

        return view if dtype == stored else lambda words: view(words).astype(dtype)

    def _sliced(self, words: jax.Array, first_env: Any, size: int) -> list[jax.Array]:
        length = size if self._in_columns else size * self._words_per_env
        starts = self.starts(first_env)
        return [jax.lax.dynamic_slice(words, (start,), (length,), allow_negative_indices=False) for start in starts]

    def _to_words(self, values: jax.Array) -> UInt[Array, "words"]:
        values = values.reshape(-1, 4) if self._stored.itemsize == 1 else values.astype(self._stored)
        return jax.lax.bitcast_convert_type(values, jnp.uint32).reshape(-1)

    def _to_leaf(self, pieces: list[jax.Array], batch_shape: tuple[int, ...]) -> jax.Array:
        """Return the leaf from the pieces of its words."""
        if self._stored.itemsize == 8:
            pieces = [piece.reshape(-1, 2) for piece in pieces]
        values = [jax.lax.bitcast_convert_type(piece, self._stored) for piece in pieces]
        if len(values) != 1:
            values = [jnp.stack(values, axis=1) if values else jnp.zeros(0, self._stored)]
        leaf = values[0].reshape((*batch_shape, *self._shape)).astype(self._dtype)
        return leaf if self._impl is None else jax.random.wrap_key_data(leaf, impl=self._impl)


_WIDENED = {"f": "float32", "V": "float32", "i": "int32"}  # by kind; any other kind becomes uint32

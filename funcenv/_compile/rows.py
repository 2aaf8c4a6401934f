"""Loops over some rows of a batch, for programs that become a single kernel.

In a single kernel an iteration of a loop costs its arithmetic and nothing else. Rows are therefore listed and replaced
one by one, where the plain program computes all of them and selects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv._compile.jaxpr import broadcast_literal, is_literal
from funcenv._jax import Shape
from funcenv.vector_step import Fresh

WriteRow = Callable[[Any, Any, Int[Array, ""], Int[Array, ""]], Any]

_BITS_PER_WORD = 32


class IndexList(NamedTuple):
    """A list of row indices, in no particular order."""

    indices: Int[Array, "capacity"]
    """The first `length` are listed; the rest are in range, and meaningless."""
    length: Int[Array, ""]

    @classmethod
    def empty(cls, max_rows: int, block: int) -> IndexList:
        """Return an empty list with room for `max_rows` rows, to be read `block` rows at a time."""
        return cls(jnp.zeros(max_rows + block, jnp.int32), jnp.zeros((), jnp.int32))

    def append(self, row: jax.Array) -> IndexList:
        """Return the list with one more row."""
        indices = jax.lax.dynamic_update_index_in_dim(
            self.indices, row, self.length, axis=0, allow_negative_indices=False
        )
        return IndexList(indices, self.length + 1)

    def extend(self, mask: Bool[Array, "some"], first: int | Int[Array, ""] = 0) -> IndexList:
        """Return the list with the rows in a mask, whose first entry stands for row `first`.

        The mask becomes the bits of a few words, and only the bits that are set are visited. A mask shorter than a
        word is visited entry by entry, which takes fewer operations; XLA runs a program of few operations on the
        calling thread.

        >>> IndexList.empty(4, block=1).extend(jnp.array([True, False, True]), first=1).indices[:2].tolist()
        [1, 3]
        """
        if mask.size < _BITS_PER_WORD:

            def visit(row: jax.Array, listed: IndexList) -> IndexList:
                indices, _ = listed.append(first + jnp.asarray(row, jnp.int32))
                return IndexList(indices, listed.length + mask[row].astype(jnp.int32))

            return jax.lax.fori_loop(0, mask.size, visit, self)
        num_words = -(-mask.size // _BITS_PER_WORD)
        bits = mask.astype(jnp.uint32)
        if mask.size % _BITS_PER_WORD:  # A pad by nothing would be a copy.
            bits = jnp.pad(bits, (0, -mask.size % _BITS_PER_WORD))
        words = jnp.zeros(num_words, jnp.uint32)
        for bit in range(_BITS_PER_WORD):  # Row `bit * num_words + word`: whole vectors of the mask are combined.
            words = words | (bits[bit * num_words : (bit + 1) * num_words] << np.uint32(bit))

        def visit_word(word: jax.Array, listed: IndexList) -> IndexList:
            def visit_bit(carry: tuple[IndexList, jax.Array]) -> tuple[IndexList, jax.Array]:
                listed, remaining = carry
                bit = np.uint32(_BITS_PER_WORD - 1) - jax.lax.clz(remaining)
                row = bit.astype(jnp.int32) * num_words + word.astype(jnp.int32)
                return listed.append(first + row), remaining ^ (jnp.ones((), jnp.uint32) << bit)

            return jax.lax.while_loop(lambda carry: carry[1] != 0, visit_bit, (listed, words[word]))[0]

        return jax.lax.fori_loop(0, num_words, visit_word, self)

    def for_each(self, result: Any, fresh: Fresh, write: WriteRow, block: int) -> Any:
        """Fold `result = write(result, new, position, row)` over the listed rows.

        Args:
            result: any pytree.
            fresh: computes what is new for `block` rows together.
            write: receives `new = fresh(rows)`, the position of a row in `new`, and the row.
            block: how many rows are computed together; at most the block the list was made for.
        """

        def write_block(carry: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
            start, result = carry
            rows = jax.lax.dynamic_slice_in_dim(self.indices, start, block, allow_negative_indices=False)
            new = fresh(rows)
            if block == 1:
                return start + 1, write(result, new, jnp.zeros((), jnp.int32), rows[0])
            count = jnp.minimum(block, self.length - start)
            result = jax.lax.fori_loop(0, count, lambda i, result: write(result, new, i, rows[i]), result)
            return start + block, result

        start = jnp.zeros((), jnp.int32)
        return jax.lax.while_loop(lambda carry: carry[0] < self.length, write_block, (start, result))[1]


def split_constants(fresh: Fresh, block: int) -> tuple[Any, Fresh]:
    """Split `fresh` into the values that are the same for all rows, and a function that computes the others.

    Args:
        fresh: from the indices of `block` rows to a pytree.
        block: how many rows.

    Returns:
        A pytree of the form that `fresh` returns, which holds a number where a leaf is that number for any rows, and
        None elsewhere; and `fresh` with None for these leaves.

    >>> constants, rest = split_constants(lambda rows: {"row": rows, "steps": jnp.zeros(rows.shape)}, block=2)
    >>> constants["row"], float(constants["steps"]), rest(jnp.array([3, 4]))
    (None, 0.0, {'row': Array([3, 4], dtype=int32), 'steps': None})
    """
    from jax.extend.core import jaxpr_as_fun

    rows = Shape((block,), jnp.int32)
    closed, shapes = jax.make_jaxpr(fresh, return_shape=True)(rows)
    literals = {eqn.outvars[0]: broadcast_literal(eqn) for eqn in closed.jaxpr.eqns}
    structure: Any = jax.tree.structure(shapes)
    constants = [None if is_literal(out) else literals.get(out) for out in closed.jaxpr.outvars]

    def rest(rows: jax.Array | None) -> Any:
        leaves = jaxpr_as_fun(closed)(rows)
        return structure.unflatten(
            [leaf if constant is None else None for leaf, constant in zip(leaves, constants, strict=True)]
        )

    return structure.unflatten(constants), rest


def write_constants(mask: Bool[Array, "num_envs"], constants: Any, tree: Any) -> Any:
    """Write the constants of `split_constants` into the rows in the mask."""
    return map_present(lambda constant, leaf: jnp.where(expand_mask(mask, leaf), constant, leaf), constants, tree)


def read_row(tree: Any, row: jax.Array) -> Any:
    """Return one row of every leaf, which keeps its leading axis; the index must be in range."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, row, 1, allow_negative_indices=False), tree)


def write_row(tree: Any, new: Any, row: jax.Array) -> Any:
    """Replace one row by what `read_row` returned; leaves where `new` is None stay as they are."""
    return map_present(
        lambda new, leaf: jax.lax.dynamic_update_slice_in_dim(leaf, new, row, 0, allow_negative_indices=False),
        new,
        tree,
    )


def map_present(function: Callable[[Any, Any], Any], new: Any, tree: Any) -> Any:
    """Map `function(new, leaf)` over the leaves of `tree` where `new` is not None; keep the other leaves."""

    def apply(new: Any, leaf: Any) -> Any:
        return leaf if new is None else function(new, leaf)

    return jax.tree.map(apply, new, tree, is_leaf=lambda value: value is None)


def expand_mask(mask: Bool[Array, "num_envs"], leaf: jax.Array) -> jax.Array:
    """Reshape a mask so that it broadcasts against a leaf with the same leading axis."""
    return mask.reshape(-1, *(1,) * (leaf.ndim - 1))

"""Numbers of the solver: float32 scalars, or arrays of them.

The solver calls these functions with scalars and leaves the batch axis to `jax.vmap`, so that a batch is computed on
flat arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._jax import optimization_barrier

Number: TypeAlias = Any  # a float32: a NumPy scalar, a JAX scalar, or an array of either
Tree = TypeVar("Tree")

PI = np.float32(3.14159265359)
EPSILON = np.finfo(np.float32).eps
ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)


def float32(value: Any) -> Number:
    """Return a number or array as float32: on the host, if it is known there."""
    return jnp.asarray(value, jnp.float32) if isinstance(value, jax.Array) else np.asarray(value, np.float32)[()]


def is_known(*values: Any) -> bool:
    """Return whether all numbers are known on the host, so that Python may branch on them."""
    return not any(isinstance(value, jax.Array) for value in values)


def least_of(numbers: Sequence[Number]) -> Number:
    """Return the least of some numbers or arrays, element by element.

    XLA's CPU backend gives reductions of large arrays of floats to a library, which it cannot call within a single
    kernel (JAX 0.10). So a step of a batch of worlds has none: it takes one number after the other.

    >>> least_of([np.float32([1, 5]), np.float32([3, 2])])
    array([1., 2.], dtype=float32)
    """
    return functools.reduce(np.minimum if is_known(*numbers) else jnp.minimum, numbers)


def greatest_of(numbers: Sequence[Number]) -> Number:
    """Return the greatest of some numbers or arrays, element by element, as `least_of` returns the least."""
    return functools.reduce(np.maximum if is_known(*numbers) else jnp.maximum, numbers)


def opaque(values: Any) -> Any:
    """Return a tree of numbers that the compiler does not know.

    XLA gathers known numbers in products and sums, as in `h (m f) = (h m) f` and `(x - r) - s = x - (r + s)`, which
    changes the last bit.
    """
    numbers = jax.tree.map(lambda value: value if isinstance(value, jax.Array) else float32(value), values)
    return optimization_barrier(numbers)


def once(values: Any) -> Any:
    """Return a tree of numbers that XLA computes once, and not again for each result that depends on them.

    XLA repeats cheap operations where their results are used several times, which multiplies along a chain of them, and
    with it the time of compiling. It repeats no division, and does not see here that the divisor is 1. LLVM sees it,
    and removes the division.
    """
    ones: dict[Any, jax.Array] = {}

    def one_of(dtype: Any) -> jax.Array:
        if dtype not in ones:
            ones[dtype] = optimization_barrier(jnp.ones((), dtype))
        return ones[dtype]

    def divided(value: Any) -> Any:
        if not isinstance(value, jax.Array):
            return value
        if value.dtype == bool:
            return divided(value.astype(jnp.int32)) != 0
        return jax.lax.div(value, jnp.broadcast_to(one_of(value.dtype), value.shape))

    return jax.tree.map(divided, values)


def where(condition: Any, a: Any, b: Any) -> Number:
    """Return a where the condition holds, else b. It traces faster than `jnp.where`, of which the solver has many."""
    known = next((value for value in (a, b) if hasattr(value, "dtype")), None)
    dtype = jnp.int32 if known is None else known.dtype
    shape = np.broadcast_shapes(np.shape(condition), np.shape(a), np.shape(b))
    picked = condition if isinstance(condition, jax.Array) else jnp.asarray(condition, bool)
    return jax.lax.select(*(_spread(value, shape, kind) for value, kind in ((picked, bool), (a, dtype), (b, dtype))))


def select(condition: Any, a: Tree, b: Tree) -> Tree:
    """Return the tree a of numbers where the condition holds, else b."""
    chosen: Tree = jax.tree.map(lambda one, other: where(condition, one, other), a, b)
    return chosen


def choose(values: Sequence[Tree], index: Number) -> Tree:
    """Return one of a few trees of numbers by its index."""
    chosen = values[0]
    for i, value in enumerate(values[1:], start=1):
        chosen = select(index == i, value, chosen)
    return chosen


def row_at(rows: Tree, index: Number) -> Tree:
    """Return one row of every array of a tree; its index must be in range."""
    at: Any = functools.partial(jax.lax.dynamic_index_in_dim, keepdims=False, allow_negative_indices=False)
    row: Tree = jax.tree.map(lambda column: at(column, index), rows)
    return row


def rows_of(columns: Tree, size: int) -> list[Tree]:
    """Return the rows of a tree of arrays `[size]`."""
    at: Any = functools.partial(jax.lax.index_in_dim, keepdims=False)
    rows: list[Tree] = [jax.tree.map(lambda column, row=row: at(column, row), columns) for row in range(size)]
    return rows


def columns_of(rows: Sequence[Tree]) -> Tree:
    """Return a tree of arrays from trees of numbers, one for each row."""
    columns: Tree = jax.tree.map(lambda *numbers: jnp.stack([jnp.asarray(n, jnp.float32) for n in numbers]), *rows)
    return columns


def with_row(rows: Tree, index: Number, row: Any) -> Tree:
    """Return a tree of arrays with one row replaced; its index must be in range."""
    put: Any = functools.partial(jax.lax.dynamic_update_index_in_dim, axis=0, allow_negative_indices=False)
    replaced: Tree = jax.tree.map(lambda column, value: put(column, value, index), rows, row)
    return replaced


def _spread(value: Any, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return an array of a shape, with axes of length 1 added in front."""
    array = value if isinstance(value, jax.Array) else jnp.asarray(value, dtype)
    if array.shape == shape:
        return array
    return jax.lax.broadcast_in_dim(array, shape, tuple(range(len(shape) - array.ndim, len(shape))))


def greatest(values: jax.Array) -> jax.Array:
    """Return the index of the greatest value, the first of several, as int32."""
    return jax.lax.argmax(values, 0, jnp.int32)


def least(values: jax.Array) -> jax.Array:
    """Return the index of the least value, the first of several, as int32."""
    return jax.lax.argmin(values, 0, jnp.int32)


def clamp(x: Number, low: Number, high: Number) -> Number:
    """Return x within [low, high]."""
    return jnp.maximum(low, jnp.minimum(x, high))

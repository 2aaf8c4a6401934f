"""States of other libraries with shapes and dtypes that do not change, so that `jax.lax.scan` can carry them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.spaces._dtypes import promote

_MAX_PROMOTIONS = 4  # steps until dtypes are stable: bool to integer to float, and one change of shape


def stable_struct(first: Any, advance: Callable[[Any], Any], name: str) -> Any:
    """Return the shapes and dtypes that hold a state and all those that follow it.

    Args:
        first: the shapes and dtypes of the first state.
        advance: returns those of the next state.
        name: what `advance` stands for, in messages.

    Raises:
        ValueError: the next state has another structure.

    >>> later = lambda struct: jax.eval_shape(lambda state: {"time": jnp.float32(1) + 0 * len(state)}, struct)
    >>> stable_struct(jax.eval_shape(lambda: {"time": jnp.int32(0)}), later, "step")
    {'time': ShapeDtypeStruct(shape=(), dtype=float32)}
    """
    struct = first
    for _ in range(_MAX_PROMOTIONS):
        after = advance(struct)
        structures: Any = jax.tree.structure(struct), jax.tree.structure(after)
        if structures[0] != structures[1]:
            raise ValueError(
                f"{name} must return a state of the structure of the first one, {structures[0]}, got {structures[1]}"
            )
        promoted = jax.tree.map(_promote, struct, after)
        if jax.tree.leaves(promoted) == jax.tree.leaves(struct):  # nodes may define == for arrays only
            break
        struct = promoted
    return struct


def conform(tree: Any, like: Any) -> Any:
    """Broadcast and cast the leaves of a pytree to shapes and dtypes, without weak types.

    >>> conform({"time": 0}, {"time": jnp.zeros(2)})
    {'time': Array([0., 0.], dtype=float32)}
    """

    def conform_leaf(leaf: Any, like: Any) -> jax.Array:
        array = jnp.asarray(leaf)
        if array.dtype != like.dtype or jax.typeof(array).weak_type:
            array = array.astype(like.dtype)
        return jnp.broadcast_to(array, like.shape)

    conformed: Any = jax.tree.map(conform_leaf, tree, like)
    return conformed


def _promote(a: Any, b: Any) -> Any:
    """Return the shape and dtype that two arrays have in common after broadcasting and promotion."""
    dtype = a.dtype if a.dtype == b.dtype else promote([a.dtype, b.dtype])
    return jax.ShapeDtypeStruct(np.broadcast_shapes(a.shape, b.shape), dtype)  # type: ignore[no-untyped-call]

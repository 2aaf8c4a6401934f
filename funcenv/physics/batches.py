"""Work that is left out if no world of a batch needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.physics.scalars import row_at, with_row
from funcenv.sharding import target_platform


@jax.custom_batching.custom_vmap
def is_any(condition: jax.Array) -> jax.Array:
    """Return whether a condition holds anywhere: in an array, and under `jax.vmap` in any world of the batch.

    The result is the same for all worlds. So a branch or a loop that depends on it stays one under `jax.vmap`, where
    others become selections that compute everything.

    >>> jax.vmap(lambda x: is_any(x > 1))(jnp.arange(3))
    Array([ True,  True,  True], dtype=bool)
    """
    return jnp.any(condition)


@is_any.def_vmap
def _is_any_of_batch(size: int, is_mapped: list[bool], condition: jax.Array) -> tuple[jax.Array, bool]:
    del size, is_mapped
    return is_any(jnp.any(condition, axis=0)), False


def only_if(condition: jax.Array, function: Callable[[], Any]) -> Any:
    """Return the result of a function, or zeros if the condition holds nowhere in the batch, except on a GPU.

    Such a branch is also a boundary that XLA does not fuse across. Fusion repeats a shared computation for each of its
    results, and the functions here have many. On a GPU there is no branch: batches are so large that some world needs
    the result, and a branch costs kernels that write the zeros and copy what both sides return.
    """
    if target_platform() == "gpu":
        return function()
    shapes = jax.eval_shape(function)

    def nothing() -> Any:
        return jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)

    return jax.lax.cond(is_any(condition), function, nothing)


def map_contacts(function: Callable[[Any], Any], contacts: Any, count: Any, is_alone: bool) -> Any:
    """Return what a function returns for each contact, stacked.

    Args:
        function: of the numbers of one contact.
        contacts: a tree of arrays `[places]`.
        count: behind so many places there are no contacts, and results do not count.
        is_alone: whether the world is computed by itself. Then a loop takes one contact after the other, which compiles
            several times faster; in a batch of worlds all contacts are computed together.
    """
    if not is_alone:
        return jax.vmap(function)(contacts)

    def at(place: jax.Array) -> Any:
        return function(row_at(contacts, place))

    def visit(place: jax.Array, results: Any) -> Any:
        return with_row(results, place, at(place))

    (size,) = {leaf.shape[0] for leaf in jax.tree.leaves(contacts)}
    shapes = jax.eval_shape(at, np.int32(0))
    begin = jax.tree.map(lambda shape: jnp.zeros((size, *shape.shape), shape.dtype), shapes)
    return jax.lax.fori_loop(0, count, visit, begin)

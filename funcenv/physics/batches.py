"""Work that is left out if no world of a batch needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


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
    """Return the result of a function, or zeros if the condition holds nowhere in the batch.

    Such a branch is also a boundary that XLA does not fuse across. Fusion repeats a shared computation for each of its
    results, and the functions here have many.
    """
    shapes = jax.eval_shape(function)

    def nothing() -> Any:
        return jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)

    return jax.lax.cond(is_any(condition), function, nothing)


def map_contacts(function: Callable[[Any], Any], contacts: Any, is_alone: bool) -> Any:
    """Return what a function returns for each contact, stacked.

    Args:
        function: of one contact.
        contacts: the pairs of fixtures `[contacts]`; negative ones are free places, whose results do not count.
        is_alone: whether to take one contact after the other, which compiles several times faster. Otherwise they are
            computed together, as suits a batch of worlds.
    """
    if not is_alone:
        return jax.vmap(function)(contacts)
    size = contacts.shape[0]
    shapes = jax.eval_shape(function, contacts[0])
    begin = jax.tree.map(lambda shape: jnp.zeros((size, *shape.shape), shape.dtype), shapes)
    used = jnp.where(contacts >= 0, jnp.arange(1, size + 1, dtype=jnp.int32), 0).max()

    def visit(i: jax.Array, results: Any) -> Any:
        found = function(jax.lax.dynamic_index_in_dim(contacts, i, 0, keepdims=False, allow_negative_indices=False))
        return jax.tree.map(
            lambda column, value: jax.lax.dynamic_update_index_in_dim(
                column, value, i, 0, allow_negative_indices=False
            ),
            results,
            found,
        )

    return jax.lax.fori_loop(0, used, visit, begin)

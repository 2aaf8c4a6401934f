"""The names of JAX for which it declares no types, and its settings, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import xla_metadata

Shape: Callable[..., Any] = jax.ShapeDtypeStruct
Partial: Callable[..., Any] = jax.tree_util.Partial
PartitionSpec: Callable[..., Any] = jax.sharding.PartitionSpec
block_until_ready: Callable[[Any], Any] = jax.block_until_ready
clear_caches: Callable[[], None] = jax.clear_caches
config: Any = jax.config
constrain: Callable[..., Any] = jax.lax.with_sharding_constraint
finfo: Callable[..., Any] = jnp.finfo
optimization_barrier: Callable[[Any], Any] = jax.lax.optimization_barrier
pmean: Callable[..., Any] = jax.lax.pmean
psum: Callable[..., Any] = jax.lax.psum
reshard: Callable[..., Any] = jax.sharding.reshard
set_xla_metadata: Callable[..., Any] = xla_metadata.set_xla_metadata


def kinds(tree: Any) -> tuple[Any, ...]:
    """Return the structure of a pytree, and the shape and dtype of each leaf: hashable, and enough to trace with.

    >>> structure, *shapes = kinds({"x": 1.0})
    >>> jax.tree.unflatten(structure, shapes)
    {'x': ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)}
    """
    leaves, structure = jax.tree.flatten(tree)
    found = map(jax.typeof, leaves)
    return structure, *(Shape(kind.shape, kind.dtype, weak_type=kind.weak_type) for kind in found)


def uses_64_bits() -> bool:
    """Return whether JAX computes with 64-bit numbers.

    >>> with jax.enable_x64(True):
    ...     uses_64_bits()
    True
    """
    return bool(config.jax_enable_x64)

"""The part of arguments that a compiled program depends on: structure, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import jax

from funcenv._jax import uses_64_bits


def signature(tree: Any) -> tuple[Any, ...]:
    """Return what a compiled program depends on in its arguments, hashable.

    >>> signature((1, 2.0)) == signature((3, 4.0)), signature(1) == signature(1.0)
    (True, False)
    """
    leaves, structure = jax.tree.flatten(tree)
    return structure, uses_64_bits(), *map(_leaf_signature, leaves)


def _leaf_signature(leaf: Any) -> tuple[Any, ...]:
    """Return shape, dtype and weak type; those of an array are read directly, because `jax.typeof` is slower."""
    is_array = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    kind = leaf if is_array else jax.typeof(leaf)
    return kind.shape, kind.dtype, getattr(kind, "weak_type", False)  # Keys have no weak type.

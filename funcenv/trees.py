"""Choices between pytrees of one structure."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp

Tree = TypeVar("Tree")


def select(condition: jax.Array, chosen: Tree, other: Tree) -> Tree:
    """Return `chosen` where the condition holds and `other` elsewhere, leaf by leaf.

    A condition is a scalar, or `[num_envs]` for the leading axis of every leaf.

    Raises:
        ValueError: Two leaves differ in shape or dtype.

    >>> select(jnp.array([True, False]), {"x": jnp.ones((2, 2))}, {"x": jnp.zeros((2, 2))})["x"].tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """

    def pick(a: jax.Array, b: jax.Array) -> jax.Array:
        a, b = jnp.asarray(a), jnp.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise ValueError(
                f"a state or observation changes from {a.dtype}{list(a.shape)} after reset to {b.dtype}{list(b.shape)} "
                "after step; make initial and transition return the same shapes and dtypes"
            )
        mask = condition if condition.ndim == 0 else jax.lax.broadcast_in_dim(condition, a.shape, (0,))
        return jax.lax.select(mask, a, b)  # jnp.where would be a function of its own to XLA.

    selected: Tree = jax.tree.map(pick, chosen, other)
    return selected

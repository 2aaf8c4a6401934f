"""Chunks of a batch of environments, and the same chunks of arrays.

All chunks have the same size, so that one loop body serves them all. Where the size does not divide the number of
environments, the last chunk overlaps the one before it. The environments in both are played twice with the same
result, because each has a stream of keys of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from funcenv.random._counter_based import Style

MAX_CHUNK_ENVS = 256  # XLA splits larger loops among threads, which a single kernel cannot contain.
VECTOR_LANES = 16  # float32 numbers in a 512-bit register
_MAX_CHUNK_BYTES = 2**18  # a part of the second-level cache
_MIN_BATCHED_ENVS = 4  # For fewer environments, each draws its numbers together faster than one by one.


def max_chunk_size(bytes_per_env: int) -> int:
    """Return how many environments a kernel may compute together; 0 if one does not fit the cache.

    >>> max_chunk_size(100), max_chunk_size(10_000)
    (256, 26)
    """
    return min(MAX_CHUNK_ENVS, _MAX_CHUNK_BYTES // max(bytes_per_env, 1))


class Chunks(NamedTuple):
    """A batch of `num_envs` environments in chunks of `size`."""

    num_envs: int
    size: int

    @classmethod
    def fit(cls, num_envs: int, bytes_per_env: int) -> Chunks:
        """Choose chunks that fit the caches and fill the vector registers.

        >>> Chunks.fit(1000, bytes_per_env=100), Chunks.fit(8, bytes_per_env=100)
        (Chunks(num_envs=1000, size=256), Chunks(num_envs=8, size=8))
        """
        max_size = max(max_chunk_size(bytes_per_env), 1)
        if num_envs <= max_size:
            return cls(num_envs, num_envs)
        size = -(-num_envs // math.ceil(num_envs / max_size))
        return cls(
            num_envs, min(-(-size // VECTOR_LANES) * VECTOR_LANES, max_size) if max_size >= VECTOR_LANES else size
        )

    @property
    def style(self) -> Style:
        """The style in which generators compute few numbers within a single kernel over these chunks."""
        return Style.BATCHED_SINGLE_KERNEL if self.size >= _MIN_BATCHED_ENVS else Style.SINGLE_KERNEL

    @property
    def is_whole(self) -> bool:
        """True if one chunk holds the whole batch."""
        return self.size == self.num_envs

    def for_each(self, body: Callable[[jax.Array, Any], Any], result: Any) -> Any:
        """Fold `result = body(start, result)` over the first environments of the chunks."""
        if self.is_whole:
            return body(jnp.zeros((), jnp.int32), result)

        def chunk(index: jax.Array, result: Any) -> Any:
            return body(jnp.minimum(index * self.size, self.num_envs - self.size), result)

        return jax.lax.fori_loop(0, -(-self.num_envs // self.size), chunk, result)

    def slice(self, tree: Any, start: jax.Array) -> Any:
        """Return a chunk of every leaf `[num_envs, ...]`."""
        if self.is_whole:
            return tree
        return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, self.size), tree)

    def write(self, tree: Any, new: Any, start: jax.Array) -> Any:
        """Replace a chunk of every leaf `[num_envs, ...]`."""
        if self.is_whole:
            return new
        return jax.tree.map(lambda leaf, new: jax.lax.dynamic_update_slice_in_dim(leaf, new, start, axis=0), tree, new)

    def write_step(self, tree: Any, new: Any, step: jax.Array, start: jax.Array) -> Any:
        """Replace a chunk of one step in every leaf `[num_steps, num_envs, ...]`."""

        def write(leaf: jax.Array, new: jax.Array) -> jax.Array:
            zero = jnp.zeros_like(step)
            index = (step, start, *(zero for _ in leaf.shape[2:]))
            return jax.lax.dynamic_update_slice(leaf, new[None], index[: leaf.ndim])

        return jax.tree.map(write, tree, new)


def count_bytes(shapes: Any) -> int:
    """Return the size of all numbers in a pytree of shapes; keys and flags do not count."""
    leaves = (leaf for leaf in jax.tree.leaves(shapes) if jnp.issubdtype(leaf.dtype, jnp.number))
    return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)

"""How the environments of a batch are cut into chunks, and how trees of arrays follow the cut.

Every chunk has the same size, so one body of a loop serves all. Where the size does not divide the number of
environments, the last chunk reaches back into the one before: the environments in both are played twice, alike,
because the streams of each are its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from funcenv.vector import FuncVectorEnv, map_batched

_MOST = 256  # environments: with more, XLA splits the work among threads, which one function cannot
_LANES = 16  # of a 512-bit register
_BYTES = 2**18  # of a chunk, a part of the second cache level


class Chunks(NamedTuple):
    """A cut of a batch: chunks of `size` environments, each from its `start` on."""

    num_envs: int
    size: int

    @property
    def number(self) -> int:
        """How many chunks."""
        return -(-self.num_envs // self.size)

    @property
    def whole(self) -> bool:
        """Whether there is just one, which is the batch."""
        return self.size == self.num_envs

    def start(self, number: jax.Array) -> jax.Array:
        """The first environment of a chunk."""
        return jnp.minimum(number * self.size, self.num_envs - self.size)


def chunks_of(num_envs: int, bytes_per_env: int) -> Chunks:
    """Chunks that fit the caches and fill the vector registers.

    >>> chunks_of(1000, bytes_per_env=100), chunks_of(8, bytes_per_env=100)
    (Chunks(num_envs=1000, size=256), Chunks(num_envs=8, size=8))
    """
    most = max(min(_MOST, _BYTES // max(bytes_per_env, 1)), 1)
    if num_envs <= most:
        return Chunks(num_envs, num_envs)
    size = -(-num_envs // math.ceil(num_envs / most))
    return Chunks(num_envs, min(-(-size // _LANES) * _LANES, most) if most >= _LANES else size)


def for_each_chunk(chunks: Chunks, body: Callable[[jax.Array, Any], Any], result: Any) -> Any:
    """`result = body(start, result)` for the start of every chunk in turn."""
    if chunks.whole:
        return body(jnp.zeros((), jnp.int32), result)
    return jax.lax.fori_loop(0, chunks.number, lambda i, result: body(chunks.start(i), result), result)


def rows(chunks: Chunks, tree: Any, start: jax.Array, axis: int = 0) -> Any:
    """A chunk of every leaf."""
    if chunks.whole:
        return tree
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, chunks.size, axis), tree)


def put_rows(chunks: Chunks, tree: Any, new: Any, start: jax.Array) -> Any:
    """The tree with a chunk of every leaf replaced."""
    if chunks.whole:
        return new
    return jax.tree.map(lambda leaf, new: jax.lax.dynamic_update_slice_in_dim(leaf, new, start, axis=0), tree, new)


def put_step(chunks: Chunks, tree: Any, new: Any, step: jax.Array, start: jax.Array) -> Any:
    """The tree, whose leaves have leading axes `[num_steps, num_envs]`, with a chunk of one step replaced."""

    def put(leaf: jax.Array, new: jax.Array) -> jax.Array:
        zero = jnp.zeros_like(step)
        index = (step, start, *(zero for _ in leaf.shape[2:]))
        return jax.lax.dynamic_update_slice(leaf, new[None], index[: leaf.ndim])

    return jax.tree.map(put, tree, new)


def chunk_of(chunks: Chunks, venv: FuncVectorEnv[Any, Any, Any], start: jax.Array) -> FuncVectorEnv[Any, Any, Any]:
    """The environments of a chunk, with their own parameters."""
    if chunks.whole:
        return venv
    env = map_batched(venv.env, venv.num_envs, lambda leaf: rows(chunks, leaf, start))
    return venv.replace(env=env, num_envs=chunks.size)

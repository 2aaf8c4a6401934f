"""The number of environments that a single-kernel step computes at a time."""

from __future__ import annotations

from collections.abc import Callable

import jax

from funcenv._compile.chunks import VECTOR_LANES, max_chunk_size
from funcenv._compile.switch import is_enabled

MAX_INLINE_ENVS = 1024  # with more, the small chunks cost more than the handover to another thread
MAX_INLINE_OPERATIONS = 1000  # as XLA counts them; the CPU backend runs smaller programs on the calling thread


def vector_chunk_size(num_envs: int, words_per_env: int) -> int | None:
    """Return the largest chunk that fills vector registers, fits the cache and divides the batch; None if none does."""
    if jax.default_backend() != "cpu":
        return None
    largest = max_chunk_size(4 * words_per_env)
    if num_envs <= largest:
        return num_envs
    return max((size for size in range(VECTOR_LANES, largest + 1) if num_envs % size == 0), default=None)


def inline_chunk_size(num_envs: int, count_operations: Callable[[int], float]) -> int | None:
    """Return a chunk size with which a step runs on the calling thread; None if no size is needed or possible.

    With asynchronous dispatch, which is JAX's default, the CPU backend hands a program to another thread, and that
    takes longer than a step of a few hundred environments. Programs of fewer than 1000 operations are exempt, and XLA
    counts the body of a loop once. So the body is made small: chunks of two environments or one.

    Args:
        num_envs: the number of environments.
        count_operations: how many operations XLA counts in a step by chunks of a given size.
    """
    asynchronous = jax.config.values.get("jax_cpu_enable_async_dispatch", True)
    if not (asynchronous and is_enabled() and jax.default_backend() == "cpu" and num_envs <= MAX_INLINE_ENVS):
        return None
    for size in (2, 1):
        if num_envs % size == 0:
            count = count_operations(size)
            if count < MAX_INLINE_OPERATIONS:
                return size
            if count >= 2 * MAX_INLINE_OPERATIONS:  # half the chunk would be too large as well
                return None
    return None

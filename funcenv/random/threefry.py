"""Threefry2x32-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), unrolled.

The generator equals JAX's "threefry2x32" with `jax_threefry_partitionable` (JAX's default) bit for bit: the same seeds
give the same keys, splits, folds and random bits of any width and shape. JAX compiles its version for a CPU as a loop
over five groups of rounds, which cannot be fused with the code that uses the numbers; here the rounds are unrolled.

A key may have a third word: the high word of its counters (`funcenv.random.indexed_key`). JAX's counters have 0 there,
and so do the keys that are split or folded from such a key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, UInt

from funcenv.random._counter_based import (
    UINT_DTYPES,
    Style,
    Words,
    draw_elementwise,
    join_uint64,
    split_elementwise,
    split_uint64,
    stack_words,
)
from funcenv.sharding import target_platform

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # the distances in even and odd groups of four rounds
_KEY_PARITY = 0x1BD11BDA


@functools.partial(jax.jit, inline=True)  # traces the rounds once, however many draws a program has
def block(key: Words, counter: Words) -> Words:
    """Encrypt a 64-bit counter with a 64-bit key; each key gives a permutation of the counters.

    Args:
        key: two uint32 arrays.
        counter: two uint32 arrays that broadcast against those of the key.

    >>> zero = jnp.uint32(0)
    >>> [hex(word) for word in block((zero, zero), (zero, zero))]  # the known answer of Random123
    ['0x6b200159', '0x99ba4efe']
    """
    keys = (*key, key[0] ^ key[1] ^ np.uint32(_KEY_PARITY))
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x = x + y
            y = x ^ _rotate_left(y, distance)
        x = x + keys[(group + 1) % 3]
        y = y + (keys[(group + 2) % 3] + np.uint32(group + 1))
    return x, y


def seed(number: jax.Array) -> UInt[Array, "2"]:
    """Convert a scalar integer to a key: its high and its low word."""
    return stack_words(split_uint64(number), 0)


def seed_indexed(number: jax.Array) -> UInt[Array, "3"]:
    """Convert a scalar integer to a key of three words, the last of which is 0."""
    high, low = split_uint64(number)
    return stack_words((high, low, jnp.zeros_like(low)), 0)


def fold_in(key: UInt[Array, "words"], data: Any) -> UInt[Array, "words"]:
    """Compute the key of block `data`, which is also key `data` of a split."""
    return stack_words(_key_at(key)(data.astype(np.uint32)), 0)


def split(key: UInt[Array, "words"], shape: tuple[int, ...], style: Style | None = None) -> UInt[Array, "*shape words"]:
    """Compute an array of keys, one from each block; by default in the style of the target platform."""
    return split_elementwise(_key_at(key), shape, style or _default_style())


def random_bits(
    key: UInt[Array, "words"], bit_width: int, shape: tuple[int, ...], style: Style | None = None
) -> UInt[Array, "*shape"]:
    """Compute random integers, one from each block: both words for 64 bits, else one xor the other.

    The style is by default that of `target_platform`.

    Raises:
        TypeError: `bit_width` is not 8, 16, 32 or 64; JAX's generators raise the same error.
    """
    if bit_width not in UINT_DTYPES:
        raise TypeError(f"random bits come in words of 8, 16, 32 or 64, got {bit_width}")
    block_at = _block_at(key)

    def draw(index: jax.Array) -> jax.Array:
        words = block_at(index)
        return join_uint64(words) if bit_width == 64 else (words[0] ^ words[1]).astype(UINT_DTYPES[bit_width])

    return draw_elementwise(draw, shape, style or _default_style())


def _default_style() -> Style:
    return Style.CPU if target_platform() == "cpu" else Style.GPU


def _block_at(key: jax.Array) -> Callable[[jax.Array], Words]:
    def block_at(index: jax.Array) -> Words:
        high = jnp.broadcast_to(key[2], index.shape) if key.size == 3 else jnp.zeros_like(index)
        return block((key[0], key[1]), (high, index))

    return block_at


def _key_at(key: jax.Array) -> Callable[[jax.Array], tuple[jax.Array, ...]]:
    block_at = _block_at(key)
    return lambda index: (*block_at(index), *(jnp.zeros_like(index) for _ in range(key.size - 2)))


def _rotate_left(x: jax.Array, distance: int) -> jax.Array:
    left, right = lax.full_like(x, distance), lax.full_like(x, 32 - distance)
    return lax.shift_left(x, left) | lax.shift_right_logical(x, right)

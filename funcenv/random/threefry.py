"""Threefry2x32-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), unrolled.

Bit for bit the generator that JAX calls "threefry2x32", as it is with `jax_threefry_partitionable` (JAX's default): the
same keys from the same seeds, the same splits, folds and draws of any width and shape. JAX compiles it for a CPU as a
loop over five groups of rounds, which cannot be fused with what uses the numbers; here the rounds are written out.

A key may have a third word: the high word of its counters, which are those of JAX's where it is 0
(`funcenv.random.indexed_key`). Keys that are split or folded from it have 0 there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, UInt

from funcenv.random._counter_based import (
    UINT,
    Block,
    Words,
    drawn,
    joined,
    keys_of_blocks,
    require_width,
    widened,
    words_of,
)

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of even and odd groups of four rounds
_PARITY = 0x1BD11BDA  # of the key schedule


@functools.partial(jax.jit, inline=True)  # traced once, however often it is drawn from
def block(key: Words, counter: Words) -> Words:
    """64 bits from a key and a counter of 64 bits each: a permutation of the counters, for every key.

    Args:
        key: two uint32 arrays.
        counter: two uint32 arrays that broadcast against them.

    >>> zero = jnp.uint32(0)
    >>> [hex(word) for word in block((zero, zero), (zero, zero))]  # the known answer of Random123
    ['0x6b200159', '0x99ba4efe']
    """
    keys = (*key, key[0] ^ key[1] ^ np.uint32(_PARITY))
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x = x + y
            y = x ^ _rotated(y, distance)
        x = x + keys[(group + 1) % 3]
        y = y + (keys[(group + 2) % 3] + np.uint32(group + 1))
    return x, y


def seed(number: jax.Array) -> UInt[Array, "2"]:
    """Key words from a scalar integer: its high and its low half."""
    return joined(words_of(number), 0)


def seed_with_counter(number: jax.Array) -> UInt[Array, "3"]:
    """The same with a third word, which is 0."""
    high, low = words_of(number)
    return joined((high, low, jnp.zeros_like(low)), 0)


def fold_in(key: UInt[Array, "words"], data: jax.Array) -> UInt[Array, "words"]:
    """The key of block number `data`, the same as that of a split."""
    return joined(_key_of(key)(data.astype(np.uint32)), 0)


def split(key: UInt[Array, "words"], shape: tuple[int, ...]) -> UInt[Array, "*shape words"]:
    """One key from each block."""
    return keys_of_blocks(_key_of(key), shape)


def random_bits(key: UInt[Array, "words"], bit_width: int, shape: tuple[int, ...]) -> UInt[Array, "*shape"]:
    """One word from each block: both halves for 64 bits, else one xor the other."""
    require_width(bit_width)
    block_of = _block_of(key)

    def draw(number: jax.Array) -> jax.Array:
        words = block_of(number)
        return widened(words) if bit_width == 64 else (words[0] ^ words[1]).astype(UINT[bit_width])

    return drawn(draw, shape)


def _block_of(key: jax.Array) -> Block:
    def block_of(number: jax.Array) -> Words:
        high = jnp.broadcast_to(key[2], number.shape) if key.size == 3 else jnp.zeros_like(number)
        return block((key[0], key[1]), (high, number))

    return block_of


def _key_of(key: jax.Array) -> Callable[[jax.Array], tuple[jax.Array, ...]]:
    block_of = _block_of(key)
    return lambda number: (*block_of(number), *(jnp.zeros_like(number) for _ in range(key.size - 2)))


def _rotated(x: jax.Array, distance: int) -> jax.Array:
    left, right = lax.full_like(x, distance), lax.full_like(x, 32 - distance)
    return lax.shift_left(x, left) | lax.shift_right_logical(x, right)

"""Feistel2x32: a counter-based generator of 8 multiplications and 32 simple instructions for 64 bits.

A block cipher of the Feistel kind, on a block of two 32-bit words (a, b) with a key of two (k0, k1). Round i adds to
one half a hash of the other:

    t = b * M[i] + k[i]        the product carries every bit upwards,
    a = a ^ t ^ (t >> 16)      the shift brings the best-mixed bits down again,

and then the halves change places; k[i] runs through k0 k1 k1 k0 twice. It is not meant for secrets. Every operation is
on 32-bit lanes and there is no high half of a product, so it vectorises on CPUs of any vector width, and a GPU spends
three instructions a round.

For every key it is a permutation of 2**64 blocks, and the blocks are divided among three uses by their first word:

    draws    (DRAW, 0), (DRAW, 1), ...
    splits   (SPLIT, 0), (SPLIT, 1), ...
    folds    (FOLD, 0), (FOLD, 1), ...

So the children of one key (by split, and by fold_in) are 64-bit keys that all differ, with certainty, and coincide with
nothing that was drawn from it. (In JAX's own generators `fold_in(key, i)` is `split(key)[i]`.)

Both words of a block are used where an array has more than one element along its last axis: an array `[..., m]` takes
h = ceil(m / 2) blocks a row; their first words are elements 0 to h - 1 of the row, their second words the rest. So the
same key gives the same bits for the same shape, and a shorter array is not the beginning of a longer one. The
statistical tests that it passes, and the number of rounds at which it begins to pass them, are in docs/random.md.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
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

# Odd numbers of irregular bits: the first four of xxHash's, two of MurmurHash3's, two of Wellons's prospector32.
MULTIPLIERS = (
    0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0xCC9E2D51, 0x1B873593, 0x2C1B3C6D, 0x297A2D39,
)  # fmt: skip
SCHEDULE = (0, 1, 1, 0, 0, 1, 1, 0)  # which word of the key a round adds
DRAW, SPLIT, FOLD, SEED = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344  # the fraction of pi


@functools.partial(jax.jit, inline=True)  # traced once, however often it is drawn from
def block(key: Words, counter: Words) -> Words:
    """64 bits from a key and a counter of 64 bits each: a permutation of the counters, for every key.

    Args:
        key: two uint32 arrays.
        counter: two uint32 arrays that broadcast against them.

    >>> first, second = block((jnp.uint32(1), jnp.uint32(2)), (jnp.uint32(DRAW), jnp.arange(3, dtype="uint32")))
    >>> first.shape, second.dtype
    ((3,), dtype('uint32'))
    """
    changing, other = counter
    for multiplier, word in zip(MULTIPLIERS, SCHEDULE, strict=True):
        mixed = other * np.uint32(multiplier) + key[word]
        changing = changing ^ mixed ^ (mixed >> np.uint32(16))
        changing, other = other, changing
    return changing, other


def seed(number: jax.Array) -> UInt[Array, "2"]:
    """Key words from a scalar integer: two seeds of up to 64 bits never give the same key."""
    high, low = words_of(number)
    zero = jnp.zeros_like(low)
    return joined(block((zero + np.uint32(SEED), zero), (high, low)), 0)


def fold_in(key: UInt[Array, "2"], data: jax.Array) -> UInt[Array, "2"]:
    """The key that block `data` of the folds is."""
    return joined(block((key[0], key[1]), (jnp.full_like(key[0], FOLD), data.astype(np.uint32))), 0)


def split(key: UInt[Array, "2"], shape: tuple[int, ...]) -> UInt[Array, "*shape 2"]:
    """A key from each of the first blocks of the splits."""
    return keys_of_blocks(_block_of(key, SPLIT), shape)


def random_bits(key: UInt[Array, "2"], bit_width: int, shape: tuple[int, ...]) -> UInt[Array, "*shape"]:
    """A 32-bit word, or the low part of it, for each element; a whole block for 64 bits."""
    require_width(bit_width)
    if bit_width == 64:
        return widened(drawn(_block_of(key, DRAW), shape))
    return _words(key, shape).astype(UINT[bit_width])


def _words(key: jax.Array, shape: tuple[int, ...]) -> UInt[Array, "*shape"]:
    if not shape or shape[-1] < 2:
        return drawn(_block_of(key, DRAW), shape)[0]
    length = shape[-1]
    words = jnp.concatenate(drawn(_block_of(key, DRAW), (*shape[:-1], -(-length // 2))), axis=-1)
    return words if length % 2 == 0 else words[..., :length]


def _block_of(key: jax.Array, use: int) -> Block:
    return lambda number: block((key[0], key[1]), (jnp.full_like(number, use), number))

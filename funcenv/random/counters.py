"""What the counter-based generators share: numbering the words of an array, and words from integers of any width."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, UInt

MOST_BLOCKS = 2**32
"""How many blocks a key has for one use: counters here have 32 bits."""

UNROLLED = 8
"""Up to this many keys of a split are computed one by one.

A split into a few named keys is soon taken apart, and mapped over a thousand environments an axis of 2 vectorises
badly; scalars, each of them an array over the environments, vectorise well, and no array of keys need exist. Draws stay
arrays: taken apart, XLA's CPU backend was seen to compute the block of every word anew for each.
"""

UINT = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def numbered(shape: tuple[int, ...]) -> UInt[Array, "..."]:
    """Each element's place in row-major order, as sums over axes, which a partitioner can divide.

    Raises:
        ValueError: more than 2**32 elements.

    >>> numbered((2, 3)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    if math.prod(shape) > MOST_BLOCKS:
        raise ValueError(
            f"at most 2**32 blocks can be drawn with one key, got an array of shape {shape}; split the key"
        )
    places = jnp.zeros(shape, np.uint32)
    stride = 1
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            places = places + lax.broadcasted_iota(np.uint32, shape, axis) * np.uint32(stride)
        stride *= shape[axis]
    return places


def keys_one_by_one(
    block: Callable[[jax.Array], tuple[jax.Array, jax.Array]], zero: jax.Array, shape: tuple[int, ...]
) -> UInt[Array, "*shape 2"]:
    """Few keys: those of the blocks 0, 1, ... in row-major order.

    They are put together axis by axis, because XLA then sees through it: code that takes an element out again gets the
    element. A reshape would hide that, and so would the axis order of a mapped `jnp.stack`.

    >>> keys_one_by_one(lambda number: (number, number), jnp.uint32(0), (2,)).tolist()
    [[0, 0], [1, 1]]
    """
    words = [word for number in range(math.prod(shape)) for word in block(jnp.full_like(zero, number))]
    return _assembled(words, (*shape, 2))


def joined(parts: Sequence[jax.Array], axis: int) -> jax.Array:
    """Arrays of one shape along a new axis."""
    return lax.concatenate([lax.expand_dims(part, (axis,)) for part in parts], axis)


def words_of(number: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The high and the low 32 bits of a scalar integer of any width, as JAX's generators read a seed.

    Raises:
        TypeError: not a scalar, or not an integer.
    """
    if number.shape or not jnp.issubdtype(number.dtype, np.integer):
        raise TypeError(f"a seed must be a scalar integer, got {number.dtype}{list(number.shape)}")
    low = lax.convert_element_type(number, np.uint32)
    if number.dtype.itemsize < 8:
        return jnp.zeros_like(low), low
    high = lax.shift_right_logical(number, lax.full_like(number, 32))
    return lax.convert_element_type(high, np.uint32), low


def widened(words: tuple[jax.Array, jax.Array]) -> UInt[Array, "..."]:
    """64-bit words from their halves, the higher first; needs `jax_enable_x64`."""
    high, low = (lax.convert_element_type(word, np.uint64) for word in words)
    return lax.shift_left(high, lax.full_like(high, 32)) | low


def require_width(bit_width: int) -> None:
    """Refuse a width that is not 8, 16, 32 or 64.

    Raises:
        TypeError: as JAX's generators do.
    """
    if bit_width not in UINT:
        raise TypeError(f"random bits come in words of 8, 16, 32 or 64, got {bit_width}")


def _assembled(words: Sequence[jax.Array], shape: tuple[int, ...]) -> jax.Array:
    if not shape:
        return words[0]
    step = len(words) // shape[0]
    return joined([_assembled(words[start : start + step], shape[1:]) for start in range(0, len(words), step)], 0)

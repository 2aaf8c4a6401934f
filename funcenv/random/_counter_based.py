"""Building blocks of a counter-based generator: the index of each array element, and 64-bit numbers as two words."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, UInt

from funcenv._jax import optimization_barrier

MAX_BLOCKS = 2**32
"""The number of blocks that one key can produce, because the counters here have 32 bits."""

MAX_LOOPED_ELEMENTS = 64
"""The largest number of elements that a program of one environment computes one after another.

XLA's CPU backend runs a program on the calling thread if it counts fewer than 1000 operations, and it counts the body
of a loop once. The handover to another thread takes longer than the operations.
"""

MAX_UNROLLED_ELEMENTS = 8
"""The largest number of elements, such as the keys of one split, that are computed one by one.

A split into a few named keys is soon taken apart. Mapped over a thousand environments, an axis of size 2 vectorises
badly, but scalars become arrays over the environments, which vectorise well, and no array of keys need exist. Random
bits stay arrays on a CPU: taken apart, XLA's CPU backend was seen to compute the block of every word repeatedly.
"""


class Style(enum.Enum):
    """A way to compute few keys and few random bits. The numbers are the same in every style.

    A style belongs to the implementation of a key (`funcenv.random.generators.with_style`), so that it is fixed when a
    program is traced and does not depend on who lowers the program later.
    """

    CPU = "a program of several kernels on a CPU"
    SINGLE_KERNEL = "a program that becomes a single kernel"
    STATEFUL = "a program of one environment that becomes a single kernel"
    BATCHED_SINGLE_KERNEL = "a program that maps over environments and becomes a single kernel"
    GPU = "a program on an accelerator"


UINT_DTYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}

Words = tuple[jax.Array, jax.Array]
"""The two 32-bit words of a block, or of an array of blocks."""


def element_indices(shape: tuple[int, ...]) -> UInt[Array, "..."]:
    """Compute each element's row-major index, as a sum over axes, which XLA can partition over devices.

    Raises:
        ValueError: The array has more than 2**32 elements.

    >>> element_indices((2, 3)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    if math.prod(shape) > MAX_BLOCKS:
        raise ValueError(
            f"at most 2**32 blocks can be drawn with one key, got an array of shape {shape}; split the key"
        )
    indices = jnp.zeros(shape, np.uint32)
    stride = 1
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            indices = indices + lax.broadcasted_iota(np.uint32, shape, axis) * np.uint32(stride)
        stride *= shape[axis]
    return indices


def split_elementwise(
    key_at: Callable[[jax.Array], tuple[jax.Array, ...]], shape: tuple[int, ...], style: Style
) -> jax.Array:
    """Compute the keys of a split, `[*shape, words]`, from the blocks 0, 1, ... in row-major order.

    In a program of one environment a loop computes them (`MAX_LOOPED_ELEMENTS`).

    Args:
        key_at: maps the index of a block to the words of its key.
        shape: the shape of the array of keys.
        style: how few keys are computed.

    >>> split_elementwise(lambda index: (index, index), (2,), Style.CPU).tolist()
    [[0, 0], [1, 1]]
    """
    if style is Style.STATEFUL and 1 < math.prod(shape) <= MAX_LOOPED_ELEMENTS:
        words = lax.map(lambda index: stack_words(key_at(index), 0), element_indices(shape).reshape(-1))
        return words.reshape(*shape, words.shape[-1])
    if 0 < math.prod(shape) <= MAX_UNROLLED_ELEMENTS:
        keys = _one_by_one(key_at, math.prod(shape))
        few = _stack_nested([word for key in keys for word in key], (*shape, len(keys[0])))
        return _prevent_recomputation(few) if style is Style.CPU else few
    return _prevent_recomputation(stack_words(key_at(element_indices(shape)), len(shape)))


def draw_elementwise(draw: Callable[[jax.Array], Any], shape: tuple[int, ...], style: Style) -> Any:
    """Apply `draw` to the indices 0, 1, ... in row-major order.

    On a GPU, a few elements are drawn one by one: XLA then moves each into the kernel that needs it. In a single kernel
    that maps over environments they are drawn in a loop, one after another for all environments at once, because an
    axis of size 4 fills no vector register. XLA counts the operations of a loop's body once, and asynchronous dispatch
    depends on that count (`funcenv.adapters.engine.chunks`). A program of one environment has such loops for the second
    reason alone (`MAX_LOOPED_ELEMENTS`).

    Args:
        draw: an elementwise function of the indices.
        shape: the shape of the result.
        style: how few elements are computed.

    >>> draw_elementwise(lambda index: 2 * index, (3,), Style.CPU).tolist()
    [0, 2, 4]
    """
    indices = element_indices(shape)
    is_few = 1 < indices.size <= MAX_UNROLLED_ELEMENTS
    is_looped = style is Style.STATEFUL and 1 < indices.size <= MAX_LOOPED_ELEMENTS
    if is_looped or (is_few and style is Style.BATCHED_SINGLE_KERNEL):
        return jax.tree.map(lambda leaf: leaf.reshape(shape), lax.map(draw, indices.reshape(-1)))
    if not is_few or style is not Style.GPU:
        return draw(indices)
    return jax.tree.map(lambda *leaves: _stack_nested(leaves, shape), *_one_by_one(draw, indices.size))


def stack_words(parts: Sequence[jax.Array], axis: int) -> jax.Array:
    """Stack arrays of one shape along a new axis."""
    return lax.concatenate([lax.expand_dims(part, (axis,)) for part in parts], axis)


def split_uint64(number: jax.Array) -> Words:
    """Split a scalar integer of any width into its high and its low 32 bits, as JAX's generators read a seed.

    Raises:
        TypeError: `number` is not a scalar, or not an integer.
    """
    if number.shape or not jnp.issubdtype(number.dtype, np.integer):
        raise TypeError(f"a seed must be a scalar integer, got {number.dtype}{list(number.shape)}")
    low = lax.convert_element_type(number, np.uint32)
    if number.dtype.itemsize < 8:
        return jnp.zeros_like(low), low
    high = lax.shift_right_logical(number, lax.full_like(number, 32))
    return lax.convert_element_type(high, np.uint32), low


def join_uint64(words: Words) -> UInt[Array, "..."]:
    """Join the high and the low 32 bits to 64-bit integers, which need `jax_enable_x64`."""
    high, low = (lax.convert_element_type(word, np.uint64) for word in words)
    return lax.shift_left(high, lax.full_like(high, 32)) | low


def _one_by_one(function: Callable[[jax.Array], Any], count: int) -> list[Any]:
    return [function(jnp.asarray(np.uint32(index))) for index in range(count)]


def _prevent_recomputation(keys: jax.Array) -> jax.Array:
    """Keep XLA's CPU backend from copying the computation of keys into every program that draws with them.

    The size of the compiled code would grow exponentially with the depth of the splits: members of nested spaces took
    minutes to compile. Few keys need no barrier in a program that becomes a single kernel, which is faster without it,
    nor on a GPU, where an intermediate array costs a kernel.
    """
    barred: jax.Array = optimization_barrier(keys)
    return barred


def _stack_nested(words: Sequence[jax.Array], shape: tuple[int, ...]) -> jax.Array:
    """Stack words in row-major order axis by axis, which lets XLA replace an element that is taken out by its word.

    A reshape would hide the words from XLA, and so would the axis order of a mapped `jnp.stack`.
    """
    if not shape:
        return words[0]
    step = len(words) // shape[0]
    rows = [_stack_nested(words[start : start + step], shape[1:]) for start in range(0, len(words), step)]
    return stack_words(rows, 0)

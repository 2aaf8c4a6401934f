"""Building blocks of a counter-based generator: the index of each array element, and 64-bit numbers as two words."""

from __future__ import annotations

import contextlib
import contextvars
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, UInt

MAX_BLOCKS = 2**32
"""The number of blocks that one key can produce, because the counters here have 32 bits."""

MAX_UNROLLED_ELEMENTS = 8
"""The largest number of elements, such as the keys of one split, that are computed one by one.

A split into a few named keys is soon taken apart. Mapped over a thousand environments, an axis of size 2 vectorises
badly, but scalars become arrays over the environments, which vectorise well, and no array of keys need exist. Random
bits stay arrays on a CPU: taken apart, XLA's CPU backend was seen to compute the block of every word repeatedly.
"""

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


def split_elementwise(key_at: Callable[[jax.Array], tuple[jax.Array, ...]], shape: tuple[int, ...]) -> jax.Array:
    """Compute the keys of a split, `[*shape, words]`, from the blocks 0, 1, ... in row-major order.

    Args:
        key_at: maps the index of a block to the words of its key.
        shape: the shape of the array of keys.

    >>> split_elementwise(lambda index: (index, index), (2,)).tolist()
    [[0, 0], [1, 1]]
    """
    if 0 < math.prod(shape) <= MAX_UNROLLED_ELEMENTS:
        keys = _one_by_one(key_at, math.prod(shape))
        return _prevent_recomputation(_stack_nested([word for key in keys for word in key], (*shape, len(keys[0]))))
    return _prevent_recomputation(stack_words(key_at(element_indices(shape)), len(shape)))


def draw_elementwise(draw: Callable[[jax.Array], Any], shape: tuple[int, ...]) -> Any:
    """Apply `draw` to the indices 0, 1, ... in row-major order.

    On a GPU, a few elements are drawn one by one: XLA then moves each into the kernel that needs it.

    Args:
        draw: an elementwise function of the indices.
        shape: the shape of the result.

    >>> draw_elementwise(lambda index: 2 * index, (3,)).tolist()
    [0, 2, 4]
    """
    indices = element_indices(shape)
    if not 1 < indices.size <= MAX_UNROLLED_ELEMENTS:
        return draw(indices)
    if _mapped.get():
        return jax.tree.map(lambda leaf: leaf.reshape(shape), lax.map(draw, indices.reshape(-1)))
    if _is_for_cpu():
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


_platform: contextvars.ContextVar[str | None] = contextvars.ContextVar("_platform", default=None)
_becomes_one_function: contextvars.ContextVar[bool] = contextvars.ContextVar("_becomes_one_function", default=False)
_mapped: contextvars.ContextVar[bool] = contextvars.ContextVar("_mapped", default=False)


@contextlib.contextmanager
def lowered_for_one_function(mapped: bool = False) -> Iterator[None]:
    """Lower programs that are compiled as one function; JAX calls a generator only while it lowers a program.

    Args:
        mapped: Whether the program is mapped over environments. The few numbers that each environment draws are then
            drawn in a loop, one after another for all environments at once, because an axis of size 4 fills no vector
            register. XLA counts the operations of a loop's body once, and asynchronous dispatch depends on that count
            (`adapters.vector.programs`).

    >>> with lowered_for_one_function():
    ...     lowered = jax.jit(jax.random.split).lower(jax.random.key(0))
    """
    tokens = _becomes_one_function.set(True), _mapped.set(mapped)
    try:
        yield
    finally:
        _becomes_one_function.reset(tokens[0])
        _mapped.reset(tokens[1])


@contextlib.contextmanager
def lowered_for(platform: str) -> Iterator[None]:
    """Lower programs for another platform than JAX's default backend, such as "gpu" on a machine without one.

    The numbers drawn are the same on every platform; only the operations that compute them differ.

    >>> with lowered_for("gpu"):
    ...     lowered = jax.jit(jax.random.split).lower(jax.random.key(0))
    """
    token = _platform.set(platform)
    try:
        yield
    finally:
        _platform.reset(token)


def _one_by_one(function: Callable[[jax.Array], Any], count: int) -> list[Any]:
    return [function(jnp.asarray(np.uint32(index))) for index in range(count)]


def _prevent_recomputation(keys: jax.Array) -> jax.Array:
    """Keep XLA's CPU backend from copying the computation of keys into every program that draws with them.

    The size of the compiled code would grow exponentially with the depth of the splits: members of nested spaces took
    minutes to compile. Few keys need no barrier in a program that is compiled as one function, which is faster without
    it, nor on a GPU, where an intermediate array costs a kernel.
    """
    few = math.prod(keys.shape[:-1]) <= MAX_UNROLLED_ELEMENTS
    if few and (_becomes_one_function.get() or not _is_for_cpu()):
        return keys
    barrier: Any = lax.optimization_barrier  # JAX has no types for it
    return barrier(keys)


def _is_for_cpu() -> bool:
    return (_platform.get() or jax.default_backend()) == "cpu"


def _stack_nested(words: Sequence[jax.Array], shape: tuple[int, ...]) -> jax.Array:
    """Stack words in row-major order axis by axis, which lets XLA replace an element that is taken out by its word.

    A reshape would hide the words from XLA, and so would the axis order of a mapped `jnp.stack`.
    """
    if not shape:
        return words[0]
    step = len(words) // shape[0]
    rows = [_stack_nested(words[start : start + step], shape[1:]) for start in range(0, len(words), step)]
    return stack_words(rows, 0)

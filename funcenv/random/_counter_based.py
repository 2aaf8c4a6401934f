"""What the counter-based generators share: numbering the words of an array, and words from integers of any width."""

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

MOST_BLOCKS = 2**32
"""How many blocks a key has for one use: counters here have 32 bits."""

Words = tuple[jax.Array, jax.Array]
"""The two words of 32 bits of a block, or of many."""

Block = Callable[[jax.Array], Words]

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


def keys_of_blocks(key_of: Callable[[jax.Array], tuple[jax.Array, ...]], shape: tuple[int, ...]) -> jax.Array:
    """The keys of a split, `[*shape, words]`: those of the blocks 0, 1, ... in row-major order.

    Args:
        key_of: from the number of a block to the words of its key.
        shape: of the array of keys.

    >>> keys_of_blocks(lambda number: (number, number), (2,)).tolist()
    [[0, 0], [1, 1]]
    """
    if 0 < math.prod(shape) <= UNROLLED:
        keys = _one_by_one(key_of, math.prod(shape))
        return _computed_once(_assembled([word for key in keys for word in key], (*shape, len(keys[0]))))
    return _computed_once(joined(key_of(numbered(shape)), len(shape)))


def drawn(draw: Callable[[jax.Array], Any], shape: tuple[int, ...]) -> Any:
    """What is drawn for the numbers 0, 1, ... in row-major order.

    On a GPU a few are drawn one by one: XLA sees through to each, and puts them into the kernel that needs them.

    Args:
        draw: elementwise, from the numbers of elements to what is drawn for them.
        shape: of what is drawn.

    >>> drawn(lambda number: 2 * number, (3,)).tolist()
    [0, 2, 4]
    """
    numbers = numbered(shape)
    if not 1 < numbers.size <= UNROLLED:
        return draw(numbers)
    if _mapped.get():
        return jax.tree.map(lambda leaf: leaf.reshape(shape), lax.map(draw, numbers.reshape(-1)))
    return draw(numbers) if _is_for_cpu() else _drawn_apart(draw, numbers)


def _drawn_apart(draw: Callable[[jax.Array], Any], numbers: jax.Array) -> Any:
    """Number by number, put together so that XLA sees through to each."""
    return jax.tree.map(lambda *leaves: _assembled(leaves, numbers.shape), *_one_by_one(draw, numbers.size))


def _one_by_one(function: Callable[[jax.Array], Any], count: int) -> list[Any]:
    return [function(jnp.asarray(np.uint32(number))) for number in range(count)]


def _computed_once(keys: jax.Array) -> jax.Array:
    """Keys that were split, which the programs that draw with them do not compute again.

    Left to itself, XLA's CPU backend writes the computation of a key into each program that draws with it, and into
    those of the keys that are split from it again: what it compiles then grows with the power of the depth of the
    splits. Members of nested spaces took it minutes. Few keys in a program that becomes one function
    (`funcenv._compile.single_kernel`) are left alone: it is compiled in another manner, and faster with them; and so they are on a GPU,
    where an array in between is a kernel more.
    """
    few = math.prod(keys.shape[:-1]) <= UNROLLED
    if few and (_becomes_one_function.get() or not _is_for_cpu()):
        return keys
    barrier: Any = lax.optimization_barrier  # for which JAX has no types
    return barrier(keys)


def _is_for_cpu() -> bool:
    return (_platform.get() or jax.default_backend()) == "cpu"


_platform: contextvars.ContextVar[str | None] = contextvars.ContextVar("_platform", default=None)
_becomes_one_function: contextvars.ContextVar[bool] = contextvars.ContextVar("_becomes_one_function", default=False)
_mapped: contextvars.ContextVar[bool] = contextvars.ContextVar("_mapped", default=False)


@contextlib.contextmanager
def lowered_for_one_function(mapped: bool = False) -> Iterator[None]:
    """In which programs are lowered that become one function; JAX calls a generator only then.

    Args:
        mapped: the program is mapped over environments. A few numbers that each of them draws are then drawn one after
            another, each for all environments at once, because an axis of 4 fills no vector register; and in a loop,
            whose body XLA counts once: what it counts decides whether asynchronous dispatch hands a program to another
            thread (`adapters.vector.programs`).

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
    """In which programs are lowered for another platform than JAX's default backend, such as "gpu" where there is none.

    What is drawn is the same everywhere; how it is written suits one platform.

    >>> with lowered_for("gpu"):
    ...     lowered = jax.jit(jax.random.split).lower(jax.random.key(0))
    """
    token = _platform.set(platform)
    try:
        yield
    finally:
        _platform.reset(token)


def joined(parts: Sequence[jax.Array], axis: int) -> jax.Array:
    """Arrays of one shape along a new axis."""
    return lax.concatenate([lax.expand_dims(part, (axis,)) for part in parts], axis)


def words_of(number: jax.Array) -> Words:
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


def widened(words: Words) -> UInt[Array, "..."]:
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
    """Words in row-major order as an array, put together axis by axis, because XLA then sees through it.

    Code that takes an element out again gets the element. A reshape would hide that, and so would the axis order of a
    mapped `jnp.stack`.
    """
    if not shape:
        return words[0]
    step = len(words) // shape[0]
    return joined([_assembled(words[start : start + step], shape[1:]) for start in range(0, len(words), step)], 0)

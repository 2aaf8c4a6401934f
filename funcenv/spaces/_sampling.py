"""Draws from finite sets: uniform integers, and indices under a mask or with given probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt

from funcenv.struct import NDArray

MAX_ONE_WORD_CHOICES = 2**16
"""The largest number of choices drawn as a 32-bit word modulo n; each probability is exact to within 2e-5 of itself."""


def require_one(mask: Any, probability: Any) -> None:
    """Raise `ValueError` when both a mask and a probability are given.

    >>> require_one(mask=[0, 1], probability=[0.5, 0.5])
    Traceback (most recent call last):
        ...
    ValueError: pass either mask or probability, not both
    """
    if mask is not None and probability is not None:
        raise ValueError("pass either mask or probability, not both")


def require_mask(mask: Any, n: int, name: str = "mask", may_be_empty: bool = False) -> Bool[Array, "n"]:
    """Convert a mask of `n` entries to a bool array.

    Raises:
        ValueError: The mask has another shape, or a concrete mask has an entry that is neither 0 nor 1, or has no 1
            and not `may_be_empty`.

    >>> require_mask([0, 0], 2)
    Traceback (most recent call last):
        ...
    ValueError: mask must allow something, got [0 0]; pass None to allow everything
    """
    numbers = _numbers(name, mask, (n,))
    if isinstance(numbers, np.ndarray):
        if not np.isin(numbers, (0, 1)).all():
            raise ValueError(f"{name} must hold 0 and 1 only, got {numbers}; pass weights as probability")
        if not (may_be_empty or numbers.any()):
            raise ValueError(f"{name} must allow something, got {numbers}; pass None to allow everything")
    return jnp.asarray(numbers).astype(bool)


def require_distribution(probability: Any, n: int, name: str = "probability") -> Float[Array, "n"]:
    """Convert the probabilities of `n` choices to a float array.

    Raises:
        ValueError: The array has another shape, or concrete probabilities lie outside [0, 1] or do not sum to 1.

    >>> require_distribution([0.5, 0.6], 2)
    Traceback (most recent call last):
        ...
    ValueError: probability must hold numbers in [0, 1] that sum to 1, got [0.5 0.6]; divide them by their sum
    """
    numbers = _numbers(name, probability, (n,))
    if isinstance(numbers, np.ndarray):
        inside = (numbers >= 0) & (numbers <= 1)
        if not (inside.all() and np.isclose(numbers.sum(dtype=float), 1, atol=1e-5)):
            raise ValueError(
                f"{name} must hold numbers in [0, 1] that sum to 1, got {numbers}; divide them by their sum"
            )
    return jnp.asarray(numbers).astype(float)


def require_entries(
    name: str, values: Any, shape: tuple[int, ...], rule: str, holds: Callable[[NDArray], Any]
) -> jax.Array:
    """Convert numbers, one for each element of a member, to an array.

    Raises:
        ValueError: The array has another shape, or `holds` is false for a concrete number.

    >>> require_entries("mask", [0, 3], (2,), "0, 1 or 2", lambda numbers: numbers <= 2)
    Traceback (most recent call last):
        ...
    ValueError: every entry of mask must be 0, 1 or 2, got [0 3]
    """
    numbers = _numbers(name, values, shape)
    if isinstance(numbers, np.ndarray) and not np.all(holds(numbers)):
        raise ValueError(f"every entry of {name} must be {rule}, got {numbers}")
    return jnp.asarray(numbers)


def uniform_below(key: jax.Array, count: UInt[Array, "*shape"], largest: int) -> UInt[Array, "*shape"]:
    """Draw independent uniform integers from 0 to `count - 1`.

    Args:
        key: a typed key.
        count: the number of choices for each element; 0 stands for all integers of its dtype.
        largest: an upper bound of all counts. One word an element is drawn up to 2**16, and two words above.
    """
    word = count.dtype
    if largest <= MAX_ONE_WORD_CHOICES:
        return jax.random.bits(key, count.shape, word) % count
    # The integer part of count times a fraction of two words; the error of each probability is below count / 2**64.
    high, low = jax.random.bits(key, (2, *count.shape), word)
    carry = (high * count) + _high_word(low, count) < high * count
    return jnp.where(count == 0, high, _high_word(high, count) + carry.astype(word))


def stack_padded(rows: Any, width: int) -> Array:
    """Stack vectors of different lengths, with zeros up to `width` behind each."""
    return jnp.stack([jnp.pad(jnp.asarray(row), (0, width - len(row))) for row in rows])


def draw_allowed(key: jax.Array, allowed: Bool[Array, "*shape n"]) -> Int[Array, "*shape"]:
    """Draw the index of a true entry along the last axis uniformly, or return 0 where none is true."""
    rank = jnp.cumsum(allowed.astype(jnp.uint32), axis=-1)
    position = uniform_below(key, jnp.maximum(rank[..., -1], jnp.uint32(1)), largest=allowed.shape[-1])
    return jnp.argmax(rank > position[..., None], axis=-1).astype(jnp.int32)


def draw_weighted(key: jax.Array, probability: Float[Array, "*shape n"]) -> Int[Array, "*shape"]:
    """Draw an index along the last axis with the given probabilities; probability 0 is never drawn."""
    return jax.random.categorical(key, jnp.log(probability), axis=-1).astype(jnp.int32)


def _high_word(a: jax.Array, b: jax.Array) -> jax.Array:
    """Compute the upper word of the product of two words, from products of half words."""
    half = a.dtype.type(a.dtype.itemsize * 4)
    low_half = a.dtype.type(2 ** int(half) - 1)
    a_high, a_low, b_high, b_low = a >> half, a & low_half, b >> half, b & low_half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & low_half)
    return a_high * b_high + (middle >> half) + (other >> half)


def _numbers(name: str, values: Any, shape: tuple[int, ...]) -> Any:
    """Convert values to an array, on the host unless they are traced, and check its shape."""
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(values))
    array: Any = jnp.asarray(values) if traced else np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, one entry for each choice, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got {array.dtype}")
    return array

"""Dtypes of members: what JAX makes of them, how they combine, and exact comparison of integers."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool


def dtype_of(x: Any) -> np.dtype[Any] | None:
    """Dtype of an array or of a NumPy scalar; None for everything else, random keys included.

    >>> dtype_of(np.zeros(3)), dtype_of("text")
    (dtype('float64'), None)
    """
    dtype = getattr(x, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else None


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that an array of this dtype has inside JAX: 32 bits wide at most, unless `jax_enable_x64` is on.

    >>> canonical(np.dtype("uint8"))
    dtype('uint8')
    """
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def promote(dtypes: Iterable[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype that holds them all by JAX's rules, under which int32 and float32 make float32 (in NumPy, float64).

    >>> promote([np.dtype("int32"), np.dtype("float32")])
    dtype('float32')
    """
    with jax.numpy_dtype_promotion("standard"):
        return np.dtype(functools.reduce(jnp.promote_types, dtypes))


def with_shape(what: str, x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> jax.Array:
    """`x` as a JAX array of this shape and dtype.

    Raises:
        ValueError: another shape.

    >>> with_shape("a flattened member", [1, 2, 3], (2,), np.dtype("int32"))
    Traceback (most recent call last):
        ...
    ValueError: a flattened member must have shape (2,), got (3,)
    """
    array = jnp.asarray(x)
    if array.shape != shape:
        raise ValueError(f"{what} must have shape {shape}, got {array.shape}")
    return array.astype(canonical(dtype))


def require_range(space: Any, dtype: np.dtype[Any], lowest: int, highest: int) -> np.dtype[Any]:
    """The dtype that draws from an integer space have inside JAX.

    Raises:
        ValueError: the space holds numbers that JAX cannot hold without x64.
    """
    drawn = canonical(dtype)
    limits = np.iinfo(drawn)
    if lowest < limits.min or highest > limits.max:
        raise ValueError(
            f"{space!r} holds integers from {lowest} to {highest}, which do not fit {drawn}; "
            'turn 64-bit numbers on with jax.config.update("jax_enable_x64", True), or narrow the space'
        )
    return drawn


def integers_within(x: Any, low: Any, high: Any) -> Bool[Array, ""]:
    """Whether all integers (or bools) of the array `x` lie in `[low, high]`, whatever its dtype.

    The bounds are integers or integer arrays of the shape of `x`, known on the host. Values are compared exactly: none
    is cast to a dtype that cannot hold it.

    >>> bool(integers_within(np.uint64(2**63), np.int64(-1), np.int64(2)))
    False
    """
    if not isinstance(x, jax.Array):
        return jnp.asarray(bool(np.all((x >= low) & (x <= high))))
    low, high, x = (
        part.astype(np.uint8) if part.dtype == bool else part for part in (np.asarray(low), np.asarray(high), x)
    )
    limits = np.iinfo(x.dtype)
    reachable = (low <= limits.max) & (high >= limits.min)
    return jnp.all((x >= _clip(low, x.dtype)) & (x <= _clip(high, x.dtype)) & reachable)


def _clip(bound: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The nearest number that `dtype` holds."""
    own, limits = np.iinfo(bound.dtype), np.iinfo(dtype)
    return np.clip(bound, max(own.min, limits.min), min(own.max, limits.max)).astype(dtype)

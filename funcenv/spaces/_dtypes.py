"""Dtypes of members: their form inside JAX, their promotion, and exact comparison of integers."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv.struct import NDArray


def dtype_of(x: Any) -> np.dtype[Any] | None:
    """Return the dtype of an array or NumPy scalar, and None for everything else, including random keys.

    >>> dtype_of(np.zeros(3)), dtype_of("text")
    (dtype('float64'), None)
    """
    dtype = getattr(x, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and hasattr(x, "__array__") else None  # a space has a dtype, too


def read_dtype(owner: str, dtype: Any) -> np.dtype[Any]:
    """Return what names a dtype as a dtype.

    >>> read_dtype("Box", "uint8")
    dtype('uint8')
    >>> read_dtype("Box", "uint7")
    Traceback (most recent call last):
        ...
    TypeError: dtype of Box must name a dtype, got 'uint7'; write np.float32 or "float32"
    """
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # NumPy parses some texts as Python
        raise TypeError(f'dtype of {owner} must name a dtype, got {dtype!r}; write np.float32 or "float32"') from None


def is_array(x: Any, kinds: str, shape: tuple[int, ...]) -> bool:
    """Return whether `x` is an array or NumPy scalar of this shape, with a dtype of one of these kinds.

    >>> is_array(np.zeros(3), "iu", (3,))
    False
    """
    dtype = dtype_of(x)
    return dtype is not None and dtype.kind in kinds and np.shape(x) == shape


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that an array of `dtype` has inside JAX: at most 32 bits wide unless `jax_enable_x64` is on.

    >>> canonical(np.dtype("uint8"))
    dtype('uint8')
    """
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def promote(dtypes: Iterable[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype that dtypes promote to by JAX's rules: int32 and float32 give float32 (in NumPy, float64).

    >>> promote([np.dtype("int32"), np.dtype("float32")])
    dtype('float32')
    """
    with jax.numpy_dtype_promotion("standard"):
        return np.dtype(functools.reduce(jnp.promote_types, dtypes))


def with_shape(what: str, x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> jax.Array:
    """Convert `x` to a JAX array of this dtype, and check its shape.

    Raises:
        ValueError: `x` has another shape, or holds integers that `dtype` cannot represent.
        TypeError: `x` holds something else than numbers.

    >>> with_shape("a flattened member", [1, 2, 3], (2,), np.dtype("int32"))
    Traceback (most recent call last):
        ...
    ValueError: a flattened member must have shape (2,), got (3,)
    """
    array, inside = as_numbers(what, x), canonical(dtype)
    if array.shape != shape:
        raise ValueError(f"{what} must have shape {shape}, got {array.shape}")
    if isinstance(array, np.ndarray) and array.size and {array.dtype.kind, inside.kind} <= set("iu"):
        limits = np.iinfo(inside)
        if not limits.min <= array.min() <= array.max() <= limits.max:
            raise ValueError(f"{what} must fit {inside}, got {x!r}")
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite
        return jnp.asarray(array).astype(inside)


def as_numbers(what: str, x: Any) -> Any:
    """Convert numbers and nested lists of them to an array, on the host unless they hold JAX arrays.

    >>> as_numbers("an item", "red")
    Traceback (most recent call last):
        ...
    TypeError: an item must hold numbers, got 'red'
    """
    if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(x)):
        return jnp.asarray(x)
    try:
        array = np.asarray(x)
    except (TypeError, ValueError):  # ragged lists
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{what} must hold numbers, got {x!r}")
    return array


def require_range(space: Any, dtype: np.dtype[Any], lowest: int, highest: int) -> np.dtype[Any]:
    """Return the dtype inside JAX of the members of an integer space.

    Raises:
        ValueError: JAX cannot represent some members without `jax_enable_x64`.
    """
    inside = canonical(dtype)
    limits = np.iinfo(inside)
    if lowest < limits.min or highest > limits.max:
        raise ValueError(
            f"{space!r} holds integers from {lowest} to {highest}, which do not fit {inside}; "
            'turn 64-bit numbers on with jax.config.update("jax_enable_x64", True), or narrow the space'
        )
    return inside


def integers_within(x: Any, low: Any, high: Any) -> Bool[Array, ""]:
    """Return whether all elements of an integer or bool array lie in `[low, high]`, compared exactly for every dtype.

    The bounds are integers, or integer arrays of the shape of `x`, on the host.

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


def _clip(bound: NDArray, dtype: np.dtype[Any]) -> NDArray:
    own, limits = np.iinfo(bound.dtype), np.iinfo(dtype)
    return np.clip(bound, max(own.min, limits.min), min(own.max, limits.max)).astype(dtype)

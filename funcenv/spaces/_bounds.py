"""The bounds of a box: their shape, checks for NaN, open sides, and numbers that the box's dtype cannot represent."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.spaces._dtypes import canonical
from funcenv.struct import NDArray


def common_shape(low: Any, high: Any) -> tuple[int, ...]:
    """Return the shape that two bounds imply: (1,) for two scalars, as in Gymnasium, and () for 0-d NumPy arrays.

    >>> common_shape([0, 0, 0], 1), common_shape(0, 1)
    ((3,), (1,))
    """
    shapes = [_shape_of(bound) for bound in (low, high)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"Box bounds must have shapes that broadcast, got low of {shapes[0]} and high of {shapes[1]}"
        ) from None
    return shape if shape or isinstance(low, np.ndarray) or isinstance(high, np.ndarray) else (1,)


def require_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of sizes.

    >>> require_shape(3)
    Traceback (most recent call last):
        ...
    TypeError: Box needs a shape that is a sequence of integers, such as (3,), got 3
    """
    try:
        sizes = tuple(operator.index(size) for size in shape)
    except TypeError:
        raise TypeError(f"Box needs a shape that is a sequence of integers, such as (3,), got {shape!r}") from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"Box needs sizes of at least 0, got shape {sizes}")
    return sizes


def read_bound(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Convert a bound to a read-only array of the member's shape and dtype, and say where it is finite.

    A traced bound becomes a traced array.

    Raises:
        ValueError: The bound holds NaN, does not broadcast to `shape`, or holds numbers outside `dtype`.
    """
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
        traced = jnp.broadcast_to(jnp.asarray(value).astype(canonical(dtype)), shape)
        return traced, jnp.isfinite(traced)
    given = _numbers(name, value, dtype)
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError(f"Box bounds must not be NaN, got {name}={value!r}; -inf and inf leave a side open")
    try:
        given = np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(
            f"Box bound {name} of shape {given.shape} does not broadcast to shape {shape}; "
            "give one number, or one for each element"
        ) from None
    bound = _to_dtype(name, given, dtype)
    bound.setflags(write=False)
    return bound, np.isfinite(given)


def _numbers(name: str, value: Any, dtype: np.dtype[Any]) -> NDArray:
    """Return a bound as an array of numbers, of floats if the box holds floats."""
    try:
        given = np.asarray(value)
        are_numbers = given.dtype.kind not in "cUSMmO" or all(isinstance(one, (int, float)) for one in given.flat)
        given = given.astype(float) if are_numbers and dtype.kind == "f" else given
    except (ValueError, OverflowError):  # lists of several lengths, and integers beyond all floats
        are_numbers = False
    if not are_numbers or given.dtype.kind not in "fiub":
        raise ValueError(f"Box bounds must be numbers, got {name}={value!r}; -inf and inf leave a side open")
    return given


def as_array(x: Any, dtype: np.dtype[Any]) -> Any:
    """Convert numbers and nested lists to an array, of `dtype` unless that rounds; return None for everything else.

    >>> as_array([1, 2], np.dtype("float32")), as_array([[1], [1, 2]], np.dtype("float32")) is None
    (array([1., 2.], dtype=float32), True)
    """
    if not isinstance(x, (bool, int, float, np.generic, list, tuple)):
        return None
    try:
        if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(x)):
            traced = jnp.asarray(x)
            return traced.astype(canonical(dtype)) if dtype.kind == "f" else traced
        array = np.asarray(x)
        if array.dtype.kind not in "biuf" and not isinstance(x, int):  # an integer of more than 64 bits is an object
            return None
        with np.errstate(all="ignore"):
            cast = np.asarray(x, dtype)
    except (ValueError, TypeError, OverflowError):  # ragged lists, no numbers, or numbers outside the dtype
        return None
    return cast if dtype.kind == "f" or np.array_equal(cast, array) else array


def _shape_of(value: Any) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)):
        return (len(value), *(_shape_of(value[0]) if value else ()))
    return tuple(np.shape(value))


def _to_dtype(name: str, given: NDArray, dtype: np.dtype[Any]) -> NDArray:
    open_sides = np.isinf(given)
    if dtype.kind in "ub" and open_sides.any():
        raise ValueError(f"Box of {dtype} has no open sides, got {name}={given}; give the bound as a number")
    lowest, highest = _limits(dtype)
    if (((given < lowest) | (given > highest)) & ~open_sides).any():
        raise ValueError(
            f"Box bound {name}={given} lies outside {dtype}, which holds {lowest} to {highest}; pass a wider dtype"
        )
    if dtype.kind == "f":
        return given.astype(dtype)
    ends = np.where(given < 0, lowest, highest).astype(dtype)
    return np.where(open_sides, ends, np.where(open_sides, 0, given).astype(dtype))


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "b":
        return 0, 1
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max

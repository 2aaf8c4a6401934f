"""Variable size in arrays of fixed size: how many entries count, and zeros beyond."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from funcenv.spaces._dtypes import dtype_of
from funcenv.spaces._sampling import uniform_below
from funcenv.spaces.space import Space


def within_length(length: Int32[Array, ""], capacity: int) -> Bool[Array, "capacity"]:
    """Which entries count: the first `length`.

    >>> within_length(jnp.int32(2), 4).tolist()
    [True, True, False, False]
    """
    return jnp.arange(capacity, dtype=jnp.int32) < jnp.asarray(length).astype(jnp.int32)


def is_integer(value: Any) -> bool:
    """Whether `value` is an integer scalar, seen on the host."""
    dtype = dtype_of(value)
    return isinstance(value, int) or (dtype is not None and dtype.kind in "iu" and np.shape(value) == ())


def zero_beyond(items: Any, inside: Bool[Array, "capacity"]) -> Any:
    """Stacked items with zeros where they do not count, so that equal members are equal bit by bit."""

    def clear(leaf: jax.Array) -> jax.Array:
        mask = inside.reshape(-1, *(1,) * (leaf.ndim - 1))
        return jnp.where(mask, leaf, jnp.zeros((), leaf.dtype))

    return jax.tree.map(clear, items)


def struct_of(space: Space[Any]) -> Any:
    """The structure of a member, with the shape and dtype of each array."""
    return jax.eval_shape(lambda: space.sample(jax.random.key(0)))


def stacked_length(items: Any) -> int | None:
    """How many items are stacked: the size of the first axis, which all arrays share; None if they don't."""
    leaves = jax.tree.leaves(items)
    if not leaves or any(dtype_of(leaf) is None or np.ndim(leaf) == 0 for leaf in leaves):
        return None
    lengths = {int(np.shape(leaf)[0]) for leaf in leaves}
    return lengths.pop() if len(lengths) == 1 else None


def require_fitting(what: str, items: Any, capacity: int) -> int:
    """How many items are stacked.

    Raises:
        ValueError: they are not stacked, or more than `capacity`.

    >>> require_fitting("items", np.zeros((5, 2)), 4)
    Traceback (most recent call last):
        ...
    ValueError: there is room for at most 4 items, got 5; make the space with a larger capacity
    """
    length = stacked_length(items)
    if length is None:
        raise ValueError(f"{what} must be arrays that share their first axis, got {items!r}")
    if length > capacity:
        raise ValueError(
            f"there is room for at most {capacity} {what}, got {length}; make the space with a larger capacity"
        )
    return length


def stack_items(space: Space[Any], items: Iterable[Any]) -> Any:
    """Members of a space, in plain form or not, stacked leaf by leaf."""
    members = [
        pad_items(space, jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], space.pack(item)), 1) for item in items
    ]
    if not members:
        return jax.tree.map(lambda leaf: jnp.zeros((0, *leaf.shape), leaf.dtype), struct_of(space))
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *members)


def pad_items(space: Space[Any], items: Any, capacity: int) -> Any:
    """Stacked members of a space with zeros after them, up to `capacity`, in the dtypes of the space.

    Raises:
        ValueError: arrays of another structure or shape.
        TypeError: arrays of another kind: floats for integers, say.
    """

    def pad(leaf: jax.ShapeDtypeStruct, item: Any) -> jax.Array:
        array = jnp.asarray(item)
        if array.shape[1:] != leaf.shape:
            raise ValueError(f"an item of {space!r} must have arrays of shape {leaf.shape}, got {array.shape[1:]}")
        if not np.can_cast(array.dtype, leaf.dtype, "same_kind"):
            raise TypeError(f"an item of {space!r} must have arrays of {leaf.dtype}, got {array.dtype}")
        return jnp.pad(array.astype(leaf.dtype), [(0, capacity - len(array)), *[(0, 0)] * len(leaf.shape)])

    return jax.tree.map(pad, struct_of(space), items)


def unstack_items(space: Space[Any], items: Any, length: int, stack: bool) -> Any:
    """The first `length` items: still stacked, or as a tuple in plain form."""
    if stack:
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:length], items)
    return tuple(space.unpack(jax.tree.map(lambda leaf: leaf[i], items)) for i in range(length))  # noqa: B023


def draw_items(space: Space[Any], key: jax.Array, n: int, **choice: Any) -> Any:
    """`n` members of a space, stacked leaf by leaf, drawn independently under the same mask or probability."""
    return jax.vmap(lambda key: space.sample(key, **choice))(jax.random.split(key, n))


def as_pair(name: str, value: Any, parts: str) -> tuple[Any, Any]:
    """A pair of masks or of probabilities, None for either.

    >>> as_pair("mask", 3, "a length and a mask of the items")
    Traceback (most recent call last):
        ...
    TypeError: mask must be a tuple of a length and a mask of the items, None for either, got 3
    """
    if value is None:
        return None, None
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{name} must be a tuple of {parts}, None for either, got {value!r}")
    return value


def geometric_length(key: jax.Array, longest: int) -> Int32[Array, ""]:
    """A length from 1 up with probability proportional to 0.75**length, no more than `longest`."""
    weights = np.cumsum(0.75 ** np.arange(longest))
    bounds = (weights[:-1] / weights[-1]).astype(np.float32)
    return 1 + jnp.sum(jax.random.uniform(key, (), jnp.float32) >= bounds, dtype=jnp.int32)


def choose_length(key: jax.Array, length: Any, shortest: int, longest: int) -> Int32[Array, ""]:
    """A given length, or one of an array of lengths, each as likely as the next.

    Raises:
        ValueError: a length that is known and outside `[shortest, longest]`, or more than one axis.
        TypeError: lengths that are not integers.
    """
    traced = isinstance(length, jax.core.Tracer)
    lengths = length if traced else np.asarray(length)
    if lengths.dtype.kind not in "iu":
        raise TypeError(f"a length must be an integer or an array of integers, got {length!r}")
    if lengths.ndim > 1 or not lengths.size:
        raise ValueError(f"lengths must be a number or a list of at least one, got shape {lengths.shape}")
    if not traced and not ((lengths >= shortest) & (lengths <= longest)).all():
        raise ValueError(f"a length must lie between {shortest} and {longest}, got {length}")
    lengths = jnp.clip(jnp.asarray(lengths).astype(jnp.int32), shortest, longest)
    if lengths.ndim == 0:
        return lengths
    return lengths[uniform_below(key, jnp.uint32(lengths.size), lengths.size)]

"""Members of variable size in arrays of fixed size: a count of the valid entries, and zeros after them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from funcenv.spaces._dtypes import as_numbers, dtype_of, is_array, with_shape
from funcenv.spaces._sampling import require_one, uniform_below
from funcenv.spaces.space import AnySpace, Space, T_cov


class PaddedSpace(Space[T_cov]):
    """A space whose members are padded arrays, and have another plain form, which `pack` and `unpack` convert."""

    def decode(self, member: Any) -> Any:
        """Convert a member to its plain form."""
        return self.unpack(member)


def within_length(length: Int32[Array, ""], capacity: int) -> Bool[Array, "capacity"]:
    """Return the mask of the first `length` entries.

    >>> within_length(jnp.int32(2), 4).tolist()
    [True, True, False, False]
    """
    return jnp.arange(capacity, dtype=jnp.int32) < jnp.asarray(length).astype(jnp.int32)


def is_integer(value: Any) -> bool:
    """Return whether `value` is an integer scalar; it may be traced."""
    return isinstance(value, int) or is_array(value, "iu", ())


def zero_beyond(items: Any, length: Int32[Array, ""], capacity: int) -> Any:
    """Set the stacked items after the first `length` to zero, so that equal members have equal bits."""
    inside = within_length(length, capacity)

    def clear(leaf: jax.Array) -> jax.Array:
        mask = inside.reshape(-1, *(1,) * (leaf.ndim - 1))
        return jnp.where(mask, leaf, jnp.zeros((), leaf.dtype))

    return jax.tree.map(clear, items)


def stacked_length(items: Any) -> int | None:
    """Return the number of stacked items: the size of the first axis if all arrays share it, and None otherwise."""
    leaves = jax.tree.leaves(items)
    if not leaves or any(dtype_of(leaf) is None or np.ndim(leaf) == 0 for leaf in leaves):
        return None
    lengths = {int(np.shape(leaf)[0]) for leaf in leaves}
    return lengths.pop() if len(lengths) == 1 else None


def require_fitting(what: str, items: Any, capacity: int) -> int:
    """Return the number of stacked items.

    Raises:
        ValueError: The items are not stacked, or there are more than `capacity`.

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


def stack_items(space: AnySpace, items: Iterable[Any]) -> Any:
    """Pack members of a space, and stack them leaf by leaf."""
    what = f"an item of {space!r}"
    members = [
        pad_items(space, jax.tree.map(lambda leaf: as_numbers(what, leaf)[None], space.pack(item)), 1) for item in items
    ]
    if not members:
        return jax.tree.map(lambda leaf: jnp.zeros((0, *leaf.shape), leaf.dtype), space.abstract_member())
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *members)


def pad_items(space: AnySpace, items: Any, capacity: int) -> Any:
    """Pad stacked members of a space with zeros to `capacity`, in the dtypes of the space.

    Raises:
        ValueError: The arrays have another structure or shape than members have, or integers that do not fit.
        TypeError: The arrays have another kind of dtype, such as floats for integers.
    """
    what = f"an item of {space!r}"

    def pad(leaf: jax.ShapeDtypeStruct, item: Any) -> jax.Array:
        array = as_numbers(what, item)
        if array.shape[1:] != leaf.shape:
            raise ValueError(f"{what} must have arrays of shape {leaf.shape}, got {array.shape[1:]}")
        if not np.can_cast(array.dtype, leaf.dtype, "same_kind"):
            is_shown = len(array) == 1 and not isinstance(array, jax.core.Tracer)
            values = f" of {array.dtype}" if not is_shown else f"{array[0].tolist()!r} of {array.dtype}"
            raise TypeError(f"{what} must have arrays of {leaf.dtype}, got {values.strip()}")
        converted = with_shape(what, array, array.shape, leaf.dtype)
        return jnp.pad(converted, [(0, capacity - len(array)), *[(0, 0)] * len(leaf.shape)])

    return jax.tree.map(pad, space.abstract_member(), items)


def first_items(items: Any, length: int) -> Any:
    """Return the first `length` of stacked items as NumPy arrays, still stacked."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:length], items)


def unstack_items(space: AnySpace, items: Any, length: int) -> tuple[Any, ...]:
    """Unpack the first `length` of stacked items, one by one."""
    return tuple(space.unpack(jax.tree.map(lambda leaf: leaf[i], items)) for i in range(length))  # noqa: B023


def draw_items(space: AnySpace, key: jax.Array, n: int, **choice: Any) -> Any:
    """Draw `n` independent members, stacked leaf by leaf, under the same mask or probability."""
    return jax.vmap(lambda key: space.sample(key, **choice))(jax.random.split(key, n))


def read_choice(mask: Any, probability: Any, parts: str) -> tuple[str, Any, Any]:
    """Return which of `mask` and `probability` is given, and the two entries of the pair; both None if neither is.

    Raises:
        ValueError: Both are given.
        TypeError: The given one is not a pair.

    >>> read_choice(3, None, "a length and a {} of the items")
    Traceback (most recent call last):
        ...
    TypeError: mask must be a tuple of a length and a mask of the items, None for either, got 3
    """
    require_one(mask, probability)
    name, pair = ("mask", mask) if probability is None else ("probability", probability)
    if pair is None:
        return name, None, None
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"{name} must be a tuple of {parts.format(name)}, None for either, got {pair!r}")
    return name, *pair


def choose_length(key: jax.Array, length: Any, shortest: int, longest: int) -> Int32[Array, ""]:
    """Return a given length, or draw one uniformly from an array of lengths.

    Raises:
        ValueError: A concrete length lies outside `[shortest, longest]`, or the array has more than one axis.
        TypeError: The lengths are not integers.
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

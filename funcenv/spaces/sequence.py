"""Sequences of members of one space, up to a fixed length."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from funcenv.checks import require_size
from funcenv.spaces._composite import contains_parts, require_space
from funcenv.spaces._dtypes import integers_within
from funcenv.spaces._padded import (
    as_pair,
    choose_length,
    draw_items,
    geometric_length,
    is_integer,
    pad_items,
    require_fitting,
    stack_items,
    stacked_length,
    unstack_items,
    within_length,
    zero_beyond,
)
from funcenv.spaces._sampling import require_one
from funcenv.spaces.batch import contains_each
from funcenv.spaces.space import Space
from funcenv.struct import PyTreeNode

MAX_LENGTH = 32
"""The capacity by default: Gymnasium's lengths exceed it once in 10,000 draws."""


class SequenceInstance(PyTreeNode):
    """A sequence as arrays: `Sequence.pack` makes one, `Sequence.unpack` reads it."""

    items: Any  # the items, stacked leaf by leaf: `[max_length, ...]`; beyond `length`, anything
    length: Int32[Array, ""]

    @property
    def mask(self) -> Bool[Array, "max_length"]:
        """Which items count."""
        return within_length(self.length, jax.tree.leaves(self.items)[0].shape[0])


class Sequence(Space[SequenceInstance]):
    """Sequences of 0 to `max_length` members of a space.

    A member is a `SequenceInstance`. `contains` and `flatten` take what Gymnasium's space holds as well: a tuple of
    members of `space`, or with `stack` these members stacked.

    Args:
        space: the space of an item.
        max_length: the capacity of a member, at least 1.
        stack: whether the plain form, which `unpack` gives, is stacked rather than a tuple.

    Raises:
        TypeError: `space` is not a space.
        ValueError: `max_length` below 1.

    >>> import funcenv
    >>> from funcenv.spaces import Discrete
    >>> space = Sequence(Discrete(3), max_length=4)
    >>> member = space.pack([2, 0])
    >>> member.items.tolist(), int(member.length)
    ([2, 0, 0, 0], 2)
    >>> bool(space.contains(space.sample(funcenv.key(0)))), (2, 3) in space
    (True, False)
    """

    def __init__(self, space: Space[Any], max_length: int = MAX_LENGTH, stack: bool = False) -> None:
        require_space("the item of a Sequence", space)
        self.feature_space = space
        self.max_length = require_size("max_length", max_length)
        self.stack = bool(stack)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> SequenceInstance:
        """Draw a sequence of at least 1 item: a length, then independent items.

        The length is geometric with mean 4, as in Gymnasium, given that it does not exceed `max_length`.

        Args:
            key: a typed key.
            mask: a tuple of a length, an array of lengths to choose from, or None, and of a mask of the items, or None.
            probability: likewise, with probabilities of the items. Not together with `mask`.

        Raises:
            ValueError: both are given, or a length exceeds `max_length`.
            TypeError: `mask` or `probability` is not a pair.
        """
        require_one(mask, probability)
        length_key, item_key = jax.random.split(key)
        name, value = ("mask", mask) if probability is None else ("probability", probability)
        length, choice = as_pair(name, value, f"a length and a {name} of the items")
        if length is None:
            length = geometric_length(length_key, self.max_length)
        else:
            length = choose_length(length_key, length, 0, self.max_length)
        items = draw_items(self.feature_space, item_key, self.max_length, **{name: choice})
        return SequenceInstance(items=zero_beyond(items, within_length(length, self.max_length)), length=length)

    def pack(self, x: Any) -> SequenceInstance:
        """A tuple of items, or with `stack` stacked items, as a member.

        Raises:
            ValueError: more than `max_length` items.
        """
        if isinstance(x, SequenceInstance):
            return x
        items = x if self.stack else stack_items(self.feature_space, x)
        length = require_fitting("items", items, self.max_length)
        return SequenceInstance(
            items=pad_items(self.feature_space, items, self.max_length), length=jnp.asarray(np.int32(length))
        )

    def unpack(self, member: SequenceInstance) -> Any:
        """A tuple of the items; with `stack`, the items stacked."""
        return unstack_items(self.feature_space, member.items, int(member.length), self.stack)

    def decode(self, member: Any) -> Any:
        """Convert a member to its plain form."""
        return self.unpack(member)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` is a sequence of members of the space of at most `max_length`, in any of the forms.

        What stands beyond the length of a `SequenceInstance` does not count.
        """
        if isinstance(x, SequenceInstance):
            if not is_integer(x.length):
                return jnp.zeros((), bool)
            inside = contains_each(self.feature_space, x.items, self.max_length)
            fits = integers_within(x.length, 0, self.max_length)
            return fits & jnp.all(inside | ~within_length(x.length, self.max_length))
        if not self.stack:
            if not isinstance(x, tuple) or len(x) > self.max_length:
                return jnp.zeros((), bool)
            return contains_parts((self.feature_space, item) for item in x)
        length = stacked_length(x)
        if length is None or length > self.max_length:
            return jnp.zeros((), bool)
        return contains_each(self.feature_space, x, length).all()

    def union(self, other: Space[Any]) -> Sequence:
        """Sequences of members of the union."""
        if not isinstance(other, Sequence) or (self.max_length, self.stack) != (other.max_length, other.stack):
            raise TypeError(
                f"{self!r} and {other!r} differ in kind, max_length or stack; a union needs spaces alike in these"
            )
        return self._of(self.feature_space.union(other.feature_space))

    @property
    def flattened(self) -> Sequence:
        """Sequences of flattened items."""
        return self._of(self.feature_space.flattened)

    def flatten(self, x: Any) -> SequenceInstance:
        """The sequence of the flattened items."""
        return self._each(self.feature_space.flatten, self.pack(x))

    def unflatten(self, flat: Any) -> SequenceInstance:
        """The sequence of the items."""
        return self._each(self.feature_space.unflatten, self.flattened.pack(flat))

    def _each(self, function: Any, member: SequenceInstance) -> SequenceInstance:
        items = jax.vmap(function)(member.items)
        return SequenceInstance(
            items=zero_beyond(items, within_length(member.length, self.max_length)), length=jnp.asarray(member.length)
        )

    def _of(self, space: Space[Any]) -> Sequence:
        return Sequence(space, self.max_length, self.stack)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((Sequence, *self._parts()))

    def _parts(self) -> tuple[Any, ...]:
        return self.feature_space, self.max_length, self.stack

    def __repr__(self) -> str:
        capacity = f", max_length={self.max_length}" if self.max_length != MAX_LENGTH else ""
        return f"Sequence({self.feature_space!r}, stack={self.stack}{capacity})"

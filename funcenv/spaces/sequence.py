"""Sequences of members of one space, up to a fixed length."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from funcenv.checks import require_flag, require_size
from funcenv.spaces import _padded
from funcenv.spaces._composite import contains_all, require_space
from funcenv.spaces._dtypes import integers_within
from funcenv.spaces._padded import PaddedSpace
from funcenv.spaces.batch import contains_each
from funcenv.spaces.space import AnySpace, require_alike
from funcenv.struct import PyTreeNode

MAX_LENGTH = 32
"""The default capacity: a length that Gymnasium draws exceeds it once in 10,000 draws."""


class SequenceInstance(PyTreeNode):
    """A sequence as arrays. `Sequence.pack` makes one, and `Sequence.unpack` reads it."""

    items: Any  # the items, stacked leaf by leaf: `[max_length, ...]`; entries after `length` have no meaning
    length: Int32[Array, ""]

    @property
    def mask(self) -> Bool[Array, "max_length"]:
        """The mask of the items within the length."""
        return _padded.within_length(self.length, jax.tree.leaves(self.items)[0].shape[0])


class Sequence(PaddedSpace[SequenceInstance]):
    """Sequences of 0 to `max_length` members of a space.

    A member is a `SequenceInstance`. `contains` and `flatten` also take the plain form, which Gymnasium's space holds:
    a tuple of members of `space`, or with `stack` these members stacked.

    Args:
        space: the space of an item.
        max_length: the capacity of a member, at least 1.
        stack: whether the plain form holds stacked items rather than a tuple.

    Raises:
        TypeError: `space` is not a space.
        ValueError: `max_length` is below 1.

    >>> import funcenv
    >>> from funcenv.spaces import Discrete
    >>> space = Sequence(Discrete(3), max_length=4)
    >>> member = space.pack([2, 0])
    >>> member.items.tolist(), int(member.length)
    ([2, 0, 0, 0], 2)
    >>> bool(space.contains(space.sample(funcenv.key(0)))), (2, 3) in space
    (True, False)
    """

    def __init__(self, space: AnySpace, max_length: int = MAX_LENGTH, stack: bool = False) -> None:
        require_space("the item of a Sequence", space)
        self.feature_space = space
        self.max_length = require_size("max_length", max_length)
        self.stack = require_flag("stack", stack)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> SequenceInstance:
        """Draw a sequence of at least 1 item: a length, then independent items.

        As in Gymnasium, the length is geometric with mean 4, here conditioned on at most `max_length`.

        Args:
            key: a typed key.
            mask: a pair of a length, or an array of lengths to choose from, and a mask of the items; either may be
                None.
            probability: a pair of a length, or an array of lengths, and probabilities of the items.

        Raises:
            ValueError: Both are given, or a length exceeds `max_length`.
            TypeError: `mask` or `probability` is not a pair.
        """
        length_key, item_key = jax.random.split(key)
        name, length, choice = _padded.read_choice(mask, probability, "a length and a {} of the items")
        if length is None:
            length = _geometric_length(length_key, self.max_length)
        else:
            length = _padded.choose_length(length_key, length, 0, self.max_length)
        return self._member(_padded.draw_items(self.feature_space, item_key, self.max_length, **{name: choice}), length)

    def _member(self, items: Any, length: Any) -> SequenceInstance:
        return SequenceInstance(items=_padded.zero_beyond(items, length, self.max_length), length=jnp.asarray(length))

    def pack(self, x: Any) -> SequenceInstance:
        """Convert a tuple of items, or with `stack` stacked items, to a member.

        Raises:
            ValueError: There are more than `max_length` items.
            TypeError: `x` is not a sequence of items.
        """
        if isinstance(x, SequenceInstance):
            return x
        if not self.stack and (isinstance(x, (str, bytes, dict)) or not np.iterable(x)):
            raise TypeError(f"a member of Sequence must be a tuple of items, got {x!r}")
        items = x if self.stack else _padded.stack_items(self.feature_space, x)
        length = np.int32(_padded.require_fitting("items", items, self.max_length))
        items = _padded.pad_items(self.feature_space, items, self.max_length)
        return SequenceInstance(items=items, length=jnp.asarray(length))

    def unpack(self, member: SequenceInstance) -> Any:
        """Return a tuple of the items, or with `stack` the stacked items."""
        length = int(member.length)
        if self.stack:
            return _padded.first_items(member.items, length)
        return _padded.unstack_items(self.feature_space, member.items, length)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` is a sequence of at most `max_length` members of the space, in either form.

        Items after the length of a `SequenceInstance` do not count.
        """
        if isinstance(x, SequenceInstance):
            if not _padded.is_integer(x.length):
                return jnp.zeros((), bool)
            inside = contains_each(self.feature_space, x.items, self.max_length)
            fits = integers_within(x.length, 0, self.max_length)
            return fits & jnp.all(inside | ~_padded.within_length(x.length, self.max_length))
        length = _padded.stacked_length(x) if self.stack else len(x) if isinstance(x, tuple) else None
        if length is None or length > self.max_length:
            return jnp.zeros((), bool)
        if self.stack:
            return contains_each(self.feature_space, x, length).all()
        return contains_all([self.feature_space] * length, x)

    def union(self, other: Any) -> Sequence:
        """Return the sequences of members of the union."""
        require_alike("kind, max_length or stack", lambda space: (space.max_length, space.stack), self, other)
        return self._of(self.feature_space.union(other.feature_space))

    @property
    def flattened(self) -> Sequence:
        """Sequences of flattened items."""
        return self._of(self.feature_space.flattened)

    def flatten(self, x: Any) -> SequenceInstance:
        """Flatten each item."""
        member = self.pack(x)
        return self._member(jax.vmap(self.feature_space.flatten)(member.items), member.length)

    def unflatten(self, flat: Any) -> SequenceInstance:
        """Unflatten each item."""
        member = self.flattened.pack(flat)
        return self._member(jax.vmap(self.feature_space.unflatten)(member.items), member.length)

    def _of(self, space: AnySpace) -> Sequence:
        return Sequence(space, self.max_length, self.stack)

    def parts(self) -> tuple[Any, ...]:
        """Return the space of an item, the capacity and `stack`."""
        return self.feature_space, self.max_length, self.stack

    def __repr__(self) -> str:
        capacity = f", max_length={self.max_length}" if self.max_length != MAX_LENGTH else ""
        return f"Sequence({self.feature_space!r}, stack={self.stack}{capacity})"


def _geometric_length(key: jax.Array, longest: int) -> Int32[Array, ""]:
    """Draw a length from 1 to `longest` with probability proportional to 0.75**length."""
    weights = np.cumsum(0.75 ** np.arange(longest))
    bounds = (weights[:-1] / weights[-1]).astype(np.float32)
    return 1 + jnp.sum(jax.random.uniform(key, (), jnp.float32) >= bounds, dtype=jnp.int32)

"""Spaces that are made of other spaces: what `Tuple`, `Dict` and `OneOf` have in common."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv.spaces._dtypes import canonical, promote, with_shape
from funcenv.spaces._sampling import require_one
from funcenv.spaces.batch import batch_space, stack_space
from funcenv.spaces.box import Box, concatenate_boxes
from funcenv.spaces.flatten import flatdim
from funcenv.spaces.space import AnySpace, Space, T_cov, require_alike


def require_space(where: str, space: Any) -> None:
    """Raise `TypeError` unless `space` is a space.

    >>> require_space("Tuple entry 0", 3)
    Traceback (most recent call last):
        ...
    TypeError: Tuple entry 0 must be a funcenv space, got 3
    """
    if not isinstance(space, Space):
        hint = "; convert it first" if type(space).__module__.startswith(("gymnasium", "gym.")) else ""
        raise TypeError(f"{where} must be a funcenv space, got {space!r}{hint}")


def contains_all(spaces: Iterable[AnySpace], values: Iterable[Any]) -> Bool[Array, ""]:
    """Return whether each value lies in its space; an empty product contains its one empty member."""
    inside = jnp.ones((), bool)
    for space, value in zip(spaces, values, strict=True):
        inside &= space.contains(value)
    return inside


class CompositeSpace(Space[T_cov]):
    """A space with a sequence of spaces. `Dict` overrides what differs for a mapping.

    Args:
        spaces: the spaces, in order.

    Raises:
        TypeError: An entry is not a space.
    """

    def __init__(self, spaces: Iterable[AnySpace]) -> None:
        if not isinstance(spaces, Iterable):
            raise TypeError(f"{type(self).__name__} takes a sequence of spaces, such as [Discrete(2)], got {spaces!r}")
        self.spaces: Any = tuple(spaces)
        for i, space in enumerate(self.spaces):
            require_space(f"{type(self).__name__} entry {i}", space)

    @property
    def _children(self) -> tuple[AnySpace, ...]:
        return tuple(self.spaces)

    def _with_children(self, spaces: Iterable[AnySpace]) -> Space[T_cov]:
        """Return the space of this kind, and with these names, that is made of other spaces."""
        return type(self)(spaces)

    def _sample_children(self, key: jax.Array, mask: Any, probability: Any) -> list[Any]:
        """Draw a member of each space, independently."""
        require_one(mask, probability)
        masks, probabilities = self._choices("mask", mask), self._choices("probability", probability)
        keys = jax.random.split(key, len(self._children))
        choices = zip(self._children, masks, probabilities, strict=True)
        return [space.sample(keys[i], mask=m, probability=p) for i, (space, m, p) in enumerate(choices)]

    def _choices(self, name: str, given: Any) -> list[Any]:
        """Return the mask or the probability of each space, None where there is none."""
        if given is None:
            return [None] * len(self.spaces)
        if not isinstance(given, tuple):
            raise TypeError(f"{name} must be a tuple with an entry or None for each space, got {given!r}")
        if len(given) != len(self.spaces):
            raise ValueError(
                f"{name} must have one entry for each of the {len(self.spaces)} spaces, got {len(given)}; "
                "None stands for no restriction"
            )
        return list(given)

    def union(self, other: Any) -> Any:
        """Return the space of the unions of both spaces' entries."""
        require_alike("kind or length", len, self, other)
        pairs = zip(self._children, other._children, strict=True)
        return self._with_children(mine.union(theirs) for mine, theirs in pairs)

    def parts(self) -> tuple[Any, ...]:
        """Return the spaces."""
        return self._children

    def __getitem__(self, key: Any) -> AnySpace:
        space: AnySpace = self.spaces[key]
        return space

    def __len__(self) -> int:
        return len(self.spaces)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.spaces)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.spaces))})"


class ProductSpace(CompositeSpace[T_cov]):
    """A space whose members have an entry for each of its spaces: `Tuple` and `Dict`."""

    @abc.abstractmethod
    def _entries(self, x: Any) -> list[Any]:
        """List the entries of a member in the order of the spaces."""

    @abc.abstractmethod
    def _require_entries(self, x: Any) -> None:
        """Raise `ValueError` unless `x` has exactly the entries of a member."""

    @abc.abstractmethod
    def _member(self, entries: Iterable[Any]) -> Any:
        """Build a member of its entries."""

    def _map(self, method: str, x: Any) -> Any:
        """Call a method of each space with the entry of `x`."""
        pairs = zip(self._children, self._entries(x), strict=True)
        return self._member(getattr(space, method)(entry) for space, entry in pairs)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> Any:
        """Draw a member of each space, independently.

        Args:
            key: a typed key.
            mask: a mask or None for each space, in a tuple for `Tuple` and a dict for `Dict`.
            probability: probabilities or None for each space, in the same form.

        Raises:
            TypeError: `mask` or `probability` is not a tuple, or not a dict for `Dict`.
            ValueError: Both are given, or the entries of one do not match the spaces.
        """
        return self._member(self._sample_children(key, mask, probability))

    @property
    def flattened(self) -> AnySpace:
        """The vectors of the entries end to end; a product of the flattened spaces where one has no vectors."""
        parts = [space.flattened for space in self._children]
        boxes = [part for part in parts if isinstance(part, Box)]
        if len(boxes) < len(parts):
            return self._with_children(parts)
        return concatenate_boxes(boxes, promote([box.dtype for box in boxes]) if boxes else np.dtype(np.float32))

    def flatten(self, x: Any) -> Any:
        """Flatten the entries, and join them end to end where all of them are vectors."""
        self._require_entries(x)
        flats, dtype = self._map("flatten", x), self.flattened.dtype
        if dtype is None:
            return flats
        vectors = [flat.astype(canonical(dtype)) for flat in self._entries(flats)]
        return jnp.concatenate([jnp.zeros(0, canonical(dtype)), *vectors])

    def unflatten(self, flat: Any) -> Any:
        """Split a vector into the entries' vectors, and unflatten each."""
        dtype = self.flattened.dtype
        if dtype is not None:
            ends = np.cumsum([0, *map(flatdim, self._children)])
            vector = with_shape("a flattened member", flat, (int(ends[-1]),), dtype)
            flat = self._member(vector[start:end] for start, end in itertools.pairwise(ends))
        return self._map("unflatten", flat)

    def zero(self) -> Any:
        """Return the zero of each space."""
        return self._member(space.zero() for space in self._children)

    def pack(self, x: Any) -> Any:
        """Pack each entry."""
        return self._map("pack", x)

    def unpack(self, member: Any) -> Any:
        """Unpack each entry."""
        return self._map("unpack", member)

    def decode(self, member: Any) -> Any:
        """Decode each entry."""
        return self._map("decode", member)


@stack_space.register
def _(space: ProductSpace, n: int) -> AnySpace:  # type: ignore[type-arg]  # singledispatch takes plain classes
    return space._with_children(batch_space(child, n) for child in space._children)

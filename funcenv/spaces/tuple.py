"""The product of a few spaces, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv.spaces._composite import (
    contains_parts,
    entries_by_index,
    join_boxes,
    join_flat,
    require_space,
    sample_parts,
    split_flat,
)
from funcenv.spaces.batch import batch_space, stack_space
from funcenv.spaces.flatten import flatdim
from funcenv.spaces.space import Space


class Tuple(Space[tuple[Any, ...]]):
    """Tuples with one member of each space.

    Args:
        spaces: the spaces, in order.

    Raises:
        TypeError: an entry that is not a space.

    >>> import funcenv
    >>> from funcenv.spaces import Box, Discrete
    >>> space = Tuple([Discrete(2), Box(-1, 1, (3,))])
    >>> space
    Tuple(Discrete(2), Box(-1.0, 1.0, (3,), float32))
    >>> bool(space.contains(space.sample(funcenv.key(0))))
    True
    """

    def __init__(self, spaces: Iterable[Space[Any]]) -> None:
        self.spaces = tuple(spaces)
        for i, space in enumerate(self.spaces):
            require_space(f"Tuple entry {i}", space)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> tuple[Any, ...]:
        """Draw a member of each space, independently.

        Args:
            key: a typed key.
            mask: a tuple with one entry for each space: its mask, or None.
            probability: likewise, with probabilities. Not together with `mask`.

        Raises:
            TypeError: `mask` or `probability` is not a tuple.
            ValueError: both are given, or one has another length than the space.
        """
        masks, probabilities = (
            entries_by_index(name, entries, len(self.spaces))
            for name, entries in (("mask", mask), ("probability", probability))
        )
        return tuple(sample_parts(dict(enumerate(self.spaces)), key, masks, probabilities))

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` is a tuple (or a list, or an array, taken entry by entry) of members of the spaces."""
        entries = x if isinstance(x, (tuple, list)) else tuple(x) if np.ndim(x) else ()
        if not isinstance(x, (tuple, list, np.ndarray, jax.Array)) or len(entries) != len(self.spaces):
            return jnp.zeros((), bool)
        return contains_parts(zip(self.spaces, entries, strict=True))

    def union(self, other: Space[Any]) -> Tuple:
        """Entry by entry."""
        if not isinstance(other, Tuple) or len(other) != len(self):
            raise TypeError(f"{self!r} and {other!r} differ in kind or length; a union needs spaces alike in these")
        return Tuple(mine.union(theirs) for mine, theirs in zip(self.spaces, other.spaces, strict=True))

    @property
    def flattened(self) -> Space[Any]:
        """The vectors of the parts end to end; a tuple of the flattened parts where one is no vector."""
        parts = [space.flattened for space in self.spaces]
        return join_boxes(parts) or Tuple(parts)

    def flatten(self, x: Any) -> Any:
        """The parts flattened, end to end where they are vectors."""
        if len(x) != len(self.spaces):
            raise ValueError(f"a member of Tuple must have {len(self.spaces)} entries, got {len(x)}")
        flats = [space.flatten(part) for space, part in zip(self.spaces, x, strict=True)]
        flattened = self.flattened
        return tuple(flats) if flattened.dtype is None else join_flat(flats, flattened.dtype)

    def unflatten(self, flat: Any) -> tuple[Any, ...]:
        """The parts that `flatten` joined."""
        flattened = self.flattened
        parts = flat if flattened.dtype is None else split_flat(flat, map(flatdim, self.spaces), flattened.dtype)
        return tuple(space.unflatten(part) for space, part in zip(self.spaces, parts, strict=True))

    def pack(self, x: Any) -> tuple[Any, ...]:
        """Each entry packed."""
        return tuple(space.pack(part) for space, part in zip(self.spaces, x, strict=True))

    def unpack(self, member: tuple[Any, ...]) -> tuple[Any, ...]:
        """Each entry unpacked."""
        return tuple(space.unpack(part) for space, part in zip(self.spaces, member, strict=True))

    def zero(self) -> tuple[Any, ...]:
        """Return the zero of each space."""
        return tuple(space.zero() for space in self.spaces)

    def decode(self, member: Any) -> tuple[Any, ...]:
        """Decode each entry."""
        return tuple(space.decode(part) for space, part in zip(self.spaces, member, strict=True))

    def __getitem__(self, index: int) -> Space[Any]:
        return self.spaces[index]

    def __len__(self) -> int:
        return len(self.spaces)

    def __iter__(self) -> Iterator[Space[Any]]:
        return iter(self.spaces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and self.spaces == other.spaces

    def __hash__(self) -> int:
        return hash((Tuple, self.spaces))

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(repr, self.spaces))})"


@stack_space.register
def _(space: Tuple, n: int) -> Tuple:
    return Tuple(batch_space(part, n) for part in space.spaces)

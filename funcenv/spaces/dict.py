"""The product of a few spaces, by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, KeysView, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from funcenv.spaces._composite import contains_parts, join_boxes, join_flat, require_space, sample_parts, split_flat
from funcenv.spaces.batch import batch_space, stack_space
from funcenv.spaces.flatten import flatdim
from funcenv.spaces.space import Space


class Dict(Space[dict[Any, Any]], Mapping[Any, Space[Any]]):
    """Plain dicts with one member of each space.

    The order of the keys fixes the layout of `flatten`; it is that of Gymnasium: sorted, unless the spaces come as an
    `OrderedDict` or as pairs, or with `sort_keys=False`. A member itself has no order that counts: JAX sorts the
    keys of every dict that passes through a transformation. Two spaces that differ in order are not equal.

    Args:
        spaces: a mapping from keys to spaces, or pairs of them. The keys can be sorted: all of them strings, say.
        sort_keys: whether the keys of a mapping are sorted.
        **named_spaces: more spaces, after those.

    Raises:
        TypeError: an entry that is not a space, or keys that cannot be compared with one another.
        ValueError: a key that is given twice.

    >>> import funcenv
    >>> from funcenv.spaces import Box, Discrete
    >>> space = Dict(position=Box(-1, 1, (2,)), colour=Discrete(3))
    >>> space
    Dict('position': Box(-1.0, 1.0, (2,), float32), 'colour': Discrete(3))
    >>> bool(space.contains(space.sample(funcenv.key(0))))
    True
    """

    def __init__(
        self,
        spaces: Mapping[Any, Space[Any]] | Sequence[tuple[Any, Space[Any]]] = (),
        *,
        sort_keys: bool = True,
        **named_spaces: Space[Any],
    ) -> None:
        pairs = list(spaces.items() if isinstance(spaces, Mapping) else spaces)
        try:
            in_order = sorted(pairs, key=lambda pair: pair[0])
            sorted([*(key for key, _ in pairs), *named_spaces])
        except TypeError:
            keys = [key for key, _ in pairs] + list(named_spaces)
            raise TypeError(
                f"the keys of Dict must be of one kind that can be sorted, got {keys}; use strings"
            ) from None
        if sort_keys and isinstance(spaces, Mapping) and not isinstance(spaces, OrderedDict):
            pairs = in_order
        self.spaces: dict[Any, Space[Any]] = {}
        for key, space in [*pairs, *named_spaces.items()]:
            if key in self.spaces:
                raise ValueError(f"the keys of Dict must differ, got {key!r} twice")
            require_space(f"Dict entry {key!r}", space)
            self.spaces[key] = space
        self.sort_keys = sort_keys

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> dict[Any, Any]:
        """Draw a member of each space, independently.

        Args:
            key: a typed key.
            mask: a dict with the keys of the space: the mask of each entry, or None.
            probability: likewise, with probabilities. Not together with `mask`.

        Raises:
            TypeError: `mask` or `probability` is not a dict.
            ValueError: both are given, or one has unknown or missing keys.
        """
        entries = sample_parts(self.spaces, key, self._entries("mask", mask), self._entries("probability", probability))
        return dict(zip(self.spaces, entries, strict=True))

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` is a dict with exactly these keys and a member of its space at each."""
        if not isinstance(x, dict) or x.keys() != self.spaces.keys():
            return jnp.zeros((), bool)
        return contains_parts((space, x[key]) for key, space in self.spaces.items())

    def union(self, other: Space[Any]) -> Dict:
        """Entry by entry."""
        if not isinstance(other, Dict) or list(other.spaces) != list(self.spaces):
            raise TypeError(f"{self!r} and {other!r} differ in kind or keys; a union needs spaces alike in these")
        return Dict([(key, space.union(other.spaces[key])) for key, space in self.spaces.items()])

    @property
    def flattened(self) -> Space[Any]:
        """The vectors of the parts end to end, in the order of the keys; a dict of them where one is no vector."""
        parts = {key: space.flattened for key, space in self.spaces.items()}
        return join_boxes(parts.values()) or Dict(list(parts.items()))

    def flatten(self, x: Any) -> Any:
        """The parts flattened, end to end where they are vectors."""
        if x.keys() != self.spaces.keys():
            raise ValueError(f"a member of Dict must have the keys {list(self.spaces)}, got {list(x)}")
        flats = {key: space.flatten(x[key]) for key, space in self.spaces.items()}
        flattened = self.flattened
        return flats if flattened.dtype is None else join_flat(list(flats.values()), flattened.dtype)

    def unflatten(self, flat: Any) -> dict[Any, Any]:
        """The parts that `flatten` joined."""
        flattened = self.flattened
        if flattened.dtype is not None:
            parts = split_flat(flat, map(flatdim, self.spaces.values()), flattened.dtype)
            flat = dict(zip(self.spaces, parts, strict=True))
        return {key: space.unflatten(flat[key]) for key, space in self.spaces.items()}

    def pack(self, x: Any) -> dict[Any, Any]:
        """Each entry packed."""
        return {key: space.pack(x[key]) for key, space in self.spaces.items()}

    def unpack(self, member: dict[Any, Any]) -> dict[Any, Any]:
        """Each entry unpacked."""
        return {key: space.unpack(member[key]) for key, space in self.spaces.items()}

    def zero(self) -> dict[Any, Any]:
        """Return the zero of each space."""
        return {key: space.zero() for key, space in self.spaces.items()}

    def decode(self, member: Any) -> dict[Any, Any]:
        """Decode each entry."""
        return {key: space.decode(member[key]) for key, space in self.spaces.items()}

    def keys(self) -> KeysView[Any]:
        """The keys, in the order of the space."""
        return self.spaces.keys()

    def _entries(self, name: str, entries: Any) -> dict[Any, Any] | None:
        if entries is None:
            return None
        if not isinstance(entries, dict):
            raise TypeError(f"{name} must be a dict with an entry or None for each key, got {entries!r}")
        if entries.keys() != self.spaces.keys():
            unknown, missing = (
                sorted(keys) for keys in (entries.keys() - self.spaces, self.spaces.keys() - entries.keys())
            )
            raise ValueError(
                f"{name} must have the keys {list(self.spaces)}, got unknown keys {unknown} and no {missing}; "
                "None stands for no restriction"
            )
        return entries

    def __getitem__(self, key: Any) -> Space[Any]:
        return self.spaces[key]

    def __len__(self) -> int:
        return len(self.spaces)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.spaces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dict) and list(self.spaces.items()) == list(other.spaces.items())

    def __hash__(self) -> int:
        return hash((Dict, tuple(self.spaces.items())))

    def __repr__(self) -> str:
        return f"Dict({', '.join(f'{key!r}: {space!r}' for key, space in self.spaces.items())})"


@stack_space.register
def _(space: Dict, n: int) -> Dict:
    return Dict([(key, batch_space(part, n)) for key, part in space.spaces.items()])

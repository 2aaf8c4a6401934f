"""The product of named spaces."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, KeysView, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool

from funcenv.checks import require_flag
from funcenv.spaces._composite import ProductSpace, contains_all, require_space
from funcenv.spaces.space import AnySpace, Space, require_alike


class Dict(ProductSpace[dict[Any, Any]], Mapping[Any, Space[Any]]):
    """Dicts with one member of each space.

    The order of the keys fixes the layout of flattened members, so spaces that differ in order are not equal. As in
    Gymnasium, the keys are sorted unless the spaces are given as an `OrderedDict` or as pairs, or with
    `sort_keys=False`. The order of a member's keys has no meaning, because JAX sorts the keys of every dict.

    Args:
        spaces: a mapping from keys to spaces, or pairs of a key and a space. The keys must be comparable, for example
            all of them strings.
        sort_keys: whether the keys of a mapping are sorted.
        **named_spaces: spaces that follow those of `spaces`.

    Raises:
        TypeError: An entry is not a space, or the keys cannot be compared.
        ValueError: A key is given twice.

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
        spaces: Mapping[Any, AnySpace] | Sequence[tuple[Any, AnySpace]] | None = (),
        *,
        sort_keys: bool = True,
        **named_spaces: AnySpace,
    ) -> None:
        sort_keys, pairs = require_flag("sort_keys", sort_keys), _pairs(spaces)
        keys = [key for key, _ in pairs] + list(named_spaces)
        try:
            in_order = sorted(pairs, key=lambda pair: pair[0])
            sorted(keys)
        except TypeError:
            raise TypeError(
                f"the keys of Dict must be of one kind that can be sorted, got {keys}; use strings"
            ) from None
        if sort_keys and isinstance(spaces, Mapping) and not isinstance(spaces, OrderedDict):
            pairs = in_order
        self.spaces: dict[Any, AnySpace] = {}
        for key, space in [*pairs, *named_spaces.items()]:
            if key in self.spaces:
                raise ValueError(f"the keys of Dict must differ, got {key!r} twice")
            require_space(f"Dict entry {key!r}", space)
            self.spaces[key] = space
        self.sort_keys = sort_keys

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` is a dict with exactly these keys, and a member of its space at each key."""
        if not isinstance(x, dict) or x.keys() != self.spaces.keys():
            return jnp.zeros((), bool)
        return contains_all(self._children, self._entries(x))

    def union(self, other: Any) -> Any:
        """Return the space of the unions of both spaces' entries."""
        require_alike("kind or keys", list, self, other)
        return super().union(other)

    def keys(self) -> KeysView[Any]:
        """Return the keys, in the order of the space."""
        return self.spaces.keys()

    def parts(self) -> tuple[Any, ...]:
        """Return the pairs of keys and spaces, in order."""
        return tuple(self.spaces.items())

    @property
    def _children(self) -> tuple[AnySpace, ...]:
        return tuple(self.spaces.values())

    def _with_children(self, spaces: Iterable[AnySpace]) -> Dict:
        return Dict(list(zip(self.spaces, spaces, strict=True)))

    def _entries(self, x: Any) -> list[Any]:
        return [x[key] for key in self.spaces]

    def _require_entries(self, x: Any) -> None:
        if not isinstance(x, dict):
            raise TypeError(f"a member of Dict must be a dict, got {x!r}")
        if x.keys() != self.spaces.keys():
            raise ValueError(f"a member of Dict must have the keys {list(self.spaces)}, got {list(x)}")

    def _member(self, entries: Iterable[Any]) -> dict[Any, Any]:
        return dict(zip(self.spaces, entries, strict=True))

    def _choices(self, name: str, given: Any) -> list[Any]:
        if given is None:
            return [None] * len(self.spaces)
        if not isinstance(given, dict):
            raise TypeError(f"{name} must be a dict with an entry or None for each key, got {given!r}")
        if given.keys() != self.spaces.keys():
            unknown, missing = sorted(given.keys() - self.spaces), sorted(self.spaces.keys() - given.keys())
            raise ValueError(
                f"{name} must have the keys {list(self.spaces)}, got unknown keys {unknown} and no {missing}; "
                "None stands for no restriction"
            )
        return self._entries(given)

    def __repr__(self) -> str:
        return f"Dict({', '.join(f'{key!r}: {space!r}' for key, space in self.spaces.items())})"


def _pairs(spaces: Any) -> list[tuple[Any, Any]]:
    """Return the names and spaces of the first argument of `Dict`, which is None in Gymnasium if there is none."""
    try:
        return [(key, space) for key, space in (spaces.items() if isinstance(spaces, Mapping) else spaces or ())]
    except (TypeError, ValueError):
        raise TypeError(f"Dict takes a dict of spaces, or pairs of a name and a space, got {spaces!r}") from None

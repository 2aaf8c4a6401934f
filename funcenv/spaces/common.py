"""A common space of several, for one policy in several environments."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from funcenv.spaces._dtypes import canonical, promote
from funcenv.spaces.box import Box, pad_box
from funcenv.spaces.dict import Dict
from funcenv.spaces.discrete import Discrete, IntegerSpace
from funcenv.spaces.space import AnySpace
from funcenv.spaces.tuple import Tuple


class CommonSpace:
    """One space for the members of several spaces.

    Spaces of one kind and shape have their union in common. Boxes with equally many axes are padded with zeros at the
    end of each axis. Other spaces, if `flattens`, become vectors first (`funcenv.spaces.flatten`).

    Args:
        what: the name of the spaces in messages.
        spaces: at least one.
        flattens: whether members may become vectors.

    Raises:
        TypeError: The spaces have none in common.

    >>> common = CommonSpace("observation_space", [Box(-1, 1, (2,)), Discrete(3)], flattens=True)
    >>> common.space
    Box([-1. -1.  0.], 1.0, (3,), float32)
    >>> common.embed(0, jnp.array([0.5, -0.5])).tolist(), common.embed(1, jnp.int32(2)).tolist()
    ([0.5, -0.5, 0.0], [0.0, 0.0, 1.0])
    """

    def __init__(self, what: str, spaces: Sequence[AnySpace], flattens: bool) -> None:
        self._spaces = tuple(spaces)
        self._pads = len(set(map(_kind, spaces))) > 1
        self._flattens = self._pads and not _are_boxes_alike(spaces)
        if self._flattens and not flattens:
            shown = " and ".join(dict.fromkeys(map(repr, spaces)))
            raise TypeError(
                f"environments in one vector need {what}s of one kind: all Discrete, or Boxes with the same dtype and "
                f"number of axes; got {shown}; wrap some of them, as in DiscretizeAction or TransformAction"
            )
        self._parts: tuple[Any, ...] = self._spaces
        if self._flattens:
            self._parts = tuple(_flat(what, space) for space in spaces)
        if self._pads:
            self._dtype = promote(np.dtype(part.dtype) for part in self._parts)
            self._sizes = tuple(map(max, zip(*(part.shape for part in self._parts), strict=True)))

    @property
    def space(self) -> AnySpace:
        """The common space."""
        parts = self._parts
        if self._pads:
            parts = tuple(pad_box(part, self._sizes, self._dtype) for part in parts)
        space: AnySpace = functools.reduce(lambda one, other: one if one == other else one.union(other), parts)
        return space

    def embed(self, index: int, member: Any) -> Any:
        """Return the member of the common space that stands for a member of space number `index`."""
        if not self._pads:
            return member
        array = self._spaces[index].flatten(member) if self._flattens else jnp.asarray(member)
        missing = [(0, size - own) for size, own in zip(self._sizes, array.shape, strict=True)]
        return jnp.pad(array.astype(canonical(self._dtype)), missing)

    def project(self, index: int, member: Any) -> Any:
        """Return the member of space number `index` that is nearest to a member of the common space.

        Only numbers are brought to the bounds of a space that is narrower, those of a `Discrete` or a `Box`.
        """
        if self._flattens:
            raise TypeError(f"a padded vector is no member of {self._spaces[index]!r}; project what was not flattened")
        own: Any = self._spaces[index]
        if self._pads:
            member = jnp.asarray(member)[tuple(map(slice, own.shape))]
        if not isinstance(own, (Box, Discrete)) or not _is_narrower(own, self.space):
            return member
        low, high = (own.low, own.high) if isinstance(own, Box) else own.bounds
        array = jnp.asarray(member)
        return jnp.clip(array, jnp.asarray(low).astype(array.dtype), jnp.asarray(high).astype(array.dtype))


def _is_narrower(own: Box | Discrete, common: Any) -> bool:
    """Return whether bounds are, or may be, narrower than those of the common space."""
    if own.bounds is None or common.bounds is None:
        return True  # they are traced
    (low, high), bounds = own.bounds, common.bounds
    lowest, highest = (bound[tuple(map(slice, own.shape))] for bound in bounds)
    return bool((low > lowest).any() or (high < highest).any())


def _kind(space: AnySpace) -> Any:
    """Return what spaces with a union have in common, which does not depend on bounds."""
    if isinstance(space, (Box, IntegerSpace)):
        return type(space), space.shape, space.dtype
    if isinstance(space, Dict):
        return Dict, tuple((name, _kind(part)) for name, part in space.items())
    if isinstance(space, Tuple):
        return Tuple, tuple(map(_kind, space))
    return space


def _are_boxes_alike(spaces: Sequence[AnySpace]) -> bool:
    if not all(isinstance(space, Box) for space in spaces):
        return False
    return len({(space.dtype, len(space.shape or ())) for space in spaces}) == 1


def _flat(what: str, space: AnySpace) -> Box:
    flat = space.flattened
    if not isinstance(flat, Box):
        raise TypeError(f"environments in one vector need {what}s that flatten to vectors, got {space!r}")
    return flat

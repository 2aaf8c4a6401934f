"""The choice between a few spaces."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, Shaped

from funcenv.spaces._composite import entries_by_index, require_space, sample_parts
from funcenv.spaces._dtypes import canonical, integers_within, promote, with_shape
from funcenv.spaces._padded import is_integer, pad_items, stack_items
from funcenv.spaces._sampling import uniform_below
from funcenv.spaces.box import Box, concatenate_boxes
from funcenv.spaces.space import Space
from funcenv.struct import PyTreeNode


class OneOfInstance(PyTreeNode):
    """A member of one of the spaces as arrays: `OneOf.pack` makes one, `OneOf.unpack` reads it."""

    index: Int32[Array, ""]  # of the space
    values: tuple[Any, ...]  # a value for each space; only the one at `index` counts, the others are zeros


class OneOf(Space[OneOfInstance]):
    """Members of any one of a few spaces, with the index of that space.

    A member is a `OneOfInstance`, which has room for a member of each. `pack`, `contains` and `flatten` take what
    Gymnasium's space holds as well: a pair of an index and a member.

    Args:
        spaces: the spaces, at least one.

    Raises:
        ValueError: no space.
        TypeError: an entry that is not a space.

    >>> import funcenv
    >>> from funcenv.spaces import Box, Discrete
    >>> space = OneOf([Discrete(2), Box(-1, 1, (2,))])
    >>> space
    OneOf(Discrete(2), Box(-1.0, 1.0, (2,), float32))
    >>> bool(space.contains(space.sample(funcenv.key(0)))), (0, 5) in space
    (True, False)
    >>> space.flatten((0, 1)).tolist()
    [0.0, 0.0, 1.0]
    """

    def __init__(self, spaces: Iterable[Space[Any]]) -> None:
        self.spaces = tuple(spaces)
        if not self.spaces:
            raise ValueError("OneOf needs at least one space, got none")
        for i, space in enumerate(self.spaces):
            require_space(f"OneOf entry {i}", space)

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> OneOfInstance:
        """Draw a space uniformly, then a member of it.

        Args:
            key: a typed key.
            mask: a tuple with one entry for each space: its mask, or None.
            probability: likewise, with probabilities. Not together with `mask`.

        Raises:
            TypeError: `mask` or `probability` is not a tuple.
            ValueError: both are given, or one has another length than the space.
        """
        index_key, value_key = jax.random.split(key)
        masks, probabilities = (
            entries_by_index(name, entries, len(self.spaces))
            for name, entries in (("mask", mask), ("probability", probability))
        )
        values = sample_parts(dict(enumerate(self.spaces)), value_key, masks, probabilities)
        index = uniform_below(index_key, jnp.uint32(len(self.spaces)), len(self.spaces))
        return self._member(index.astype(jnp.int32), values)

    def _member(self, index: jax.Array, values: Iterable[Any]) -> OneOfInstance:
        kept = tuple(
            jax.tree.map(lambda leaf: jnp.where(index == i, leaf, jnp.zeros((), leaf.dtype)), value)  # noqa: B023
            for i, value in enumerate(values)
        )
        return OneOfInstance(index=index, values=kept)

    def pack(self, x: Any) -> OneOfInstance:
        """A pair of an index and a member of that space as a member.

        Raises:
            ValueError: an index without a space, or a value of another shape than members of its space have.
            TypeError: `x` is no such pair.
        """
        if isinstance(x, OneOfInstance):
            return x
        if not _is_plain(x):
            raise TypeError(f"a member of OneOf is a pair of an index and a value, got {x!r}")
        index, value = int(x[0]), x[1]
        if not 0 <= index < len(self.spaces):
            raise ValueError(f"the index of OneOf must lie between 0 and {len(self.spaces) - 1}, got {index}")
        values = [stack_items(space, [value] if i == index else []) for i, space in enumerate(self.spaces)]
        padded = tuple(pad_items(space, items, 1) for space, items in zip(self.spaces, values, strict=True))
        return OneOfInstance(index=jnp.asarray(np.int32(index)), values=jax.tree.map(lambda leaf: leaf[0], padded))

    def unpack(self, member: OneOfInstance) -> tuple[int, Any]:
        """The index, and the value in plain form."""
        index = int(member.index)
        return index, self.spaces[index].unpack(member.values[index])

    def decode(self, member: Any) -> Any:
        """Convert a member to its plain form."""
        return self.unpack(member)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether the index has a space and the value at it is a member of that, in either form.

        The other values of a `OneOfInstance` do not count, not even their shapes.
        """
        if _is_plain(x):
            known = 0 <= int(x[0]) < len(self.spaces)
            return self.spaces[int(x[0])].contains(x[1]) if known else jnp.zeros((), bool)
        if not isinstance(x, OneOfInstance) or not is_integer(x.index) or len(x.values) != len(self.spaces):
            return jnp.zeros((), bool)
        inside = jnp.stack([space.contains(value) for space, value in zip(self.spaces, x.values, strict=True)])
        return integers_within(x.index, 0, len(self.spaces) - 1) & inside[jnp.asarray(x.index)]

    def union(self, other: Space[Any]) -> OneOf:
        """Space by space."""
        if not isinstance(other, OneOf) or len(other) != len(self):
            raise TypeError(f"{self!r} and {other!r} differ in kind or length; a union needs spaces alike in these")
        return OneOf(mine.union(theirs) for mine, theirs in zip(self.spaces, other.spaces, strict=True))

    @property
    def flattened(self) -> Box:
        """The index, then the flattened value, in vectors as long as the longest; bounds are the loosest of all.

        Raises:
            ValueError: one of the spaces does not flatten to a vector.
        """
        boxes, dtype, width = self._flat_layout()
        index = Box(0, len(self.spaces) - 1, (1,), dtype)
        return concatenate_boxes([index, Box(*_loosest(boxes), (width,), dtype)], dtype)

    def flatten(self, x: Any) -> Shaped[Array, "size"]:
        """The index, then the flattened value, padded with its first entry as in Gymnasium."""
        _, dtype, width = self._flat_layout()
        member = self.pack(x)
        flats = [space.flatten(value) for space, value in zip(self.spaces, member.values, strict=True)]
        padded = [jnp.concatenate([flat, jnp.repeat(flat[:1], width - flat.size)]) for flat in flats]
        rows = jnp.stack([row.astype(canonical(dtype)) for row in padded])
        return jnp.concatenate([jnp.asarray(member.index).astype(rows.dtype)[None], rows[member.index]])

    def unflatten(self, flat: Any) -> OneOfInstance:
        """The member of the space whose index comes first."""
        boxes, dtype, width = self._flat_layout()
        vector = with_shape("a flattened member of OneOf", flat, (1 + width,), dtype)
        values = [space.unflatten(vector[1 : 1 + box.low.size]) for space, box in zip(self.spaces, boxes, strict=True)]
        return self._member(vector[0].astype(jnp.int32), values)

    def _flat_layout(self) -> tuple[list[Box], np.dtype[Any], int]:
        """The flattened spaces, the dtype that holds all of them and the index, and the length of the longest."""
        boxes = [space.flattened for space in self.spaces]
        vectors = [box for box in boxes if isinstance(box, Box)]
        if len(vectors) != len(boxes):
            raise ValueError(
                f"{self!r} does not flatten to a vector, because it holds a Sequence or a Graph; "
                "flatten the other spaces by themselves"
            )
        index_dtype = np.min_scalar_type(len(boxes) - 1)
        dtype = promote([box.dtype for box in vectors])
        narrow = dtype.kind == "b" or (dtype.kind in "iu" and np.iinfo(dtype).max < len(boxes) - 1)
        return vectors, promote([dtype, index_dtype]) if narrow else dtype, max(box.low.size for box in vectors)

    def __getitem__(self, index: int) -> Space[Any]:
        return self.spaces[index]

    def __len__(self) -> int:
        return len(self.spaces)

    def __iter__(self) -> Iterator[Space[Any]]:
        return iter(self.spaces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self.spaces == other.spaces

    def __hash__(self) -> int:
        return hash((OneOf, self.spaces))

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.spaces))})"


def _loosest(boxes: list[Box]) -> tuple[Any, Any]:
    """The lowest and the highest bound in any of the boxes."""
    lows, highs = (
        [part for part in parts if part.size] for parts in zip(*((b.low, b.high) for b in boxes), strict=True)
    )
    if not lows:
        return 0, 0
    if all(box.concrete for box in boxes):
        return min(low.min() for low in lows), max(high.max() for high in highs)
    low = functools.reduce(jnp.minimum, [jnp.min(jnp.asarray(low)).astype(float) for low in lows])
    return low, functools.reduce(jnp.maximum, [jnp.max(jnp.asarray(high)).astype(float) for high in highs])


def _is_plain(x: Any) -> bool:
    """Whether `x` is a pair with a known index."""
    return isinstance(x, tuple) and len(x) == 2 and is_integer(x[0]) and not isinstance(x[0], jax.core.Tracer)

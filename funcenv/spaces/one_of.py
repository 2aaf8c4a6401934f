"""The union of several spaces, with the index of the space."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, Shaped

from funcenv.spaces._composite import CompositeSpace
from funcenv.spaces._dtypes import canonical, integers_within, promote, with_shape
from funcenv.spaces._padded import PaddedSpace, is_integer, pad_items, stack_items
from funcenv.spaces._sampling import uniform_below
from funcenv.spaces.box import Box, concatenate_boxes
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode


class OneOfInstance(PyTreeNode):
    """A member of one of several spaces, as arrays. `OneOf.pack` makes one, and `OneOf.unpack` reads it."""

    index: Int32[Array, ""]  # the index of the space
    values: tuple[Any, ...]  # a value for each space; only the value at `index` counts, and the others are zeros


class OneOf(CompositeSpace[OneOfInstance], PaddedSpace[OneOfInstance]):
    """Members of any one of several spaces, with the index of that space.

    A member is a `OneOfInstance`, which has room for a member of each space. `pack`, `contains` and `flatten` also
    take the plain form, which Gymnasium's space holds: a pair of an index and a member.

    Args:
        spaces: the spaces, at least one.

    Raises:
        ValueError: There is no space.
        TypeError: An entry is not a space.

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

    def __init__(self, spaces: Iterable[AnySpace]) -> None:
        super().__init__(spaces)
        if not self.spaces:
            raise ValueError("OneOf needs at least one space, got none")

    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> OneOfInstance:
        """Draw a space uniformly, then a member of it.

        Args:
            key: a typed key.
            mask: a tuple with a mask or None for each space.
            probability: a tuple with probabilities or None for each space.

        Raises:
            TypeError: `mask` or `probability` is not a tuple.
            ValueError: Both are given, or one has another length than the space.
        """
        index_key, value_key = jax.random.split(key)
        values = self._sample_children(value_key, mask, probability)
        index = uniform_below(index_key, jnp.uint32(len(self.spaces)), len(self.spaces))
        return self._member(index.astype(jnp.int32), values)

    def _member(self, index: jax.Array, values: Iterable[Any]) -> OneOfInstance:
        kept = tuple(
            jax.tree.map(lambda leaf: jnp.where(index == i, leaf, jnp.zeros((), leaf.dtype)), value)  # noqa: B023
            for i, value in enumerate(values)
        )
        return OneOfInstance(index=index, values=kept)

    def pack(self, x: Any) -> OneOfInstance:
        """Convert a pair of an index and a member of that space to a member.

        Raises:
            ValueError: No space has the index, or the value has another shape than members of its space.
            TypeError: `x` is not such a pair.
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
        """Return the index, and the plain form of the value."""
        index = int(member.index)
        return index, self.spaces[index].unpack(member.values[index])

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether the index has a space that contains the value, in either form.

        The other values of a `OneOfInstance` do not count, nor do their shapes.
        """
        if _is_plain(x):
            known = 0 <= int(x[0]) < len(self.spaces)
            return self.spaces[int(x[0])].contains(x[1]) if known else jnp.zeros((), bool)
        if not isinstance(x, OneOfInstance) or not is_integer(x.index) or len(x.values) != len(self.spaces):
            return jnp.zeros((), bool)
        inside = jnp.stack([space.contains(value) for space, value in zip(self.spaces, x.values, strict=True)])
        return integers_within(x.index, 0, len(self.spaces) - 1) & inside[jnp.asarray(x.index)]

    @property
    def flattened(self) -> Box:
        """Vectors of the index and the flattened value, as long as the longest, within the loosest bounds of all.

        Raises:
            ValueError: One of the spaces does not flatten to a vector.
        """
        boxes, dtype, width = self._flat_layout()
        index = Box(0, len(self.spaces) - 1, (1,), dtype)
        return concatenate_boxes([index, Box(*_loosest_bounds(boxes), (width,), dtype)], dtype)

    def flatten(self, x: Any) -> Shaped[Array, "size"]:
        """Return the index and the flattened value, padded with its first entry as in Gymnasium."""
        _, dtype, width = self._flat_layout()
        member = self.pack(x)
        flats = [space.flatten(value) for space, value in zip(self.spaces, member.values, strict=True)]
        padded = [jnp.concatenate([flat, jnp.repeat(flat[:1], width - flat.size)]) for flat in flats]
        rows = jnp.stack([row.astype(canonical(dtype)) for row in padded])
        return jnp.concatenate([jnp.asarray(member.index).astype(rows.dtype)[None], rows[member.index]])

    def unflatten(self, flat: Any) -> OneOfInstance:
        """Return the member of the space whose index comes first."""
        boxes, dtype, width = self._flat_layout()
        vector = with_shape("a flattened member of OneOf", flat, (1 + width,), dtype)
        values = [space.unflatten(vector[1 : 1 + box.low.size]) for space, box in zip(self.spaces, boxes, strict=True)]
        return self._member(vector[0].astype(jnp.int32), values)

    def _flat_layout(self) -> tuple[list[Box], np.dtype[Any], int]:
        """Return the flattened spaces, the dtype that represents their values and the index, and the largest length."""
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


def _loosest_bounds(boxes: list[Box]) -> tuple[Any, Any]:
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
    """Return whether `x` is a pair whose first entry is a concrete integer."""
    return isinstance(x, tuple) and len(x) == 2 and is_integer(x[0]) and not isinstance(x[0], jax.core.Tracer)

"""The name `gymnasium.vector.utils` for the functions that batch spaces and their members."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from funcenv import spaces
from funcenv.adapters.engine.batching import member_rows, stack_members
from funcenv.adapters.spaces.differing import join_spaces
from funcenv.adapters.spaces.space import Space, plain_member
from funcenv.spaces.space import AnySpace

__all__ = ["batch_differing_spaces", "batch_space", "concatenate", "create_empty_array", "iterate"]


def batch_space(space: Any, n: int = 1) -> Space[Any]:
    """Return the space of `n` stacked members, with a copy of the generator of `space`.

    Raises:
        ValueError: `n` is below 1.
        TypeError: `space` is not made of those in `funcenv.adapters.spaces`.

    >>> from funcenv.adapters.spaces import Discrete
    >>> batch_space(Discrete(3), 2)
    MultiDiscrete([3 3])
    """
    batched = spaces.batch_space(_pure(space), n)
    return Space(batched, copy.deepcopy(space.np_random) if isinstance(space, Space) else None)


def batch_differing_spaces(spaces: Sequence[Any]) -> Space[Any]:
    """Return the space of a batch with one member of each space, with a copy of the generator of the first space.

    The spaces are of one kind and shape, and may differ in their bounds. Spaces whose members vary in size, such as
    strings, become a `Tuple`.

    Raises:
        ValueError: There is no space, or shapes or parts differ.
        TypeError: The spaces are of several kinds, or not made of those in `funcenv.adapters.spaces`.

    >>> from funcenv.adapters.spaces import Box
    >>> batch_differing_spaces([Box(0, 1, (2,)), Box(0, 9, (2,))]).high.tolist()
    [[1.0, 1.0], [9.0, 9.0]]
    """
    if not spaces:
        raise ValueError("batch_differing_spaces needs at least one space, got an empty list")
    generator = copy.deepcopy(spaces[0].np_random) if isinstance(spaces[0], Space) else None
    return Space(join_spaces([_pure(space) for space in spaces]), generator)


def iterate(space: Any, items: Any) -> Iterator[Any]:
    """Return an iterator over the members of a batch.

    Args:
        space: Space of the batch, as `batch_space` returns it.
        items: A member of it.

    >>> from funcenv.adapters.spaces import Box, Dict
    >>> space = batch_space(Dict(position=Box(0, 1, (2,))), 2)
    >>> [member["position"].tolist() for member in iterate(space, {"position": np.eye(2)})]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    pure = _pure(space)
    return iter(member_rows(pure, items, _length(pure, items)))


def concatenate(space: Any, items: Iterable[Any], out: Any) -> Any:
    """Stack members of a space, write them into `out`, and return it.

    Args:
        space: Space of one member.
        items: The members.
        out: Arrays of the batch, as `create_empty_array` returns them; they stay where members vary in size.

    >>> from funcenv.adapters.spaces import Box
    >>> space = Box(0, 1, (2,))
    >>> concatenate(space, [np.zeros(2), np.ones(2)], create_empty_array(space, n=2)).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    pure = _pure(space)
    return _written(pure, stack_members(pure, list(items)), out)


def create_empty_array(space: Any, n: int | None = 1, fn: Callable[..., Any] = np.zeros) -> Any:
    """Return arrays for a batch of `n` members, made by `fn(shape, dtype=...)`; for one member, if `n` is None.

    Members that vary in size, such as strings, are a tuple of `n` empty ones.

    >>> from funcenv.adapters.spaces import Box
    >>> create_empty_array(Box(0, 1, (2,)), n=3).shape
    (3, 2)
    """
    pure = _pure(space)
    parts = getattr(pure, "spaces", None)
    if isinstance(parts, dict):
        return {name: create_empty_array(part, n, fn) for name, part in parts.items()}
    if isinstance(pure, spaces.Tuple):
        return tuple(create_empty_array(part, n, fn) for part in pure.spaces)
    if pure.shape is None or pure.dtype is None:
        zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), pure.abstract_member())
        member = plain_member(pure, zeros)
        return member if n is None else (member,) * n
    batch = pure if n is None else spaces.batch_space(pure, n)
    return fn(batch.shape, dtype=batch.dtype)


def _pure(space: Any) -> AnySpace:
    pure = getattr(space, "pure", space)
    if not isinstance(pure, spaces.Space):
        raise TypeError(f"a batch needs a space that is made of those in funcenv.adapters.spaces, got {space!r}")
    return pure


def _length(space: AnySpace, items: Any) -> int:
    """Return the number of members of a batch."""
    parts = getattr(space, "spaces", ())
    if isinstance(parts, dict):
        return min((_length(part, items[name]) for name, part in parts.items()), default=0)
    if isinstance(space, spaces.Tuple):
        return min((_length(part, item) for part, item in zip(parts, items, strict=True)), default=0)
    return len(items)


def _written(space: AnySpace, stacked: Any, out: Any) -> Any:
    """Write a batch of members of a space into arrays; members that vary in size are a tuple, which is returned."""
    parts = getattr(space, "spaces", ())
    if isinstance(parts, dict):
        return type(out)((name, _written(part, stacked[name], out[name])) for name, part in parts.items())
    if isinstance(space, spaces.Tuple):
        return tuple(_written(*triple) for triple in zip(parts, stacked, out, strict=True))
    if isinstance(stacked, tuple):
        return stacked
    out[...] = stacked
    return out

"""The name `gymnasium.vector.utils` for the functions that batch spaces and their members."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from funcenv import spaces
from funcenv.adapters.engine.batching import action_rows, stack_members
from funcenv.adapters.spaces.differing import join_spaces
from funcenv.adapters.spaces.space import Space
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
    return iter(action_rows(_pure(space), items, _length(items)))


def concatenate(space: Any, items: Iterable[Any], out: Any) -> Any:
    """Stack members of a space, write them into `out`, and return it.

    Args:
        space: Space of one member.
        items: The members.
        out: Arrays of the batch, as `create_empty_array` returns them; None for members that do not stack.

    >>> from funcenv.adapters.spaces import Box
    >>> space = Box(0, 1, (2,))
    >>> concatenate(space, [np.zeros(2), np.ones(2)], create_empty_array(space, n=2)).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    stacked = stack_members(_pure(space), list(items))
    if isinstance(stacked, dict):
        return type(out)((name, _written(stacked[name], out[name])) for name in stacked)
    return _written(stacked, out)


def create_empty_array(space: Any, n: int | None = 1, fn: Callable[..., Any] = np.zeros) -> Any:
    """Return arrays for a batch of `n` members, made by `fn(shape, dtype=...)`; for one member, if `n` is None.

    >>> from funcenv.adapters.spaces import Box
    >>> create_empty_array(Box(0, 1, (2,)), n=3).shape
    (3, 2)
    """
    pure = _pure(space)
    like = pure.abstract_member() if n is None else spaces.batch_space(pure, n).abstract_member()
    return jax.tree.map(lambda leaf: fn(leaf.shape, dtype=leaf.dtype), like)


def _pure(space: Any) -> AnySpace:
    pure = getattr(space, "pure", space)
    if not isinstance(pure, spaces.Space):
        raise TypeError(f"a batch needs a space that is made of those in funcenv.adapters.spaces, got {space!r}")
    return pure


def _length(items: Any) -> int:
    """Return the size of the first axis of a batch."""
    return len(jax.tree.leaves(items)[0])


def _written(stacked: Any, out: Any) -> Any:
    if isinstance(stacked, dict):
        return {name: _written(part, out[name]) for name, part in stacked.items()}
    if isinstance(stacked, tuple) and out is None:
        return stacked
    if isinstance(stacked, tuple):
        return tuple(_written(part, one) for part, one in zip(stacked, out, strict=True))
    out[...] = stacked
    return out

"""Conversion of spaces between funcenv and Gymnasium.

Both libraries use the same names for the same sets, with two differences. Gymnasium's `Discrete` and `MultiDiscrete`
have dtype int64 by default and those of funcenv int32: one default is converted to the other, and every other dtype is
kept. Members have a fixed size in funcenv: Gymnasium's sequences and graphs, which are unbounded, are given a capacity.
In the other direction they become `BoundedSequence` and `BoundedGraph`, which keep the capacity.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import gymnasium.spaces as gym_spaces
import numpy as np
from gymnasium.vector.utils import batch_space

import funcenv.spaces as func_spaces
from funcenv.adapters.gymnasium.bounded_spaces import BoundedGraph, BoundedSequence, GymnasiumSpace
from funcenv.spaces.graph import MAX_NODES
from funcenv.spaces.sequence import MAX_LENGTH
from funcenv.spaces.space import AnySpace


@functools.singledispatch
def to_gymnasium(space: Any) -> Any:
    """Return the Gymnasium space of the same members, in the plain form that `space.unpack` returns.

    Raises:
        TypeError: The kind of space has no counterpart, which `to_gymnasium.register` can add; or a box has traced
            bounds.

    >>> from funcenv.spaces import Box, Dict, Discrete
    >>> to_gymnasium(Dict(position=Box(-1, 1, (2,)), colour=Discrete(3)))
    Dict('position': Box(-1.0, 1.0, (2,), float32), 'colour': Discrete(3))
    """
    raise TypeError(
        f"no Gymnasium space is known for {space!r} of type {type(space).__name__}; "
        "say which with funcenv.adapters.gymnasium.spaces.to_gymnasium.register"
    )


@functools.singledispatch
def from_gymnasium(space: Any, *, max_length: int = MAX_LENGTH, max_nodes: int = MAX_NODES) -> Any:
    """Return the space of the same members as a Gymnasium space.

    Args:
        space: Gymnasium space.
        max_length: Capacity of sequences in it that are unbounded.
        max_nodes: Capacity of graphs in it that are unbounded, which get room for `max_nodes * (max_nodes - 1)` edges.

    Raises:
        TypeError: The kind of space has no counterpart, which `from_gymnasium.register` can add.
        ValueError: The space has numbers that do not fit into the dtypes of funcenv.

    >>> from_gymnasium(gym_spaces.Tuple([gym_spaces.Discrete(3, start=-1), gym_spaces.Text(4)]))
    Tuple(Discrete(3, start=-1), Text(1, 4, charset=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz))
    """
    raise TypeError(
        f"no funcenv space is known for {space!r} of type {type(space).__name__}; "
        "say which with funcenv.adapters.gymnasium.spaces.from_gymnasium.register"
    )


@to_gymnasium.register
def _(space: func_spaces.Box) -> GymnasiumSpace:
    if not space.concrete:
        raise TypeError("this Box has traced bounds; convert the space outside of jax.jit")
    # Copies, because Gymnasium writes into the bounds that it is given.
    box = gym_spaces.Box(space.low.copy(), space.high.copy(), space.shape, space.dtype.type)
    box.bounded_below, box.bounded_above = np.array(space.bounded_below), np.array(space.bounded_above)
    return box


@to_gymnasium.register
def _(space: func_spaces.Graph) -> GymnasiumSpace:
    edge_space = None if space.edge_space is None else to_gymnasium(space.edge_space)
    return BoundedGraph(to_gymnasium(space.node_space), edge_space, space.max_nodes, space.max_edges)


@from_gymnasium.register
def _(space: gym_spaces.Box, **capacities: int) -> AnySpace:
    low, high = space.low, space.high
    if space.dtype.kind == "i" and not space.is_bounded():  # integer bounds cannot be infinite
        low = np.where(space.bounded_below, low.astype(np.longdouble), -np.inf)
        high = np.where(space.bounded_above, high.astype(np.longdouble), np.inf)
    return func_spaces.Box(low, high, space.shape, space.dtype)


@from_gymnasium.register
def _(space: gym_spaces.Discrete, **capacities: int) -> AnySpace:
    n, start = int(space.n), int(space.start)
    return func_spaces.Discrete(n, start, _int32_if_default(space.dtype, start, start + n - 1))


@from_gymnasium.register
def _(space: gym_spaces.MultiDiscrete, **capacities: int) -> AnySpace:
    last = space.start + (space.nvec - 1)
    dtype = _int32_if_default(space.dtype, int(space.start.min(initial=0)), int(last.max(initial=0)))
    return func_spaces.MultiDiscrete(space.nvec, space.start, dtype)


@from_gymnasium.register
def _(space: gym_spaces.Sequence, *, max_length: int = MAX_LENGTH, **capacities: int) -> AnySpace:
    item = from_gymnasium(space.feature_space, max_length=max_length, **capacities)
    return func_spaces.Sequence(item, getattr(space, "max_length", max_length), space.stack)


@from_gymnasium.register
def _(space: gym_spaces.Graph, *, max_nodes: int = MAX_NODES, **capacities: int) -> AnySpace:
    convert = functools.partial(from_gymnasium, max_nodes=max_nodes, **capacities)
    edge_space = None if space.edge_space is None else convert(space.edge_space)
    max_edges = getattr(space, "max_edges", None)
    return func_spaces.Graph(convert(space.node_space), edge_space, getattr(space, "max_nodes", max_nodes), max_edges)


def _int64_if_default(dtype: np.dtype[Any]) -> Any:
    """Replace the default dtype of funcenv's integers by Gymnasium's."""
    return np.int64 if dtype == np.int32 else dtype.type


def _int32_if_default(dtype: np.dtype[Any], lowest: int, highest: int) -> np.dtype[Any]:
    """Replace the default dtype of Gymnasium's integers by funcenv's, if all members fit."""
    limits = np.iinfo(np.int32)
    fits = limits.min <= lowest and highest <= limits.max
    return np.dtype(np.int32) if dtype == np.int64 and fits else dtype


_DICTS_SORT_KEYS = "sort_keys" in inspect.signature(gym_spaces.Dict).parameters  # since Gymnasium 1.4

_Converters = dict[type, Callable[..., Any]]

_TO_GYMNASIUM: _Converters = {
    func_spaces.Discrete: lambda space: gym_spaces.Discrete(
        space.n, start=space.start, dtype=_int64_if_default(space.dtype)
    ),
    func_spaces.MultiDiscrete: lambda space: gym_spaces.MultiDiscrete(
        space.nvec, dtype=_int64_if_default(space.dtype), start=space.start
    ),
    func_spaces.MultiBinary: lambda space: gym_spaces.MultiBinary(space.n),
    func_spaces.Tuple: lambda space: gym_spaces.Tuple([to_gymnasium(part) for part in space.spaces]),
    # Pairs keep their order in Gymnasium, a dict does not.
    func_spaces.Dict: lambda space: gym_spaces.Dict(
        [(name, to_gymnasium(part)) for name, part in space.spaces.items()],
        **({"sort_keys": space.sort_keys} if _DICTS_SORT_KEYS else {}),
    ),
    func_spaces.Text: lambda space: gym_spaces.Text(
        space.max_length, min_length=space.min_length, charset="".join(space.character_list)
    ),
    func_spaces.Sequence: lambda space: BoundedSequence(
        to_gymnasium(space.feature_space), space.max_length, stack=space.stack
    ),
    func_spaces.OneOf: lambda space: gym_spaces.OneOf([to_gymnasium(part) for part in space.spaces]),
    func_spaces.Batched: lambda space: batch_space(to_gymnasium(space.space), space.n),
}

_FROM_GYMNASIUM: _Converters = {
    gym_spaces.MultiBinary: lambda space, **_: func_spaces.MultiBinary(space.n),
    gym_spaces.Tuple: lambda space, **capacities: func_spaces.Tuple(
        [from_gymnasium(part, **capacities) for part in space.spaces]
    ),
    gym_spaces.Dict: lambda space, **capacities: func_spaces.Dict(
        [(name, from_gymnasium(part, **capacities)) for name, part in space.spaces.items()],
        sort_keys=getattr(space, "sort_keys", True),
    ),
    gym_spaces.Text: lambda space, **_: func_spaces.Text(
        space.max_length, min_length=space.min_length, charset=space.character_list
    ),
    gym_spaces.OneOf: lambda space, **capacities: func_spaces.OneOf(
        [from_gymnasium(part, **capacities) for part in space.spaces]
    ),
}

for _function, _converters in ((to_gymnasium, _TO_GYMNASIUM), (from_gymnasium, _FROM_GYMNASIUM)):
    for _kind, _convert in _converters.items():
        _function.register(_kind, _convert)

"""Spaces from here to Gymnasium and back.

The two libraries name the same sets alike, with two differences. Gymnasium's `Discrete` and `MultiDiscrete` are int64
unless told otherwise, those here int32: either default becomes the other one, and every other dtype stays what it is.
And members here have a fixed size: Gymnasium's sequences and graphs have no bound, so they get a capacity on the way
here, and on the way there the capacity goes along, in a subclass that draws and holds nothing larger.
"""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

import funcenv.spaces
from funcenv.spaces._padded import stacked_length
from funcenv.spaces.graph import MAX_NODES
from funcenv.spaces.sequence import MAX_LENGTH


class BoundedSequence(gymnasium.spaces.Sequence):
    """Gymnasium's `Sequence` of at most `max_length` items.

    >>> space = BoundedSequence(gymnasium.spaces.Discrete(2), max_length=2)
    >>> (0, 1) in space, (0, 1, 1) in space
    (True, False)
    """

    def __init__(self, space: gymnasium.Space[Any], max_length: int, stack: bool = False, seed: Any = None) -> None:
        self.max_length = max_length
        super().__init__(space, seed=seed, stack=stack)

    def generate_sample_length(self, length_mask: Any, mask_type: Any) -> int:
        """As Gymnasium's, but no longer than `max_length`."""
        return min(int(super().generate_sample_length(length_mask, mask_type)), self.max_length)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """As Gymnasium's, but no longer than `max_length`."""
        if mask is None and probability is None:
            mask = (None, None)  # Gymnasium draws the length by the method above only where it is given a mask
        return super().sample(mask=mask, probability=probability)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a sequence of members that is not too long."""
        size = stacked_length(x) if self.stack else len(x) if isinstance(x, tuple) else None
        return size is not None and size <= self.max_length and super().contains(x)


class BoundedGraph(gymnasium.spaces.Graph):
    """Gymnasium's `Graph` of at most `max_nodes` nodes and `max_edges` edges.

    >>> space = BoundedGraph(gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2), max_nodes=3, max_edges=2)
    >>> graph = space.sample()
    >>> len(graph.nodes), graph in space
    (3, True)
    """

    def __init__(
        self,
        node_space: gymnasium.Space[Any],
        edge_space: gymnasium.Space[Any] | None,
        max_nodes: int,
        max_edges: int,
        seed: Any = None,
    ) -> None:
        self.max_nodes, self.max_edges = max_nodes, max_edges
        super().__init__(node_space, edge_space, seed=seed)

    def sample(
        self, mask: Any = None, probability: Any = None, num_nodes: int | None = None, num_edges: int | None = None
    ) -> gymnasium.spaces.GraphInstance:
        """As Gymnasium's; as large as there is room for by default."""
        if num_nodes is None:
            num_nodes = min(self.max_nodes, MAX_NODES)
        if num_edges is None and self.edge_space is not None:
            most = min(num_nodes * (num_nodes - 1), self.max_edges + 1)
            num_edges = int(self.np_random.integers(most)) if num_nodes > 1 else 0
        return super().sample(mask, probability, num_nodes, num_edges)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a graph of members that is not too large."""
        if not isinstance(x, gymnasium.spaces.GraphInstance):
            return False
        sizes = [stacked_length(items) for items in (x.nodes, x.edges)]
        return (sizes[0] or 0) <= self.max_nodes and (sizes[1] or 0) <= self.max_edges and super().contains(x)


@functools.singledispatch
def to_gymnasium(space: Any) -> Any:
    """The Gymnasium space of the same members, in the plain form that `space.unpack` gives.

    Raises:
        TypeError: a space of a kind that has no counterpart; teach it with `to_gymnasium.register`. Or a box with
            traced bounds.

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
    """The space of the same members as a Gymnasium space.

    Args:
        space: a Gymnasium space.
        max_length: capacity of the sequences in it that have none.
        max_nodes: capacity of the graphs in it that have none; they get room for `max_nodes * (max_nodes - 1)` edges.

    Raises:
        TypeError: a space of a kind that has no counterpart; teach it with `from_gymnasium.register`.
        ValueError: numbers that no space here can hold.

    >>> from_gymnasium(gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(3, start=-1), gymnasium.spaces.Text(4)]))
    Tuple(Discrete(3, start=-1), Text(1, 4, charset=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz))
    """
    raise TypeError(
        f"no funcenv space is known for {space!r} of type {type(space).__name__}; "
        "say which with funcenv.adapters.gymnasium.spaces.from_gymnasium.register"
    )


@to_gymnasium.register
def _(space: funcenv.spaces.Box) -> gymnasium.Space[Any]:
    if not space.concrete:
        raise TypeError("this Box has traced bounds; convert the space outside of jax.jit")
    # Gymnasium writes into the bounds that it is given.
    box = gymnasium.spaces.Box(space.low.copy(), space.high.copy(), space.shape, space.dtype.type)
    box.bounded_below, box.bounded_above = np.array(space.bounded_below), np.array(space.bounded_above)
    return box


@to_gymnasium.register
def _(space: funcenv.spaces.Discrete) -> gymnasium.Space[Any]:
    return gymnasium.spaces.Discrete(space.n, start=space.start, dtype=_wide(space.dtype))


@to_gymnasium.register
def _(space: funcenv.spaces.MultiDiscrete) -> gymnasium.Space[Any]:
    return gymnasium.spaces.MultiDiscrete(space.nvec, dtype=_wide(space.dtype), start=space.start)


@to_gymnasium.register
def _(space: funcenv.spaces.MultiBinary) -> gymnasium.Space[Any]:
    return gymnasium.spaces.MultiBinary(space.n)


@to_gymnasium.register
def _(space: funcenv.spaces.Tuple) -> gymnasium.Space[Any]:
    return gymnasium.spaces.Tuple([to_gymnasium(part) for part in space.spaces])


@to_gymnasium.register
def _(space: funcenv.spaces.Dict) -> gymnasium.Space[Any]:
    pairs = [
        (name, to_gymnasium(part)) for name, part in space.spaces.items()
    ]  # which, unlike a dict, keep their order
    return gymnasium.spaces.Dict(pairs, sort_keys=space.sort_keys)


@to_gymnasium.register
def _(space: funcenv.spaces.Text) -> gymnasium.Space[Any]:
    charset = "".join(space.character_list)
    return gymnasium.spaces.Text(space.max_length, min_length=space.min_length, charset=charset)


@to_gymnasium.register
def _(space: funcenv.spaces.Sequence) -> gymnasium.Space[Any]:
    return BoundedSequence(to_gymnasium(space.feature_space), space.max_length, stack=space.stack)


@to_gymnasium.register
def _(space: funcenv.spaces.Graph) -> gymnasium.Space[Any]:
    edge_space = None if space.edge_space is None else to_gymnasium(space.edge_space)
    return BoundedGraph(to_gymnasium(space.node_space), edge_space, space.max_nodes, space.max_edges)


@to_gymnasium.register
def _(space: funcenv.spaces.OneOf) -> gymnasium.Space[Any]:
    return gymnasium.spaces.OneOf([to_gymnasium(part) for part in space.spaces])


@to_gymnasium.register
def _(space: funcenv.spaces.Batched) -> gymnasium.Space[Any]:
    return batch_space(to_gymnasium(space.space), space.n)


@from_gymnasium.register
def _(space: gymnasium.spaces.Box, **capacities: int) -> funcenv.spaces.Space[Any]:
    del capacities
    low, high = space.low, space.high
    if space.dtype.kind == "i" and not space.is_bounded():  # the bounds do not show which sides are open
        low = np.where(space.bounded_below, low.astype(np.longdouble), -np.inf)
        high = np.where(space.bounded_above, high.astype(np.longdouble), np.inf)
    return funcenv.spaces.Box(low, high, space.shape, space.dtype)


@from_gymnasium.register
def _(space: gymnasium.spaces.Discrete, **capacities: int) -> funcenv.spaces.Space[Any]:
    del capacities
    n, start = int(space.n), int(space.start)
    return funcenv.spaces.Discrete(n, start, _narrow(space.dtype, start, start + n - 1))


@from_gymnasium.register
def _(space: gymnasium.spaces.MultiDiscrete, **capacities: int) -> funcenv.spaces.Space[Any]:
    del capacities
    last = space.start + (space.nvec - 1)
    dtype = _narrow(space.dtype, int(space.start.min(initial=0)), int(last.max(initial=0)))
    return funcenv.spaces.MultiDiscrete(space.nvec, space.start, dtype)


@from_gymnasium.register
def _(space: gymnasium.spaces.MultiBinary, **capacities: int) -> funcenv.spaces.Space[Any]:
    del capacities
    return funcenv.spaces.MultiBinary(space.n)


@from_gymnasium.register(gymnasium.spaces.Tuple)
def _(space: gymnasium.spaces.Tuple[Any], **capacities: int) -> funcenv.spaces.Space[Any]:
    return funcenv.spaces.Tuple([from_gymnasium(part, **capacities) for part in space.spaces])


@from_gymnasium.register
def _(space: gymnasium.spaces.Dict, **capacities: int) -> funcenv.spaces.Space[Any]:
    pairs = [(name, from_gymnasium(part, **capacities)) for name, part in space.spaces.items()]
    return funcenv.spaces.Dict(pairs, sort_keys=space.sort_keys)


@from_gymnasium.register
def _(space: gymnasium.spaces.Text, **capacities: int) -> funcenv.spaces.Space[Any]:
    del capacities
    charset = space.character_list
    return funcenv.spaces.Text(space.max_length, min_length=space.min_length, charset=charset)


@from_gymnasium.register
def _(space: gymnasium.spaces.Sequence, **capacities: int) -> funcenv.spaces.Space[Any]:
    item = from_gymnasium(space.feature_space, **capacities)
    own = {"max_length": space.max_length} if isinstance(space, BoundedSequence) else {}
    max_length = {"max_length": MAX_LENGTH, **capacities, **own}["max_length"]
    return funcenv.spaces.Sequence(item, max_length, space.stack)


@from_gymnasium.register
def _(space: gymnasium.spaces.Graph, **capacities: int) -> funcenv.spaces.Space[Any]:
    node_space = from_gymnasium(space.node_space, **capacities)
    edge_space = None if space.edge_space is None else from_gymnasium(space.edge_space, **capacities)
    if isinstance(space, BoundedGraph):
        return funcenv.spaces.Graph(node_space, edge_space, space.max_nodes, space.max_edges)
    return funcenv.spaces.Graph(node_space, edge_space, capacities.get("max_nodes", MAX_NODES))


@from_gymnasium.register(gymnasium.spaces.OneOf)
def _(space: gymnasium.spaces.OneOf[Any], **capacities: int) -> funcenv.spaces.Space[Any]:
    return funcenv.spaces.OneOf([from_gymnasium(part, **capacities) for part in space.spaces])


def _wide(dtype: np.dtype[Any]) -> Any:
    """Gymnasium's default where ours is meant."""
    return np.int64 if dtype == np.int32 else dtype.type


def _narrow(dtype: np.dtype[Any], lowest: int, highest: int) -> np.dtype[Any]:
    """Our default where Gymnasium's is meant, if it holds the members."""
    limits = np.iinfo(np.int32)
    fits = limits.min <= lowest and highest <= limits.max
    return np.dtype(np.int32) if dtype == np.int64 and fits else dtype

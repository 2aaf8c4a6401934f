"""Gymnasium's sequences and graphs with a capacity, which the spaces of funcenv have."""

from __future__ import annotations

from typing import Any

import gymnasium.spaces
from gymnasium.spaces import GraphInstance

from funcenv.spaces._padded import stacked_length
from funcenv.spaces.graph import MAX_NODES

GymnasiumSpace = gymnasium.Space[Any]


class BoundedSequence(gymnasium.spaces.Sequence):
    """Gymnasium's `Sequence` of at most `max_length` items.

    >>> space = BoundedSequence(gymnasium.spaces.Discrete(2), max_length=2)
    >>> (0, 1) in space, (0, 1, 1) in space
    (True, False)
    """

    def __init__(self, space: GymnasiumSpace, max_length: int, stack: bool = False) -> None:
        self.max_length = max_length
        super().__init__(space, stack=stack)

    def generate_sample_length(self, length_mask: Any, mask_type: Any) -> int:
        """Draw a length as Gymnasium does, and limit it to `max_length`."""
        return min(int(super().generate_sample_length(length_mask, mask_type)), self.max_length)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw a sequence as Gymnasium does, of at most `max_length` items."""
        if mask is None and probability is None:
            mask = (None, None)  # without a mask Gymnasium does not call `generate_sample_length`
        return super().sample(mask=mask, probability=probability)

    def contains(self, x: Any) -> bool:
        """Check whether `x` is a sequence of at most `max_length` members."""
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
        self, node_space: GymnasiumSpace, edge_space: GymnasiumSpace | None, max_nodes: int, max_edges: int
    ) -> None:
        self.max_nodes, self.max_edges = max_nodes, max_edges
        super().__init__(node_space, edge_space)

    def sample(
        self, mask: Any = None, probability: Any = None, num_nodes: int | None = None, num_edges: int | None = None
    ) -> GraphInstance:
        """Draw a graph as Gymnasium does, by default with as many nodes as the capacity allows."""
        if num_nodes is None:
            num_nodes = min(self.max_nodes, MAX_NODES)
        if num_edges is None and self.edge_space is not None:
            stop = min(num_nodes * (num_nodes - 1), self.max_edges + 1)
            num_edges = int(self.np_random.integers(stop)) if num_nodes > 1 else 0
        return super().sample(mask, probability, num_nodes, num_edges)

    def contains(self, x: Any) -> bool:
        """Check whether `x` is a graph of members within the capacities."""
        if not isinstance(x, GraphInstance):
            return False
        num_nodes, num_edges = (stacked_length(items) or 0 for items in (x.nodes, x.edges))
        return num_nodes <= self.max_nodes and num_edges <= self.max_edges and super().contains(x)

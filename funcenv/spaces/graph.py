"""Graphs with features on nodes and edges, up to a fixed size."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from funcenv.checks import require_size
from funcenv.spaces import _padded
from funcenv.spaces._composite import require_space
from funcenv.spaces._dtypes import canonical, dtype_of, integers_within, is_array, promote
from funcenv.spaces._padded import PaddedSpace
from funcenv.spaces._sampling import uniform_below
from funcenv.spaces.batch import contains_each
from funcenv.spaces.space import AnySpace, require_alike
from funcenv.struct import PyTreeNode

MAX_NODES = 10
"""The default capacity: the number of nodes that Gymnasium draws by default."""


class GraphInstance(PyTreeNode):
    """A graph as arrays. `Graph.pack` makes one, `Graph.unpack` reads it. Entries after the counts have no meaning."""

    nodes: Any  # features, stacked leaf by leaf: `[max_nodes, ...]`
    edges: Any  # features, `[max_edges, ...]`, or None where the space has no edges
    edge_links: Int32[Array, "max_edges 2"] | None  # indices of the nodes that each edge leads from and to
    num_nodes: Int32[Array, ""]
    num_edges: Int32[Array, ""]

    @property
    def node_mask(self) -> Bool[Array, "max_nodes"]:
        """The mask of the nodes within `num_nodes`."""
        return _padded.within_length(self.num_nodes, jax.tree.leaves(self.nodes)[0].shape[0])

    @property
    def edge_mask(self) -> Bool[Array, "max_edges"]:
        """The mask of the edges within `num_edges`."""
        return _padded.within_length(self.num_edges, 0 if self.edge_links is None else self.edge_links.shape[0])


class PlainGraph(NamedTuple):
    """A graph without padding: the plain form, which Gymnasium calls `GraphInstance`."""

    nodes: Any
    edges: Any
    edge_links: Any


class Graph(PaddedSpace[GraphInstance]):
    """Directed graphs of up to `max_nodes` nodes and `max_edges` edges, each with a feature.

    A member is a `GraphInstance`. `pack`, `contains` and `flatten` also take the plain form, which Gymnasium's space
    holds: a named tuple of `nodes`, `edges` and `edge_links`.

    Args:
        node_space: the space of a node's feature.
        edge_space: the space of an edge's feature; None for graphs without edges.
        max_nodes: the capacity of a member, at least 1.
        max_edges: the number of edges that a member has room for, at least 1; by default
            `max_nodes * (max_nodes - 1)`, but at least 1.

    Raises:
        TypeError: `node_space` or `edge_space` is not a space.
        ValueError: A capacity is below 1.

    >>> import funcenv
    >>> from funcenv.spaces import Box, Discrete
    >>> space = Graph(Box(-1, 1, (2,)), Discrete(3))
    >>> space
    Graph(Box(-1.0, 1.0, (2,), float32), Discrete(3))
    >>> member = space.sample(funcenv.key(0), num_nodes=4, num_edges=2)
    >>> member.nodes.shape, member.node_mask.tolist().count(True), bool(space.contains(member))
    ((10, 2), 4, True)
    """

    def __init__(
        self,
        node_space: AnySpace,
        edge_space: AnySpace | None,
        max_nodes: int = MAX_NODES,
        max_edges: int | None = None,
    ) -> None:
        require_space("the node_space of a Graph", node_space)
        if edge_space is not None:
            require_space("the edge_space of a Graph, unless None,", edge_space)
        self.node_space, self.edge_space = node_space, edge_space
        self.max_nodes = require_size("max_nodes", max_nodes)
        self.max_edges = (
            _max_simple_edges(self.max_nodes) if max_edges is None else require_size("max_edges", max_edges)
        )

    def sample(
        self,
        key: jax.Array,
        mask: Any = None,
        probability: Any = None,
        num_nodes: Any = None,
        num_edges: Any = None,
    ) -> GraphInstance:
        """Draw a graph: its size, then independent features, then links between any two of its nodes.

        Args:
            key: a typed key.
            mask: a pair of a mask for every node and a mask for every edge; either may be None.
            probability: a pair of probabilities for every node and for every edge; either may be None.
            num_nodes: the number of nodes, at least 1; by default uniform from 1 to `max_nodes`.
            num_edges: the number of edges; by default uniform below `num_nodes * (num_nodes - 1)` and up to
                `max_edges`.

        Raises:
            ValueError: `mask` and `probability` are both given, or a number exceeds its capacity.
            TypeError: `mask` or `probability` is not a pair.
        """
        name, node_choice, edge_choice = _padded.read_choice(
            mask, probability, "a {0} of the nodes and one of the edges"
        )
        node_count_key, edge_count_key, node_key, edge_key, link_key = jax.random.split(key, 5)
        if num_nodes is None:
            num_nodes = 1 + uniform_below(node_count_key, jnp.uint32(self.max_nodes), self.max_nodes).astype(jnp.int32)
        else:
            num_nodes = _padded.choose_length(node_count_key, num_nodes, 1, self.max_nodes)
        if self.edge_space is None:
            num_edges = jnp.zeros((), jnp.int32)
        elif num_edges is None:
            most = jnp.clip(num_nodes * (num_nodes - 1), 1, self.max_edges + 1).astype(jnp.uint32)
            num_edges = uniform_below(edge_count_key, most, self.max_edges + 1).astype(jnp.int32)
        else:
            num_edges = _padded.choose_length(edge_count_key, num_edges, 0, self.max_edges)

        nodes = _padded.draw_items(self.node_space, node_key, self.max_nodes, **{name: node_choice})
        if self.edge_space is None:
            return self._member(nodes, None, None, num_nodes, num_edges)
        edges = _padded.draw_items(self.edge_space, edge_key, self.max_edges, **{name: edge_choice})
        counts = jnp.broadcast_to(num_nodes.astype(jnp.uint32), (self.max_edges, 2))
        links = uniform_below(link_key, counts, self.max_nodes).astype(jnp.int32)
        return self._member(nodes, edges, links, num_nodes, num_edges)

    def _member(self, nodes: Any, edges: Any, links: Any, num_nodes: Any, num_edges: Any) -> GraphInstance:
        edges, links = _padded.zero_beyond((edges, links), num_edges, self.max_edges)
        return GraphInstance(
            nodes=_padded.zero_beyond(nodes, num_nodes, self.max_nodes),
            edges=edges,
            edge_links=links,
            num_nodes=jnp.asarray(num_nodes),
            num_edges=jnp.asarray(num_edges),
        )

    def pack(self, x: Any) -> GraphInstance:
        """Convert a named tuple of `nodes`, `edges` and `edge_links` to a member.

        The last two are None for a graph without edges.

        Raises:
            ValueError: There are more nodes or edges than the capacity, or the links do not match the edges.
            TypeError: `x` is not such a tuple.
        """
        if isinstance(x, GraphInstance):
            return x
        if not _is_plain(x):
            raise TypeError(f"a graph is a named tuple of nodes, edges and edge_links, got {x!r}")
        num_nodes = np.int32(_padded.require_fitting("nodes", x.nodes, self.max_nodes))
        nodes = _padded.pad_items(self.node_space, x.nodes, self.max_nodes)
        if self.edge_space is None:
            return self._member(nodes, None, None, num_nodes, np.int32(0))
        edges, links = (_padded.stack_items(self.edge_space, ()), np.zeros((0, 2))) if x.edges is None else x[1:]
        num_edges = np.int32(_padded.require_fitting("edges", edges, self.max_edges))
        if np.shape(links) != (num_edges, 2):
            raise ValueError(f"edge_links must have shape ({num_edges}, 2), a pair an edge, got {np.shape(links)}")
        links = jnp.pad(jnp.asarray(links).astype(jnp.int32), [(0, self.max_edges - int(num_edges)), (0, 0)])
        return self._member(
            nodes, _padded.pad_items(self.edge_space, edges, self.max_edges), links, num_nodes, num_edges
        )

    def unpack(self, member: GraphInstance) -> PlainGraph:
        """Return the nodes, edges and links without padding; the last two are None for a graph without edges."""
        nodes, num_edges = _padded.first_items(member.nodes, int(member.num_nodes)), int(member.num_edges)
        if not num_edges:
            return PlainGraph(nodes, None, None)
        return PlainGraph(nodes, *_padded.first_items((member.edges, member.edge_links), num_edges))

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` is a graph, in either form, of at most the capacity with features and links in range.

        Entries after the counts of a `GraphInstance` are ignored.
        """
        if _is_plain(x):
            num_nodes, num_edges = (
                _padded.stacked_length(x.nodes),
                0 if x.edges is None else _padded.stacked_length(x.edges),
            )
            if num_nodes is None or num_edges is None or num_nodes > self.max_nodes or num_edges > self.max_edges:
                return jnp.zeros((), bool)
            return self._holds(x, num_nodes, num_edges, num_nodes, num_edges)
        if (
            not isinstance(x, GraphInstance)
            or not _padded.is_integer(x.num_nodes)
            or not _padded.is_integer(x.num_edges)
        ):
            return jnp.zeros((), bool)
        if (x.edges is None) != (self.edge_space is None):
            return jnp.zeros((), bool)
        fits = integers_within(x.num_nodes, 0, self.max_nodes) & integers_within(x.num_edges, 0, self.max_edges)
        return fits & self._holds(x, x.num_nodes, x.num_edges, self.max_nodes, self.max_edges)

    def _holds(self, x: Any, num_nodes: Any, num_edges: Any, max_nodes: int, max_edges: int) -> Bool[Array, ""]:
        """Return whether the first nodes and edges, in arrays of the given sizes, are members with links in range."""
        inside = jnp.all(
            contains_each(self.node_space, x.nodes, max_nodes) | ~_padded.within_length(num_nodes, max_nodes)
        )
        if x.edges is None and x.edge_links is None:
            return inside & (jnp.asarray(num_edges) == 0)
        dtype = dtype_of(x.edge_links)
        if self.edge_space is None or dtype is None or not is_array(x.edge_links, "iu", (max_edges, 2)):
            return jnp.zeros((), bool)
        links = x.edge_links if isinstance(x.edge_links, jax.Array) else np.clip(x.edge_links, -1, _MAX_INT32)
        wide = canonical(promote([dtype, np.dtype(np.int32)]))
        links = jnp.asarray(links).astype(wide)
        linked = jnp.all((links >= 0) & (links < jnp.asarray(num_nodes).astype(wide)), axis=1)
        edges = contains_each(self.edge_space, x.edges, max_edges) & linked
        return inside & jnp.all(edges | ~_padded.within_length(num_edges, max_edges))

    def union(self, other: Any) -> Graph:
        """Return the graphs whose features lie in the unions."""
        require_alike(
            "kind, capacity or whether they have edges",
            lambda space: (space.max_nodes, space.max_edges, space.edge_space is None),
            self,
            other,
        )
        edge_space = None if self.edge_space is None else self.edge_space.union(other.edge_space)
        return self._of(self.node_space.union(other.node_space), edge_space)

    @property
    def flattened(self) -> Graph:
        """Graphs of flattened features."""
        return self._of(self.node_space.flattened, None if self.edge_space is None else self.edge_space.flattened)

    def flatten(self, x: Any) -> GraphInstance:
        """Flatten the features."""
        return self._map_features("flatten", self.pack(x))

    def unflatten(self, flat: Any) -> GraphInstance:
        """Unflatten the features."""
        return self._map_features("unflatten", self.flattened.pack(flat))

    def _map_features(self, method: str, member: GraphInstance) -> GraphInstance:
        edges = None if self.edge_space is None else jax.vmap(getattr(self.edge_space, method))(member.edges)
        nodes = jax.vmap(getattr(self.node_space, method))(member.nodes)
        return self._member(nodes, edges, member.edge_links, member.num_nodes, member.num_edges)

    def _of(self, node_space: AnySpace, edge_space: AnySpace | None) -> Graph:
        return Graph(node_space, edge_space, self.max_nodes, self.max_edges)

    def parts(self) -> tuple[Any, ...]:
        """Return the spaces of nodes and edges, and the capacities."""
        return self.node_space, self.edge_space, self.max_nodes, self.max_edges

    def __repr__(self) -> str:
        nodes = f", max_nodes={self.max_nodes}" if self.max_nodes != MAX_NODES else ""
        edges = f", max_edges={self.max_edges}" if self.max_edges != _max_simple_edges(self.max_nodes) else ""
        return f"Graph({self.node_space!r}, {self.edge_space!r}{nodes}{edges})"


_MAX_INT32 = 2**31 - 1


def _max_simple_edges(num_nodes: int) -> int:
    """Return the number of ordered pairs of different nodes, but at least 1."""
    return max(num_nodes * (num_nodes - 1), 1)


def _is_plain(x: Any) -> bool:
    """Return whether `x` is a named tuple with the fields of `PlainGraph`."""
    return isinstance(x, tuple) and getattr(x, "_fields", ()) == PlainGraph._fields

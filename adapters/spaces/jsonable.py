"""Lists of members as JSON, in the form that Gymnasium's spaces give them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcenv.spaces import Dict, Graph, OneOf, PlainGraph, Sequence, Text, Tuple, batch_space
from funcenv.spaces.space import AnySpace


def to_jsonable(space: AnySpace, members: Iterable[Any]) -> Any:
    """Convert members in their plain form to lists, dicts, numbers and strings.

    A `Dict` gives a dict of lists and a `Tuple` a list of lists, each with the entries of all members.

    >>> from funcenv.spaces import Discrete
    >>> to_jsonable(Dict(a=Discrete(3), b=Text(2)), [{"a": 1, "b": "x"}, {"a": 2, "b": "yz"}])
    {'a': [1, 2], 'b': ['x', 'yz']}
    """
    members = list(members)
    if isinstance(space, Dict):
        return {name: to_jsonable(part, [one[name] for one in members]) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return [to_jsonable(part, [one[i] for one in members]) for i, part in enumerate(space.spaces)]
    if isinstance(space, OneOf):
        return [[int(i), _one_to_jsonable(space.spaces[int(i)], value)] for i, value in members]
    if isinstance(space, Sequence):
        return [_items_to_jsonable(space.feature_space, one, space.stack) for one in members]
    if isinstance(space, Graph):
        return [_graph_to_jsonable(space, one) for one in members]
    if isinstance(space, Text):
        return members
    return [np.asarray(one).tolist() for one in members]


def from_jsonable(space: AnySpace, values: Any) -> list[Any]:
    """Return the members in their plain form that `to_jsonable` converted.

    >>> from funcenv.spaces import Discrete
    >>> from_jsonable(Dict(a=Discrete(3), b=Text(2)), {"a": [1, 2], "b": ["x", "yz"]})[1]["b"]
    'yz'
    """
    if isinstance(space, Dict):
        columns = {name: from_jsonable(part, values[name]) for name, part in space.spaces.items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(space, Tuple):
        parts = [from_jsonable(part, column) for part, column in zip(space.spaces, values, strict=True)]
        return list(zip(*parts, strict=True))
    if isinstance(space, OneOf):
        return [(int(i), _one_from_jsonable(space.spaces[int(i)], value)) for i, value in values]
    if isinstance(space, Sequence):
        return [_items_from_jsonable(space.feature_space, one, space.stack) for one in values]
    if isinstance(space, Graph):
        return [_graph_from_jsonable(space, one) for one in values]
    if isinstance(space, Text):
        return list(values)
    return [np.asarray(one, space.dtype)[()] for one in values]


def _one_to_jsonable(space: AnySpace, member: Any) -> Any:
    """Convert one member; a `Dict` gives a dict, and a `Tuple` a list, of the entries of this member alone."""
    if isinstance(space, Dict):
        return {name: _one_to_jsonable(part, member[name]) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return [_one_to_jsonable(part, entry) for part, entry in zip(space.spaces, member, strict=True)]
    return to_jsonable(space, [member])[0]


def _one_from_jsonable(space: AnySpace, value: Any) -> Any:
    if isinstance(space, Dict):
        return {name: _one_from_jsonable(part, value[name]) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(_one_from_jsonable(part, entry) for part, entry in zip(space.spaces, value, strict=True))
    return from_jsonable(space, [value])[0]


def _items_to_jsonable(space: AnySpace, items: Any, stacked: bool) -> Any:
    return _one_to_jsonable(batch_space(space, _length(items)), items) if stacked else to_jsonable(space, items)


def _items_from_jsonable(space: AnySpace, values: Any, stacked: bool) -> Any:
    if stacked:
        return _one_from_jsonable(batch_space(space, 1), values)  # the batch of any size has these kinds
    return tuple(from_jsonable(space, values))


def _graph_to_jsonable(space: Graph, graph: Any) -> dict[str, Any]:
    nodes = {"nodes": [_items_to_jsonable(space.node_space, graph.nodes, True)]}
    if graph.edges is None or space.edge_space is None:
        return nodes
    edges = [_items_to_jsonable(space.edge_space, graph.edges, True)]
    return {**nodes, "edges": edges, "edge_links": np.asarray(graph.edge_links).tolist()}


def _graph_from_jsonable(space: Graph, value: dict[str, Any]) -> PlainGraph:
    nodes = _items_from_jsonable(space.node_space, value["nodes"][0], True)
    if "edges" not in value or space.edge_space is None:
        return PlainGraph(nodes, None, None)
    edges = _items_from_jsonable(space.edge_space, value["edges"][0], True)
    return PlainGraph(nodes, edges, np.asarray(value["edge_links"], np.int32))


def _length(items: Any) -> int:
    while isinstance(items, dict):
        items = next(iter(items.values()))
    while isinstance(items, tuple):
        items = items[0]
    return len(items)

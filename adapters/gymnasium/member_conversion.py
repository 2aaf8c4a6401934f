"""Members of a space between the two libraries: arrays of fixed size here, Python objects in Gymnasium.

All of it is numpy on the host. None of it calls JAX, which must not be entered from inside a callback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from gymnasium.spaces import GraphInstance

from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.spaces import (
    Batched,
    Dict,
    Discrete,
    Graph,
    OneOf,
    PlainGraph,
    Sequence,
    Space,
    Text,
    Tuple,
)
from funcenv.spaces._padded import require_fitting, struct_of

_PADDED = (Text, Sequence, Graph, OneOf, Batched)


def is_padded(space: Space[Any]) -> bool:
    """Whether members of a space look otherwise in Gymnasium than here.

    >>> is_padded(Tuple([Discrete(2), Text(3)])), is_padded(Tuple([Discrete(2)]))
    (True, False)
    """
    if isinstance(space, (Tuple, Dict)):
        return any(map(is_padded, space.spaces.values() if isinstance(space, Dict) else space.spaces))
    return isinstance(space, _PADDED)


def plain_decoder(space: Space[Any]) -> Callable[[Any], Any]:
    """A function from members of a space, in numpy arrays, to what Gymnasium's space of the same name holds.

    >>> from funcenv.spaces import MultiDiscrete
    >>> plain_decoder(Tuple([Discrete(3), MultiDiscrete([2, 2])]))((np.int32(2), np.array([0, 1], np.int32)))
    (2, array([0, 1]))
    """
    if isinstance(space, Discrete):
        return int
    if isinstance(space, Tuple):
        parts = [plain_decoder(part) for part in space.spaces]
        return lambda members: tuple(decode(member) for decode, member in zip(parts, members, strict=True))
    if isinstance(space, Dict):
        named = {name: plain_decoder(part) for name, part in space.spaces.items()}
        return lambda members: {name: decode(members[name]) for name, decode in named.items()}
    if isinstance(space, _PADDED):
        return lambda member: _gymnasium_graphs(space.unpack(member))
    inside, shown = struct_of(space).dtype, to_gymnasium(space).dtype  # JAX may have fewer bits
    return _same if inside == shown else lambda member: member.astype(shown)


def member_encoder(space: Space[Any]) -> Callable[[Any], Any]:
    """A function from what Gymnasium's space of the same name holds to members of a space, in numpy arrays.

    The arrays have the dtypes that they get inside JAX.

    >>> member_encoder(Text(4, charset="ab"))("ba")
    TextInstance(codes=array([1, 0, 2, 2], dtype=int32), length=array(2, dtype=int32))
    """
    blank = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), struct_of(space))
    return lambda plain: _encode(space, plain, blank)


def _encode(space: Space[Any], plain: Any, blank: Any) -> Any:
    """`plain` in the arrays of `blank`, which is a member of zeros."""
    if isinstance(space, Tuple):
        return tuple(_encode(*triple) for triple in zip(space.spaces, plain, blank, strict=True))
    if isinstance(space, Dict):
        return {name: _encode(part, plain[name], blank[name]) for name, part in space.spaces.items()}
    if isinstance(space, Text):
        codes = np.full_like(blank.codes, len(space.character_list))
        codes[: len(plain)] = [space.character_index(character) for character in plain]
        return blank.replace(codes=codes, length=np.asarray(len(plain), np.int32))
    if isinstance(space, Sequence):
        items = plain if space.stack else _stacked(space.feature_space, plain, blank.items)
        length = require_fitting("items", items, space.max_length) if space.stack or plain else 0
        return blank.replace(items=_padded(items, blank.items), length=np.asarray(length, np.int32))
    if isinstance(space, Graph):
        return _encode_graph(space, plain, blank)
    if isinstance(space, OneOf):
        index, value = int(plain[0]), plain[1]
        values = list(blank.values)
        values[index] = _encode(space.spaces[index], value, values[index])
        return blank.replace(index=np.asarray(index, np.int32), values=tuple(values))
    if isinstance(space, Batched):
        return _stacked(space.space, plain, blank)
    return np.asarray(plain).astype(blank.dtype)


def _encode_graph(space: Graph, plain: Any, blank: Any) -> Any:
    num_nodes = require_fitting("nodes", plain.nodes, space.max_nodes)
    member = blank.replace(nodes=_padded(plain.nodes, blank.nodes), num_nodes=np.asarray(num_nodes, np.int32))
    if plain.edges is None:
        return member
    num_edges = require_fitting("edges", plain.edges, space.max_edges)
    return member.replace(
        edges=_padded(plain.edges, blank.edges),
        edge_links=_padded(plain.edge_links, blank.edge_links),
        num_edges=np.asarray(num_edges, np.int32),
    )


def _stacked(space: Space[Any], plain: Iterable[Any], blank: Any) -> Any:
    """Members one by one, stacked; `blank` has room for them and more."""
    one = jax.tree.map(lambda leaf: leaf[0], blank)
    members = [_encode(space, item, one) for item in plain]
    if not members:
        return jax.tree.map(lambda leaf: leaf[:0], blank)
    return jax.tree.map(lambda *leaves: np.stack(leaves), *members)


def _padded(items: Any, blank: Any) -> Any:
    """Stacked items, and zeros up to the size of `blank`."""

    def pad(nothing: np.ndarray[Any, Any], item: Any) -> np.ndarray[Any, Any]:
        filled = nothing.copy()
        filled[: len(item)] = item
        return filled

    return jax.tree.map(pad, blank, items)


def _gymnasium_graphs(plain: Any) -> Any:
    """Graphs as the class that Gymnasium's space insists on."""
    if isinstance(plain, PlainGraph):
        return GraphInstance(*plain)
    if isinstance(plain, tuple):
        return tuple(map(_gymnasium_graphs, plain))
    if isinstance(plain, dict):
        return {name: _gymnasium_graphs(part) for name, part in plain.items()}
    return plain


def _same(member: Any) -> Any:
    return member

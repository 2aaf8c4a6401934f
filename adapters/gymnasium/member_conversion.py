"""Conversion of a space's members between funcenv and Gymnasium.

Members are arrays of fixed size in funcenv and Python objects in Gymnasium. The functions use NumPy only, because they
run inside callbacks, where JAX must not be called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from gymnasium.spaces import GraphInstance

from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.spaces import Batched, Dict, Discrete, Graph, OneOf, PlainGraph, Sequence, Text, Tuple
from funcenv.spaces._padded import require_fitting
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray


def has_own_form(space: AnySpace) -> bool:
    """Check whether members of a space have another form in Gymnasium, for example a string for `Text`.

    >>> has_own_form(Tuple([Discrete(2), Text(3)])), has_own_form(Tuple([Discrete(2)]))
    (True, False)
    """
    if isinstance(space, (Tuple, Dict)):
        return any(map(has_own_form, space.spaces.values() if isinstance(space, Dict) else space.spaces))
    return space.shape is None


@functools.singledispatch
def member_decoder(space: AnySpace) -> Callable[[Any], Any]:
    """Return a function that converts a member with NumPy leaves to a member of Gymnasium's space.

    >>> from funcenv.spaces import MultiDiscrete
    >>> member_decoder(Tuple([Discrete(3), MultiDiscrete([2, 2])]))((np.int32(2), np.array([0, 1], np.int32)))
    (2, array([0, 1]))
    """
    if space.shape is None:
        return lambda member: _with_gymnasium_graphs(space.unpack(member))
    dtype = to_gymnasium(space).dtype  # without 64-bit mode, JAX replaces a 64-bit dtype
    return _identity if space.abstract_member().dtype == dtype else lambda member: member.astype(dtype)


@member_decoder.register
def _(space: Discrete) -> Callable[[Any], Any]:
    return int


@member_decoder.register
def _(space: Tuple) -> Callable[[Any], Any]:
    decoders = [member_decoder(part) for part in space.spaces]
    return lambda members: tuple(decode(member) for decode, member in zip(decoders, members, strict=True))


@member_decoder.register
def _(space: Dict) -> Callable[[Any], Any]:
    decoders = {name: member_decoder(part) for name, part in space.spaces.items()}
    return lambda members: {name: decode(members[name]) for name, decode in decoders.items()}


def member_encoder(space: AnySpace) -> Callable[[Any], Any]:
    """Return a function that converts a member of Gymnasium's space to a member with NumPy leaves.

    The arrays have the dtypes that JAX gives them.

    >>> member_encoder(Text(4, charset="ab"))("ba")
    TextInstance(codes=array([1, 0, 2, 2], dtype=int32), length=array(2, dtype=int32))
    """
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), space.abstract_member())
    return lambda plain: _encode(space, plain, zeros)


@functools.singledispatch
def _encode(space: AnySpace, plain: Any, zeros: Any) -> Any:
    """Convert `plain` to a member with the structure, shapes and dtypes of `zeros`."""
    return np.asarray(plain).astype(zeros.dtype)


@_encode.register
def _(space: Tuple, plain: Any, zeros: Any) -> Any:
    return tuple(_encode(*triple) for triple in zip(space.spaces, plain, zeros, strict=True))


@_encode.register
def _(space: Dict, plain: Any, zeros: Any) -> Any:
    return {name: _encode(part, plain[name], zeros[name]) for name, part in space.spaces.items()}


@_encode.register
def _(space: Text, plain: Any, zeros: Any) -> Any:
    codes = np.full_like(zeros.codes, len(space.character_list))
    codes[: len(plain)] = [space.character_index(character) for character in plain]
    return zeros.replace(codes=codes, length=np.asarray(len(plain), np.int32))


@_encode.register
def _(space: Sequence, plain: Any, zeros: Any) -> Any:
    items = plain if space.stack else _stack(space.feature_space, plain, zeros.items)
    length = require_fitting("items", items, space.max_length) if space.stack or plain else 0
    return zeros.replace(items=_pad(items, zeros.items), length=np.asarray(length, np.int32))


@_encode.register
def _(space: Graph, plain: Any, zeros: Any) -> Any:
    num_nodes = require_fitting("nodes", plain.nodes, space.max_nodes)
    member = zeros.replace(nodes=_pad(plain.nodes, zeros.nodes), num_nodes=np.asarray(num_nodes, np.int32))
    if plain.edges is None:
        return member
    num_edges = require_fitting("edges", plain.edges, space.max_edges)
    edges, links = _pad(plain.edges, zeros.edges), _pad(plain.edge_links, zeros.edge_links)
    return member.replace(edges=edges, edge_links=links, num_edges=np.asarray(num_edges, np.int32))


@_encode.register
def _(space: OneOf, plain: Any, zeros: Any) -> Any:
    index, value = int(plain[0]), plain[1]
    values = list(zeros.values)
    values[index] = _encode(space.spaces[index], value, values[index])
    return zeros.replace(index=np.asarray(index, np.int32), values=tuple(values))


@_encode.register
def _(space: Batched, plain: Any, zeros: Any) -> Any:
    return _stack(space.space, plain, zeros)


def _stack(space: AnySpace, plain: Iterable[Any], zeros: Any) -> Any:
    """Encode members one by one, and stack them; `zeros` has at least as many."""
    first = jax.tree.map(lambda leaf: leaf[0], zeros)
    members = [_encode(space, item, first) for item in plain]
    if not members:
        return jax.tree.map(lambda leaf: leaf[:0], zeros)
    return jax.tree.map(lambda *leaves: np.stack(leaves), *members)


def _pad(items: Any, zeros: Any) -> Any:
    """Append zeros to stacked items, up to the length of `zeros`."""

    def pad(zeros: NDArray, items: Any) -> NDArray:
        padded = zeros.copy()
        padded[: len(items)] = items
        return padded

    return jax.tree.map(pad, zeros, items)


def _with_gymnasium_graphs(plain: Any) -> Any:
    """Convert graphs to the class that Gymnasium's space requires."""
    if isinstance(plain, PlainGraph):
        return GraphInstance(*plain)
    if isinstance(plain, tuple):
        return tuple(map(_with_gymnasium_graphs, plain))
    if isinstance(plain, dict):
        return {name: _with_gymnasium_graphs(part) for name, part in plain.items()}
    return plain


def _identity(member: Any) -> Any:
    return member

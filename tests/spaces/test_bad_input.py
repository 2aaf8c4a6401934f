"""Errors say the rule, what was given, and what to do; at construction, or at the call where the input comes in."""

from __future__ import annotations

import gymnasium.spaces
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import (
    Batched,
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    PlainGraph,
    Sequence,
    Text,
    Tuple,
    batch_space,
    flatdim,
    flatten,
    unflatten,
)

COINS = Dict(a=Discrete(2), b=Discrete(2))
GRAPH = Graph(Discrete(2), Discrete(2), max_nodes=2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Box(1, 0), ValueError, "low <= high in every element, got low=1 and high=0"),
        (lambda: Box([0, 2], [1, 1]), ValueError, r"low <= high .* got low=\[0, 2\]"),
        (lambda: Box(np.nan, 1), ValueError, "must not be NaN, got low=nan; -inf and inf leave a side open"),
        (lambda: Box([0, np.nan], 1), ValueError, "must not be NaN"),
        (lambda: Box(0, 1, (2.5,)), TypeError, r"sequence of integers, such as \(3,\), got \(2.5,\)"),
        (lambda: Box(0, 1, 3), TypeError, "got 3"),
        (lambda: Box(0, 1, (-1,)), ValueError, r"at least 0, got shape \(-1,\)"),
        (lambda: Box([0, 0], 1, (3,)), ValueError, r"low of shape \(2,\) does not broadcast to shape \(3,\)"),
        (lambda: Box([0, 0], [1, 1, 1]), ValueError, r"broadcast, got low of \(2,\) and high of \(3,\)"),
        (lambda: Box(0, 1, dtype=complex), ValueError, "float, integer or bool dtype, got complex128"),
        (lambda: Box("a", 1), ValueError, "must be numbers, got low='a'"),
        (lambda: Box(None, 1), ValueError, "must be numbers, got low=None; -inf and inf leave a side open"),
        (lambda: Box(0, [1, None]), ValueError, r"must be numbers, got high=\[1, None\]"),
        (lambda: Box(0, 1j), ValueError, "must be numbers, got high=1j"),
        (lambda: Box(0, 10**400), ValueError, "must be numbers, got high=1000"),
        (lambda: Box(0, 10**40, (2,), np.int64), ValueError, "must be numbers, got high=1000"),
        (lambda: Box(0, [[1], [1, 2]]), ValueError, "must be numbers, got high="),
        (lambda: Box(np.zeros(2, complex), 1), ValueError, "must be numbers, got low="),
        (lambda: Sequence(Discrete(2), stack="False"), TypeError, "stack must be True or False, got 'False'"),
        (
            lambda: Dict(a=Discrete(2), sort_keys=Discrete(2)),
            TypeError,
            "sort_keys must be True or False, got Discrete",
        ),
        (lambda: Box(0, 1, dtype="uint7"), TypeError, "must name a dtype, got 'uint7'"),
        (lambda: Box(0, 1, dtype=","), TypeError, "must name a dtype, got ','"),
        (lambda: Text(2, charset=[3]), ValueError, r"single characters, at least one, got \[3\]"),
        (lambda: Box(0, 1, (2, None)), TypeError, r"sequence of integers, such as \(3,\), got \(2, None\)"),
        (lambda: Discrete(10**40), ValueError, "n of Discrete must be at most 9223372036854775807"),
        (lambda: MultiDiscrete([2, 10**40]), ValueError, r"below 2\*\*63"),
        (lambda: MultiBinary((2, None)), TypeError, r"an integer or a shape, got \(2, None\)"),
        (lambda: Tuple(None), TypeError, r"Tuple takes a sequence of spaces, such as \[Discrete\(2\)\], got None"),
        (lambda: Tuple(Discrete(2)), TypeError, r"Tuple takes a sequence of spaces, .*, got Discrete\(2\)"),
        (lambda: OneOf(3), TypeError, "OneOf takes a sequence of spaces, .*, got 3"),
        (lambda: Dict(3), TypeError, "Dict takes a dict of spaces, or pairs of a name and a space, got 3"),
        (lambda: Dict([Discrete(2)]), TypeError, "Dict takes a dict of spaces, or pairs of a name and a space, got"),
        (lambda: Text(2, charset=None), TypeError, "collection of characters as charset, got None"),
        (lambda: Text(2, charset=3), TypeError, "collection of characters as charset, got 3"),
        (lambda: flatdim(None), TypeError, "flatdim takes a funcenv space first, got None"),
        (lambda: flatten(3, 3), TypeError, "flatten takes a funcenv space first, got 3"),
        (lambda: unflatten("x", 3), TypeError, "unflatten takes a funcenv space first, got 'x'"),
        (lambda: Box(0, 256, (2,), np.uint8), ValueError, "lies outside uint8, which holds 0 to 255"),
        (lambda: Box(0, 1e300, (2,)), ValueError, "lies outside float32"),
        (lambda: Box(0, np.inf, (2,), np.uint8), ValueError, "uint8 has no open sides, .* give the bound as a number"),
        (lambda: Box(0, 1).is_bounded("sideways"), ValueError, "\"both\", got 'sideways'"),
        (lambda: Discrete(0), ValueError, "n of Discrete must be at least 1, got 0"),
        (lambda: Discrete(-3), ValueError, "n of Discrete must be at least 1, got -3"),
        (lambda: Discrete(2.0), TypeError, "n of Discrete must be an integer, got 2.0"),
        (lambda: Discrete(2, start=0.5), TypeError, "start of Discrete must be an integer, got 0.5"),
        (lambda: Discrete(2**31 + 1), ValueError, "does not fit int32; pass a wider dtype"),
        (lambda: Discrete(2, dtype=float), ValueError, "integer dtype, got float64"),
        (lambda: MultiDiscrete([2, 0]), ValueError, r"counts of at least 1, got nvec=\[2 0\]"),
        (lambda: MultiDiscrete([2, -1]), ValueError, "at least 1"),
        (lambda: MultiDiscrete([2.5]), TypeError, r"integers as nvec, got \[2.5\]"),
        (lambda: MultiDiscrete([2, 2], start=[0]), ValueError, r"a start for each count, got shapes \(1,\) and \(2,\)"),
        (lambda: MultiDiscrete([200], dtype=np.int8), ValueError, "does not fit int8; pass a wider dtype"),
        (lambda: MultiDiscrete([2], dtype=float), ValueError, "integer dtype, got float64"),
        (lambda: MultiDiscrete(np.array([2**63 + 1], np.uint64)), ValueError, r"below 2\*\*63"),
        (lambda: MultiBinary(0), ValueError, "at least 1, got 0"),
        (lambda: MultiBinary([2, -1]), ValueError, "at least 1"),
        (lambda: MultiBinary(2.5), TypeError, "an integer or a shape, got 2.5"),
        (lambda: Tuple([Discrete(2), 3]), TypeError, "Tuple entry 1 must be a funcenv space, got 3"),
        (lambda: Tuple([gymnasium.spaces.Discrete(2)]), TypeError, "got Discrete.*; convert it first"),
        (lambda: Dict(a=3), TypeError, "Dict entry 'a' must be a funcenv space, got 3"),
        (lambda: Dict({"a": Discrete(2), 1: Discrete(2)}), TypeError, r"can be sorted, got \['a', 1\]; use strings"),
        (lambda: Dict([("a", Discrete(2)), ("a", Discrete(3))]), ValueError, "must differ, got 'a' twice"),
        (lambda: Dict({"a": Discrete(2)}, a=Discrete(3)), ValueError, "must differ, got 'a' twice"),
        (lambda: Text(-1), ValueError, "0 <= min_length <= max_length, got 1 and -1"),
        (lambda: Text(0), ValueError, "got 1 and 0; min_length is 1 unless given"),
        (lambda: Text(2, min_length=-1), ValueError, "got -1 and 2"),
        (lambda: Text(2.5), TypeError, "max_length of Text must be an integer, got 2.5"),
        (lambda: Text(2, charset=""), ValueError, "single characters, at least one, got ''"),
        (lambda: Text(2, charset=["ab"]), ValueError, r"single characters, at least one, got \['ab'\]"),
        (lambda: Sequence(3), TypeError, "the item of a Sequence must be a funcenv space, got 3"),
        (lambda: Sequence(Discrete(2), max_length=0), ValueError, "max_length must be at least 1, got 0"),
        (lambda: Graph(3, None), TypeError, "node_space of a Graph must be a funcenv space"),
        (lambda: Graph(Discrete(2), 3), TypeError, "edge_space of a Graph, unless None, must be"),
        (lambda: Graph(Discrete(2), None, max_nodes=0), ValueError, "max_nodes must be at least 1, got 0"),
        (lambda: OneOf([]), ValueError, "at least one space, got none"),
        (lambda: OneOf([3]), TypeError, "OneOf entry 0 must be a funcenv space"),
        (lambda: batch_space(3, 2), TypeError, "needs a funcenv space, got 3"),
        (lambda: batch_space(Discrete(2), 0), ValueError, "n must be at least 1, got 0"),
    ],
)
def test_construction(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_dict_of_no_spaces_may_be_none_as_in_gymnasium():
    assert Dict(None, a=Discrete(2)) == Dict(a=Discrete(2)) and gymnasium.spaces.Dict(None).spaces == {}


@pytest.mark.parametrize(
    ("space", "choice", "error", "message"),
    [
        (Box(0, 1), {"mask": np.ones(1)}, ValueError, "neither mask nor probability; leave them out"),
        (Discrete(2), {"mask": np.ones(2), "probability": np.ones(2) / 2}, ValueError, "either mask or probability"),
        (Discrete(2), {"mask": np.zeros(2)}, ValueError, r"must allow something, got \[0. 0.\]; pass None"),
        (Discrete(2), {"mask": np.ones(3)}, ValueError, r"shape \(2,\), one entry for each choice, got \(3,\)"),
        (Discrete(2), {"mask": np.array([0, 2])}, ValueError, "0 and 1 only, .* pass weights as probability"),
        (Discrete(2), {"mask": "yes"}, ValueError, "shape"),
        (Discrete(2), {"mask": np.array(["y", "n"])}, TypeError, "must hold numbers"),
        (Discrete(2), {"probability": np.array([0.5, 0.6])}, ValueError, "sum to 1, .* divide them by their sum"),
        (Discrete(2), {"probability": np.array([-0.5, 1.5])}, ValueError, r"numbers in \[0, 1\]"),
        (Discrete(2), {"probability": np.array([np.nan, 1])}, ValueError, r"numbers in \[0, 1\]"),
        (MultiDiscrete([2, 3]), {"mask": (np.ones(2),)}, ValueError, "each of 2 elements, got 1"),
        (MultiDiscrete([2, 3]), {"mask": (np.ones(2), np.ones(2))}, ValueError, "an entry of mask must have shape"),
        (MultiDiscrete([2, 3]), {"mask": (np.zeros(2), None)}, ValueError, "an entry of mask must allow something"),
        (MultiDiscrete([2, 3]), {"mask": 3}, TypeError, "tuple with an entry or None for each element, got 3"),
        (MultiBinary(2), {"mask": np.array([0, 3])}, ValueError, "every entry of mask must be 0, 1 or 2, got"),
        (MultiBinary(2), {"probability": np.array([0, 1.5])}, ValueError, r"must be in \[0, 1\], got"),
        (MultiBinary(2), {"mask": np.array([1])}, ValueError, r"shape \(2,\)"),
        (Tuple([Discrete(2)]), {"mask": (None, None)}, ValueError, "each of the 1 spaces, got 2; None stands for"),
        (Tuple([Discrete(2)]), {"mask": np.ones(2)}, TypeError, "tuple with an entry or None for each space"),
        (COINS, {"mask": {"a": None}}, ValueError, r"keys \['a', 'b'\], got unknown keys \[\] and no \['b'\]"),
        (COINS, {"mask": {"a": None, "b": None, "c": None}}, ValueError, r"unknown keys \['c'\] and no \[\]"),
        (COINS, {"probability": [None]}, TypeError, "dict with an entry or None for each key"),
        (Text(3), {"mask": (4, None)}, ValueError, "between 1 and 3, got 4"),
        (Text(3), {"mask": (0.5, None)}, TypeError, "an integer or an array of integers, got 0.5"),
        (Text(3), {"mask": 3}, TypeError, "a tuple of a length and a mask of the characters"),
        (Text(3), {"mask": (None, np.zeros(62))}, ValueError, "the mask of characters must allow something"),
        (Text(3, charset="ab"), {"probability": (None, np.ones(2))}, ValueError, "sum to 1"),
        (Sequence(Discrete(2)), {"mask": (33, None)}, ValueError, "between 0 and 32, got 33"),
        (Sequence(Discrete(2)), {"mask": (-1, None)}, ValueError, "between 0 and 32, got -1"),
        (Sequence(Discrete(2)), {"mask": (np.array([[1]]), None)}, ValueError, r"got shape \(1, 1\)"),
        (Sequence(Discrete(2)), {"mask": 3}, TypeError, "a tuple of a length and a mask of the items"),
        (Sequence(Box(0, 1)), {"mask": (1, np.ones(1))}, ValueError, "neither mask nor probability"),
        (GRAPH, {"mask": 3}, TypeError, "a tuple of a mask of the nodes and one of the edges"),
        (GRAPH, {"num_nodes": 0}, ValueError, "between 1 and 2, got 0"),
        (GRAPH, {"num_edges": 3}, ValueError, "between 0 and 2, got 3"),
        (OneOf([Discrete(2)]), {"mask": ()}, ValueError, "each of the 1 spaces, got 0"),
    ],
)
def test_sampling(space, choice, error, message):
    with pytest.raises(error, match=message):
        space.sample(funcenv.key(0), **choice)


@pytest.mark.parametrize(
    "space", [Discrete(2**33, dtype=np.int64), Box(0, 2**33, (2,), np.int64), MultiDiscrete([2**33], dtype=np.int64)]
)
def test_sampling_64_bits_in_32(space):
    with jax.enable_x64(False), pytest.raises(ValueError, match="do not fit int32; turn 64-bit numbers on with jax"):
        space.sample(funcenv.key(0))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: flatten(Box(0, 1, (2,)), np.zeros(3)),
            ValueError,
            r"member of Box must have shape \(2,\), got \(3,\)",
        ),
        (lambda: unflatten(Box(0, 1, (2, 2)), np.zeros(3)), ValueError, r"flattened .* shape \(4,\), got \(3,\)"),
        (lambda: flatten(Discrete(3), np.zeros(2)), ValueError, r"shape \(\), got \(2,\)"),
        (lambda: unflatten(Discrete(3), np.zeros(2)), ValueError, r"shape \(3,\), got \(2,\)"),
        (lambda: unflatten(MultiDiscrete([3, 2]), np.zeros(3)), ValueError, r"shape \(5,\), got \(3,\)"),
        (lambda: flatten(Tuple([Discrete(2)]), (1, 1)), ValueError, "must have 1 entries, got 2"),
        (lambda: unflatten(Tuple([Discrete(2)]), np.zeros(3)), ValueError, r"shape \(2,\), got \(3,\)"),
        (lambda: flatten(COINS, {"a": 1}), ValueError, r"the keys \['a', 'b'\], got \['a'\]"),
        (lambda: flatdim(Tuple([Sequence(Discrete(2))])), ValueError, "it holds a Sequence or a Graph"),
        (lambda: flatdim(OneOf([Sequence(Discrete(2))])), ValueError, "it holds a Sequence or a Graph"),
        (lambda: flatten(Box(0, 1, (2,)), "red"), TypeError, "a member of Box must hold numbers, got 'red'"),
        (lambda: flatten(Discrete(3), 2**31), ValueError, "must fit int32, got 2147483648"),
        (lambda: flatten(COINS, 3), TypeError, "a member of Dict must be a dict, got 3"),
        (lambda: flatten(Tuple([Discrete(2)]), 3), TypeError, "a member of Tuple must be a tuple, got 3"),
        (lambda: Text(2).pack(3), TypeError, "a member of Text must be a string, got 3"),
        (lambda: Sequence(Discrete(2)).pack(3), TypeError, "must be a tuple of items, got 3"),
        (lambda: Sequence(Discrete(2)).pack(["a"]), TypeError, "must hold numbers, got 'a'"),
        (lambda: Text(2).pack("abc"), ValueError, "at most 2 characters, got 'abc'"),
        (lambda: Text(2, charset="ab").pack("c"), ValueError, "are 'ab', got 'c'"),
        (
            lambda: Sequence(Discrete(2), max_length=1).pack([0, 1]),
            ValueError,
            "at most 1 items, got 2; make the space",
        ),
        (lambda: Sequence(Discrete(2)).pack([np.float32(0.5)]), TypeError, "arrays of int32, got .*float32"),
        (lambda: Sequence(Box(0, 1, (2,))).pack([[0.5]]), ValueError, "structure|shape"),
        (lambda: Sequence(Box(0, 1, (2,))).pack([np.zeros(3)]), ValueError, r"arrays of shape \(2,\), got \(3,\)"),
        (lambda: Sequence(Discrete(2), stack=True).pack(3), ValueError, "share their first axis, got 3"),
        (lambda: GRAPH.pack("graph"), TypeError, "named tuple of nodes, edges and edge_links, got 'graph'"),
        (lambda: GRAPH.pack(PlainGraph(np.zeros(3, int), None, None)), ValueError, "at most 2 nodes, got 3"),
        (
            lambda: GRAPH.pack(PlainGraph(np.zeros(2, int), np.zeros(1, int), np.zeros((2, 2), int))),
            ValueError,
            r"edge_links must have shape \(1, 2\), a pair an edge, got \(2, 2\)",
        ),
        (lambda: OneOf([Discrete(2)]).pack((1, 0)), ValueError, "between 0 and 0, got 1"),
        (lambda: OneOf([Discrete(2)]).pack(3), TypeError, "a pair of an index and a value, got 3"),
    ],
)
def test_flattening_and_packing(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Box(0, 1), Discrete(2)),
        (Box(0, 1), Box(0, 1, (2,))),
        (Discrete(2), Discrete(2, dtype=np.int8)),
        (MultiDiscrete([2]), MultiDiscrete([2, 2])),
        (MultiBinary(2), MultiBinary(3)),
        (Tuple([Discrete(2)]), Tuple([])),
        (COINS, Dict(a=Discrete(2))),
        (Text(2), Text(3)),
        (Text(2, charset="ab"), Text(2, charset="ba")),
        (Sequence(Discrete(2)), Sequence(Discrete(2), stack=True)),
        (GRAPH, Graph(Discrete(2), None, max_nodes=2)),
        (GRAPH, Graph(Discrete(2), Discrete(2))),
        (OneOf([Discrete(2)]), OneOf([Discrete(2)] * 2)),
        (Batched(Text(2), 2), Batched(Text(2), 3)),
    ],
    ids=repr,
)
def test_unions_of_different_kinds(one, other):
    assert one != other
    with pytest.raises(TypeError, match="differ"):
        one.union(other)


def test_what_is_traced_is_not_refused():
    """Inside a compiled program no number is known: masks that allow nothing give the smallest member."""
    keys = iter(jax.random.split(funcenv.key(0), 4))
    assert jax.jit(Discrete(3, start=5).sample)(next(keys), mask=jnp.zeros(3)) == 5
    sample = jax.jit(lambda key, mask: Text(2, min_length=0).sample(key, mask=(None, mask)).length)
    assert sample(next(keys), jnp.zeros(62)) == 0
    sample = jax.jit(lambda key, length: Sequence(Discrete(2), max_length=4).sample(key, mask=(length, None)).length)
    assert sample(next(keys), 9) == 4


def test_a_mask_of_bools_needs_no_promotion():
    with jax.numpy_dtype_promotion("strict"):
        assert Discrete(3).sample(funcenv.key(0), mask=np.array([False, True, False])) == 1


@pytest.mark.parametrize("space", [Discrete(2), MultiBinary(2), Box(0, 1, ()), MultiDiscrete([2])], ids=repr)
def test_a_space_is_no_member(space):
    assert space not in space


def test_an_integer_of_any_size_is_a_member_of_a_box_of_floats_that_reaches_so_far():
    assert -(10**27) in Box(-np.inf, 2, ())
    assert 10**27 not in Box(-np.inf, 2, ())
    assert 10**27 not in Box(0, 2, (), np.int32)

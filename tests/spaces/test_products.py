"""What is special about `Tuple` and `Dict`: order, keys, and parts of different dtypes."""

from __future__ import annotations

from collections import OrderedDict

import gymnasium.spaces
import jax
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, Sequence, Tuple, batch_space, flatten_space

PARTS = {"b": Discrete(2), "a": Box(0, 1, (2,))}


def test_the_order_of_keys_is_gymnasiums():
    theirs = {"b": gymnasium.spaces.Discrete(2), "a": gymnasium.spaces.Box(0, 1, (2,))}
    for ours, reference in [
        (Dict(PARTS), gymnasium.spaces.Dict(theirs)),
        (Dict(PARTS, sort_keys=False), gymnasium.spaces.Dict(theirs, sort_keys=False)),
        (Dict(OrderedDict(PARTS)), gymnasium.spaces.Dict(OrderedDict(theirs))),
        (Dict(list(PARTS.items())), gymnasium.spaces.Dict(list(theirs.items()))),
        (Dict(**PARTS), gymnasium.spaces.Dict(**theirs)),
        (Dict({"c": PARTS["b"]}, **PARTS), gymnasium.spaces.Dict({"c": theirs["b"]}, **theirs)),
    ]:
        assert list(ours) == list(reference)
        assert repr(ours) == repr(reference)
        member = reference.sample()
        np.testing.assert_array_equal(ours.flatten(member), gymnasium.spaces.flatten(reference, member))


def test_the_order_of_a_members_keys_does_not_count():
    """JAX sorts them, so a member comes out of a transformation in another order."""
    space = Dict(OrderedDict(PARTS))
    member = space.sample(funcenv.key(0))
    assert list(member) == ["b", "a"]
    compiled = jax.jit(lambda member: member)(member)
    assert list(compiled) == ["a", "b"]
    assert compiled in space
    np.testing.assert_array_equal(space.flatten(compiled), space.flatten(member))


def test_spaces_in_another_order_flatten_differently_and_are_not_equal():
    assert Dict(OrderedDict(PARTS)) != Dict(PARTS)
    assert Dict(PARTS) == Dict(OrderedDict(sorted(PARTS.items())))


def test_dict_is_a_mapping_to_its_spaces():
    space = Dict(PARTS)
    assert space["b"] == Discrete(2)
    assert dict(space.items()) == PARTS
    assert "a" in space.keys()  # noqa: SIM118  (`in space` asks for membership)
    assert list(space.values()) == [PARTS["a"], PARTS["b"]]
    assert len(space) == 2
    assert space.get("c") is None
    with pytest.raises(KeyError):
        space["c"]


def test_tuple_is_a_sequence_of_its_spaces():
    space = Tuple(PARTS.values())
    assert space[0] == Discrete(2)
    assert list(space) == list(PARTS.values())
    assert len(space) == 2


def test_parts_are_drawn_independently(draws):
    members = draws(Tuple([Discrete(2)] * 2), 4000)
    assert abs(np.corrcoef(*members)[0, 1]) < 4 / np.sqrt(4000)


def test_masks_go_to_their_parts():
    mask = {"a": None, "b": np.array([0, 1])}
    assert Dict(PARTS).sample(funcenv.key(0), mask=mask)["b"] == 1
    probability = (np.array([0.0, 1.0]), None)
    assert Tuple(PARTS.values()).sample(funcenv.key(0), probability=probability)[0] == 1


def test_flat_parts_share_the_dtype_that_jax_promotes_to():
    for parts, dtype in [
        ([Discrete(2), Box(0, 1)], np.float32),
        ([MultiBinary(2), Discrete(2)], np.int32),
        ([Box(0, 1, dtype=bool), MultiBinary(2)], np.int8),
        ([Box(0, 255, (2,), np.uint8), MultiBinary(2)], np.int16),
        ([Box(0, 1, dtype=np.float64), Discrete(2)], np.float64),
    ]:
        flat = flatten_space(Tuple(parts))
        assert flat.dtype == dtype
        np.testing.assert_array_equal(flat.low, np.concatenate([part.flattened.low for part in parts]).astype(dtype))


def test_what_has_no_vector_keeps_its_structure():
    space = Dict(s=Sequence(Discrete(2)), d=Discrete(3))
    assert flatten_space(space) == Dict(s=Sequence(Box(0, 1, (2,), np.int32)), d=Box(0, 1, (3,), np.int32))
    flat = space.flatten({"s": (1, 0), "d": 2})
    assert flat["d"].tolist() == [0, 0, 1]
    assert flat["s"].items[:3].tolist() == [[0, 1], [1, 0], [0, 0]]
    assert space.unpack(space.unflatten(flat)) == {"s": (1, 0), "d": 2}


def test_unions_and_batches_go_part_by_part():
    one, other = Dict(a=Discrete(2), b=Box(0, 1)), Dict(a=Discrete(3), b=Box(-1, 0))
    assert one.union(other) == Dict(a=Discrete(3), b=Box(-1, 1))
    assert Tuple([Discrete(2)]).union(Tuple([Discrete(2, start=2)])) == Tuple([Discrete(4)])
    assert batch_space(Tuple([one]), 2) == Tuple([Dict(a=batch_space(Discrete(2), 2), b=Box(0, 1, (2, 1)))])

"""What is special about spaces of variable size: padding, plain forms, batches, capacities."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import (
    Batched,
    Box,
    Discrete,
    Graph,
    GraphInstance,
    MultiBinary,
    OneOf,
    OneOfInstance,
    PlainGraph,
    Sequence,
    SequenceInstance,
    Text,
    TextInstance,
    batch_space,
    flatdim,
)

GRAPH = Graph(Discrete(3), Box(0, 1), max_nodes=3, max_edges=2)


def graph(**changes):
    """Two nodes and an edge, in room for three and two; whatever stands beyond is no member."""
    parts = {
        "nodes": np.array([2, 0, 99], np.int32),
        "edges": np.array([[0.5], [7]], np.float32),
        "edge_links": np.array([[0, 1], [9, 9]], np.int32),
        "num_nodes": np.int32(2),
        "num_edges": np.int32(1),
    }
    return GraphInstance(**{**parts, **changes})


def test_what_stands_beyond_the_length_does_not_count():
    assert TextInstance(np.array([0, 1, 99], np.int32), np.int32(2)) in Text(3, charset="ab")
    assert SequenceInstance(np.array([0, 1, 99], np.int32), np.int32(2)) in Sequence(Discrete(2), max_length=3)
    assert graph() in GRAPH
    assert OneOfInstance(np.int32(0), (np.int32(1), np.float32(99))) in OneOf([Discrete(2), Box(0, 1)])


@pytest.mark.parametrize(
    ("space", "member"),
    [
        (Text(3, charset="ab"), TextInstance(np.array([0, 2, 2], np.int32), np.int32(2))),
        (Text(3, charset="ab"), TextInstance(np.array([0, -1, 2], np.int32), np.int32(2))),
        (Text(3, charset="ab"), TextInstance(np.zeros(3, np.int32), np.int32(0))),
        (Text(3, charset="ab"), TextInstance(np.zeros(3, np.int32), np.int32(4))),
        (Text(3, charset="ab"), TextInstance(np.zeros(2, np.int32), np.int32(1))),
        (Text(3, charset="ab"), TextInstance(np.zeros(3, np.float32), np.int32(1))),
        (Text(3, charset="ab"), TextInstance(np.zeros(3, np.int32), np.float32(1))),
        (Sequence(Discrete(2), max_length=3), SequenceInstance(np.array([0, 9, 0], np.int32), np.int32(2))),
        (Sequence(Discrete(2), max_length=3), SequenceInstance(np.zeros(3, np.int32), np.int32(4))),
        (Sequence(Discrete(2), max_length=3), SequenceInstance(np.zeros(3, np.int32), np.int32(-1))),
        (Sequence(Discrete(2), max_length=3), SequenceInstance(np.zeros(2, np.int32), np.int32(1))),
        (Sequence(Discrete(2), max_length=3), SequenceInstance(np.zeros(3, np.int32), np.float32(1))),
        (Sequence(Discrete(2), max_length=3), (0, 0, 0, 0)),
        (GRAPH, graph(num_nodes=np.int32(3))),
        (GRAPH, graph(num_nodes=np.int32(1))),
        (GRAPH, graph(num_nodes=np.int32(4))),
        (GRAPH, graph(num_nodes=np.float32(2))),
        (GRAPH, graph(num_edges=np.int32(2))),
        (GRAPH, graph(num_edges=np.int32(3))),
        (GRAPH, graph(edges=None, edge_links=None, num_edges=np.int32(0))),
        (GRAPH, graph(edge_links=np.zeros((1, 2), np.int32))),
        (GRAPH, graph(edge_links=np.array([[0, -1], [0, 0]], np.int32))),
        (GRAPH, graph(edge_links=np.array([[0, 2**32], [0, 0]]))),
        (GRAPH, graph(edge_links=np.zeros((2, 2), np.float32))),
        (GRAPH, PlainGraph(np.zeros(4, np.int32), None, None)),
        (GRAPH, PlainGraph(np.zeros(2, np.int32), np.zeros((1, 1), np.float32), None)),
        (Graph(Discrete(3), None), graph()),
        (OneOf([Discrete(2), Box(0, 1)]), OneOfInstance(np.int32(0), (np.int32(2), np.zeros(1, np.float32)))),
        (OneOf([Discrete(2), Box(0, 1)]), OneOfInstance(np.int32(2), (np.int32(0), np.zeros(1, np.float32)))),
        (OneOf([Discrete(2), Box(0, 1)]), OneOfInstance(np.int32(0), (np.int32(0),))),
        (OneOf([Discrete(2), Box(0, 1)]), OneOfInstance(np.float32(0), (np.int32(0), np.zeros(1, np.float32)))),
    ],
)
def test_no_members(space, member):
    assert member not in space
    traced = [leaf for leaf in jax.tree.leaves(member) if isinstance(leaf, np.ndarray) and leaf.dtype.itemsize > 4]
    assert traced or not jax.jit(space.contains)(member)


def test_masks_of_a_member():
    assert Sequence(Discrete(2), max_length=4).pack((1, 0)).mask.tolist() == [True, True, False, False]
    assert graph().node_mask.tolist() == [True, True, False]
    assert graph().edge_mask.tolist() == [True, False]
    assert Graph(Discrete(2), None).sample(funcenv.key(0)).edge_mask.tolist() == []


def test_plain_forms():
    text = Text(4, charset="ab", min_length=0)
    for word in ("", "a", "abba"):
        assert text.unpack(text.pack(word)) == word
    words = Sequence(text)
    assert words.unpack(words.pack(["a", "", "ab"])) == ("a", "", "ab")
    assert words.unpack(words.pack([])) == ()
    assert ("a", "c") not in words
    stacked = Sequence(Box(0, 1, (2,)), stack=True)
    np.testing.assert_array_equal(stacked.unpack(stacked.pack(np.ones((3, 2), np.float32))), np.ones((3, 2)))
    plain = GRAPH.unpack(graph())
    assert (plain.nodes.tolist(), plain.edges.tolist(), plain.edge_links.tolist()) == ([2, 0], [[0.5]], [[0, 1]])
    edgeless = PlainGraph(np.array([1]), None, None)
    assert GRAPH.unpack(GRAPH.pack(edgeless))[1:] == (None, None)
    choice = OneOf([text, Discrete(3)])
    assert choice.unpack(choice.pack((0, "ab"))) == (0, "ab")
    assert choice.unpack(choice.pack((1, 2))) == (1, 2)


def test_packing_inside_a_compiled_program():
    space = Sequence(Discrete(9), max_length=3)
    assert jax.jit(lambda a: space.pack((a, a + 1)))(4).items.tolist() == [4, 5, 0]


def test_batches_are_stacked_as_vmap_stacks_them():
    space = Text(3, charset="ab")
    members = jax.vmap(space.sample)(jax.random.split(funcenv.key(0), 5))
    batched = batch_space(space, 5)
    assert batched == Batched(space, 5)
    assert members in batched
    assert members not in Batched(space, 4)
    assert jax.tree.map(lambda leaf: leaf[0], members) not in batched
    assert batched.flattened == Box(0, 2, (15,), np.int32)
    assert flatdim(batched) == 15
    assert all(word in space for word in batched.unpack(members))
    assert batched.union(Batched(Text(3, charset="ab", min_length=0), 5)).space.min_length == 0
    mask = (2, np.array([0, 1]))
    assert set(batched.unpack(batched.sample(funcenv.key(1), mask=mask))) == {"bb"}
    assert batch_space(Sequence(Discrete(2)), 2).flattened == Batched(Sequence(Box(0, 1, (2,), np.int32)), 2)


def test_codes_of_characters():
    assert Text(3, charset="ba").character_list == ("b", "a")
    assert Text(3, charset={"b", "a"}).character_list == ("a", "b")
    assert Text(3, charset="aba").characters == "ab"
    assert Text(3, charset="ba").character_index("a") == 1
    assert Text(3, charset="ab") != Text(3, charset="ba")  # the codes of a member differ
    codes = Text(4, charset="ab").unflatten(np.array([2, 1, 2, 0]))
    assert (codes.codes.tolist(), int(codes.length)) == ([1, 0, 2, 2], 2)  # as Gymnasium reads it


def test_capacities_are_shown_where_they_are_not_the_default():
    assert repr(Sequence(Discrete(2), max_length=4)) == "Sequence(Discrete(2), stack=False, max_length=4)"
    assert repr(Graph(Discrete(2), None, max_nodes=4)) == "Graph(Discrete(2), None, max_nodes=4)"
    assert repr(Graph(Discrete(2), Discrete(3), max_edges=4)) == "Graph(Discrete(2), Discrete(3), max_edges=4)"


def test_unions():
    assert Text(3, min_length=2).union(Text(3, min_length=0)) == Text(3, min_length=0)
    assert Sequence(Discrete(2)).union(Sequence(Discrete(3))) == Sequence(Discrete(3))
    assert Graph(Discrete(2), None).union(Graph(Discrete(3), None)) == Graph(Discrete(3), None)
    edges = Graph(Discrete(2), Discrete(4)).union(Graph(Discrete(3), Discrete(2)))
    assert edges == Graph(Discrete(3), Discrete(4))
    assert OneOf([Discrete(2)]).union(OneOf([Discrete(3)])) == OneOf([Discrete(3)])


def test_the_index_of_one_of_many_narrow_spaces_fits_the_flat_dtype():
    """In Gymnasium's words: otherwise the index would silently overflow."""
    bools = OneOf([Box(0, 1, (2,), bool)] * 3)
    assert bools.flatten((2, np.array([True, False]))).tolist() == [2, 1, 0]
    bytes_ = OneOf([Box(0, 1, (1,), np.int8)] * 130)
    flat = bytes_.flatten((129, np.ones(1, np.int8)))
    assert flat.tolist() == [129, 1]
    assert bytes_.unpack(bytes_.unflatten(flat)) == (129, 1)


@pytest.mark.parametrize(
    ("space", "value", "error", "message"),
    [
        (MultiBinary(2), -2.7e76, ValueError, r"must have arrays of shape \(2,\), got \(\)"),
        (MultiBinary(2), np.array([1e76, 0]), TypeError, "must have arrays of int8, got .* of float64"),
        (Discrete(3), 2**40, ValueError, f"must fit int32, got .*{2**40}"),
    ],
)
def test_numbers_beyond_the_dtype_of_an_item_are_refused(space, value, error, message):
    with pytest.raises(error, match=message):
        OneOf([space]).flatten((0, value))
    with pytest.raises(error, match=message):
        Sequence(space).pack((value,))


def test_floats_beyond_single_precision_become_infinite_as_outside_of_a_product():
    box = Box(-np.inf, np.inf, (1,))
    assert OneOf([box]).flatten((0, np.array([1e76]))).tolist() == [0, *box.flatten([1e76]).tolist()] == [0, np.inf]


def test_gradients_pass_through_padding():
    """Zeros beyond the length are constants, not NaN."""
    space = Sequence(Box(-np.inf, np.inf, (1,)), max_length=3)

    def total(x):
        return jnp.sum(space.flatten(SequenceInstance(items=x * jnp.ones((3, 1)), length=jnp.int32(2))).items)

    assert jax.grad(total)(2.0) == 2

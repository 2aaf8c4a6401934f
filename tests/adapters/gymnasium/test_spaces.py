"""Conversion of spaces and members in both directions."""

import copy
import pickle
import string

import gymnasium.spaces as theirs
import jax
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space

import funcenv
from funcenv import spaces as ours
from funcenv.adapters.gymnasium.member_conversion import member_decoder, member_encoder
from funcenv.adapters.gymnasium.spaces import BoundedGraph, BoundedSequence, from_gymnasium, to_gymnasium

CHARACTERS = string.ascii_lowercase  # in some versions, Gymnasium's default has no fixed order


def all_spaces(spaces):
    """Return the same spaces of either library, each with its own default dtype."""
    return [
        spaces.Box(-1, 1, (2, 3)),
        spaces.Box(np.array([-np.inf, 0, -np.inf, -2], np.float32), np.array([np.inf, np.inf, 1, 3], np.float32)),
        spaces.Box(0, 255, (3, 2), np.uint8),
        spaces.Box(-np.inf, 5, (2,), np.int32),
        spaces.Box(-3, 70_000, (2,), np.int64),
        spaces.Box(-1, np.inf, (), np.int64),
        spaces.Box(0, 1, (3,), bool),
        spaces.Box(-1, 1, (2,), np.float64),
        spaces.Box(0, 1, (0,)),
        spaces.Discrete(5, start=-2),
        spaces.Discrete(5, dtype=np.int8),
        spaces.MultiDiscrete([[3, 1], [2, 70_000]], start=[[0, -4], [7, 0]]),
        spaces.MultiDiscrete([3, 2], dtype=np.uint8),
        spaces.MultiBinary(4),
        spaces.MultiBinary([2, 3]),
        spaces.Tuple([spaces.Discrete(2), spaces.Box(-1, 1, (2,))]),
        spaces.Dict(
            [("b", spaces.Discrete(2)), ("a", spaces.Tuple([spaces.Text(2, charset=CHARACTERS), spaces.Box(0, 1)]))]
        ),
        spaces.Dict({"b": spaces.Discrete(2), "a": spaces.MultiBinary(2)}),
        spaces.Text(5, charset=CHARACTERS),
        spaces.Text(4, min_length=0, charset="zab"),
        spaces.Sequence(spaces.Discrete(3, start=1)),
        spaces.Sequence(spaces.Box(0, 1, (2,)), stack=True),
        spaces.Sequence(spaces.Dict(x=spaces.Text(3, charset=CHARACTERS), y=spaces.Discrete(2))),
        spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3)),
        spaces.Graph(spaces.Discrete(3), None),
        spaces.OneOf([spaces.Discrete(3), spaces.Box(-2, 1, (2,)), spaces.MultiBinary(4)]),
        spaces.Tuple([spaces.Sequence(spaces.Discrete(2)), spaces.OneOf([spaces.Text(2, charset=CHARACTERS)])]),
    ]


PAIRS = list(zip(all_spaces(ours), all_spaces(theirs), strict=True))
ALL = pytest.mark.parametrize(("space", "reference"), PAIRS, ids=[repr(space).replace("\n", "") for space, _ in PAIRS])


@ALL
def test_the_same_space_comes_out_either_way(space, reference):
    assert to_gymnasium(space) == reference and from_gymnasium(reference) == space
    assert repr(to_gymnasium(space)) == repr(reference)
    assert from_gymnasium(to_gymnasium(space)) == space and to_gymnasium(from_gymnasium(reference)) == reference


@ALL
def test_open_sides_and_character_order_survive(space, reference):
    converted = to_gymnasium(space)
    for name in ("bounded_below", "bounded_above", "character_list", "dtype", "shape", "n", "start"):
        if hasattr(reference, name):
            np.testing.assert_array_equal(getattr(converted, name), getattr(reference, name))
    for one in (copy.deepcopy(converted), pickle.loads(pickle.dumps(converted))):
        assert from_gymnasium(one) == space


@ALL
def test_members_pass_from_either_side_to_the_other(space, reference):
    encode, decode = member_encoder(space), member_decoder(space)
    converted = to_gymnasium(space)
    converted.seed(0), reference.seed(0)
    shapes = jax.eval_shape(space.sample, funcenv.key(0))
    for _ in range(4):
        plain, same = converted.sample(), reference.sample()  # a converted space draws as the original
        jax.tree.map(np.testing.assert_array_equal, plain, same)
        member = encode(plain)
        assert member in space
        assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), member) == jax.tree.map(
            lambda leaf: (leaf.shape, leaf.dtype), shapes
        )
        assert_same(member, space.pack(plain))
        assert decode(member) in converted and decode(member) in reference
        assert type(decode(member)) is type(plain) or isinstance(plain, np.integer)
        assert_same(decode(member), plain)
        assert getattr(decode(member), "dtype", None) == getattr(plain, "dtype", None) or isinstance(plain, np.integer)


def assert_same(a, b):
    """Assert equality, up to float32 where JAX has no float64."""
    jax.tree.map(lambda x, y: x == y if isinstance(x, str) else np.testing.assert_allclose(x, y, 1e-6), a, b)


def test_capacities_go_along_and_bound_what_is_drawn():
    sequence = to_gymnasium(ours.Sequence(ours.Discrete(2), max_length=2))
    graph = to_gymnasium(ours.Graph(ours.Discrete(2), ours.Discrete(2), max_nodes=3, max_edges=1))
    assert type(sequence) is BoundedSequence and type(graph) is BoundedGraph
    sequence.seed(0), graph.seed(0)
    lengths = {len(sequence.sample()) for _ in range(30)}
    assert lengths == {1, 2} and len(sequence.sample(mask=(5, None))) == 2
    drawn = [graph.sample() for _ in range(30)]
    assert {len(one.nodes) for one in drawn} == {3}
    assert {0 if one.edges is None else len(one.edges) for one in drawn} == {0, 1}
    assert all(one in graph for one in drawn) and graph.sample(num_nodes=4, num_edges=0) not in graph
    assert (1, 0, 1) not in sequence and 3 not in sequence and 3 not in graph
    assert batch_space(sequence, 2).sample()


def test_capacities_can_be_given_where_gymnasium_has_none():
    nested = theirs.Dict(a=theirs.Sequence(theirs.Discrete(2)), b=theirs.Graph(theirs.Discrete(2), None))
    space = from_gymnasium(nested, max_length=3, max_nodes=2)
    assert (space["a"].max_length, space["b"].max_nodes, space["b"].max_edges) == (3, 2, 2)


def test_numbers_too_large_for_our_default_keep_their_dtype():
    wide = theirs.Discrete(2**40)
    assert from_gymnasium(wide).dtype == np.int64 and to_gymnasium(from_gymnasium(wide)) == wide
    many = theirs.MultiDiscrete([2, 2**40])
    assert from_gymnasium(many).dtype == np.int64 and to_gymnasium(from_gymnasium(many)) == many


def test_bounds_are_not_shared():
    space = ours.Box(-1, 1, (2,))
    to_gymnasium(space).low[0] = 9
    assert space.low[0] == -1


def test_a_batch_of_members_that_vary_in_size_is_a_tuple():
    batched = to_gymnasium(ours.batch_space(ours.Text(3, charset="ab"), 2))
    assert batched == batch_space(theirs.Text(3, charset="ab"), 2)
    space = ours.batch_space(ours.Text(3, charset="ab"), 2)
    member = member_encoder(space)(("ab", "b"))
    assert member_decoder(space)(member) == ("ab", "b")


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="at most 2"):
        member_encoder(ours.Sequence(ours.Discrete(3), max_length=2))((0, 1, 2))
    with pytest.raises(ValueError, match="characters"):
        member_encoder(ours.Text(3, charset="ab"))("abc")


class Odd(ours.Discrete):
    """A kind of space that is converted like its base class."""


class Strange(theirs.Space):
    """A kind of space without a conversion."""


def test_kinds_of_spaces_that_are_not_known():
    assert to_gymnasium(Odd(3)) == theirs.Discrete(3)
    with pytest.raises(TypeError, match="from_gymnasium.register"):
        from_gymnasium(Strange())
    with pytest.raises(TypeError, match="to_gymnasium.register"):
        to_gymnasium(theirs.Discrete(3))
    with pytest.raises(TypeError, match=r"outside of jax\.jit"):
        jax.jit(lambda high: to_gymnasium(ours.Box(0, high, (2,))) and high)(1.0)


def test_the_space_of_a_stateful_environment_converts_too():
    env = funcenv.adapters.FunctionalEnv(funcenv.make("CartPole-v1"))
    assert to_gymnasium(env.action_space) == theirs.Discrete(2)

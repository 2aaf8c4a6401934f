"""The space with a generator: the pure space in everything but its draws."""

import copy
import json
import pickle

import gymnasium
import jax
import numpy as np
import pytest
from scipy import stats

from funcenv import adapters, spaces
from funcenv.adapters import Space
from funcenv.adapters import spaces as stateful
from funcenv.adapters.engine.seeding import draw_key, np_random
from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.adapters.spaces.space import GeneratorSpace

KINDS = [
    spaces.Discrete(5, start=-1),
    spaces.Box(-1, 1, (3,)),
    spaces.Box(0, 255, (8, 8, 3), np.uint8),
    spaces.Box(0, 1, ()),
    spaces.MultiBinary(4),
    spaces.MultiDiscrete([2, 3]),
    spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(0, 1, (2,))),
    spaces.Tuple([spaces.Discrete(2), spaces.Text(5)]),
    spaces.Sequence(spaces.Discrete(3), max_length=4),
    spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(2), max_nodes=3, max_edges=3),
    spaces.OneOf([spaces.Discrete(2), spaces.Box(0, 1, (2,))]),
]


def same(a, b):
    return jax.tree.structure(a) == jax.tree.structure(b) and jax.tree.all(jax.tree.map(np.array_equal, a, b))


@pytest.mark.parametrize("pure", KINDS, ids=repr)
def test_it_is_the_pure_space_to_everyone_who_asks(pure):
    space = Space(pure)
    assert isinstance(space, Space) and isinstance(space, type(pure)) and isinstance(space, spaces.Space)
    assert space == pure and pure == space and hash(space) == hash(pure) and space == Space(pure)
    assert space != spaces.Discrete(77) and spaces.Discrete(77) != space
    assert repr(space) == repr(pure) and space.shape == pure.shape and space.dtype == pure.dtype


@pytest.mark.parametrize("pure", KINDS, ids=repr)
def test_members_are_in_the_space_fresh_and_reproducible(pure):
    space, twin = Space(pure, seed=3), Space(pure, seed=3)
    drawn = [space.sample() for _ in range(70)]  # more than a block
    assert all(member in space and space.contains(member) for member in drawn[:5] + drawn[-5:])
    assert all(same(member, twin.sample()) for member in drawn)
    assert not all(same(drawn[0], member) for member in drawn[1:])
    arrays = [leaf for member in drawn for leaf in jax.tree.leaves(member) if isinstance(leaf, np.ndarray)]
    assert all(array.flags.writeable for array in arrays)
    assert not any(np.shares_memory(a, b) for a, b in zip(arrays, arrays[1:], strict=False))
    assert space.seed(3) == 3 and same(space.sample(), drawn[0])


@pytest.mark.parametrize(
    ("pure", "theirs"),
    [
        (spaces.Discrete(3), gymnasium.spaces.Discrete(3)),
        (spaces.Box(-1, 1, (2,)), gymnasium.spaces.Box(-1, 1, (2,))),
        (spaces.MultiBinary(2), gymnasium.spaces.MultiBinary(2)),
        (spaces.Text(4), gymnasium.spaces.Text(4)),
        (spaces.Tuple([spaces.Discrete(2)]), gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)])),
        (spaces.Dict(a=spaces.Discrete(2)), gymnasium.spaces.Dict(a=gymnasium.spaces.Discrete(2))),
    ],
    ids=repr,
)
def test_members_are_members_of_gymnasiums_space(pure, theirs):
    member = Space(pure, seed=0).sample()
    assert member in theirs and theirs.sample() in Space(pure)
    assert jax.tree.structure(member) == jax.tree.structure(theirs.sample())


def test_draws_have_the_distribution_of_the_pure_space():
    space = Space(spaces.Discrete(5), seed=0)
    counts = np.bincount([space.sample() for _ in range(5000)], minlength=5)
    assert stats.chisquare(counts).pvalue > 0.01
    box = Space(spaces.Box(-1, 1, (2,)), seed=0)
    assert stats.kstest(np.ravel([box.sample() for _ in range(2000)]), stats.uniform(-1, 2).cdf).pvalue > 0.01


def test_a_block_is_drawn_as_documented():
    pure = spaces.Discrete(10)
    keys = jax.random.split(draw_key(np_random(7)[0]), 64)
    space = Space(pure, seed=7)
    assert sorted(int(space.sample()) for _ in range(64)) == sorted(int(pure.sample(key)) for key in keys)


def test_masks_and_probabilities_are_those_of_the_pure_space():
    space = Space(spaces.Discrete(4), seed=0)
    assert {int(space.sample(mask=np.array([0, 1, 0, 1], np.int8))) for _ in range(30)} == {1, 3}
    assert {int(space.sample(probability=np.array([0, 0, 1.0, 0]))) for _ in range(5)} == {2}
    with pytest.raises(ValueError, match="mask must allow something"):
        space.sample(mask=np.zeros(4, np.int8))
    with pytest.raises(ValueError, match="not both"):
        space.sample(mask=np.ones(4, np.int8), probability=np.full(4, 0.25))
    parts = Space(spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]))
    assert parts.sample(mask=(np.array([0, 0, 1], np.int8), None))[0] == 2


def test_the_generator_is_lazy_and_can_be_set_and_replayed():
    space = Space(spaces.Discrete(1000))
    assert space._np_random is None
    first = [int(space.sample()) for _ in range(5)]
    space.seed(space.np_random_seed)
    assert [int(space.sample()) for _ in range(5)] == first
    assert Space(spaces.Discrete(1000)).np_random_seed != space.np_random_seed
    space.np_random = np.random.default_rng(1)
    steered = [int(space.sample()) for _ in range(5)]
    assert space.np_random_seed == -1
    assert [int(member.sample()) for member in [Space(spaces.Discrete(1000), np.random.default_rng(1))]] == steered[:1]
    for bad, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="a seed must be"):
            space.seed(bad)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda space: pickle.loads(pickle.dumps(space))])
def test_a_copy_goes_on_as_the_original(copied):
    space = Space(spaces.Discrete(1000), seed=5)
    space.sample()
    other = copied(space)
    assert type(other) is GeneratorSpace and other == space
    if copied is not copy.copy:  # which shares the generator, as always
        assert [int(space.sample()) for _ in range(100)] == [int(other.sample()) for _ in range(100)]


def test_parts_are_spaces_that_draw_from_the_generator_of_the_whole():
    space = Space(spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(0, 1, (2,))), seed=0)
    assert list(space) == list(space.keys()) == ["a", "b"] and len(space) == 2 and "a" in space.spaces
    assert (
        type(space["b"]) is GeneratorSpace
        and space["b"].np_random is space.np_random
        and space["b"].sample() in space["b"]
    )
    assert dict(space.items()) == space.spaces and list(space.values()) == [spaces.Discrete(2), space["b"]]
    pair = Space(spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)]))
    assert [part.n for part in pair] == [2, 3] and pair[1].sample() in pair[1]
    with pytest.raises(TypeError, match="len"):
        len(Space(spaces.Discrete(2)))
    with pytest.raises(AttributeError, match="spaces"):
        _ = Space(spaces.Discrete(2)).spaces


def test_only_a_pure_space_makes_one():
    with pytest.raises(TypeError, match="made of a space of funcenv.spaces"):
        Space(gymnasium.spaces.Discrete(2))
    assert Space(Space(spaces.Discrete(2))).pure == spaces.Discrete(2)


def test_environments_have_such_spaces_and_copies_of_them_go_on():
    env = adapters.make("Pendulum-v1")
    assert type(env.action_space) is GeneratorSpace and isinstance(env.observation_space, spaces.Box)
    env.action_space.seed(0)
    env.action_space.sample()
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        np.testing.assert_array_equal(copy.deepcopy(env.action_space).sample(), other.action_space.sample())
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    env.step(env.action_space.sample())


def test_a_masked_taxi_takes_only_what_is_allowed():
    env = adapters.make("Taxi-v4")
    _, info = env.reset(seed=0)
    assert all(info["action_mask"][env.action_space.sample(mask=info["action_mask"])] for _ in range(20))


NESTED = {"a": stateful.Discrete(3), "b": stateful.Tuple([stateful.Box(-1, 1, (2,)), stateful.Text(4)])}
FEATURES = stateful.Box(-1.0, 1.0, (2,))
JSON = {
    "Box": FEATURES,
    "Discrete": stateful.Discrete(5, start=-2),
    "MultiDiscrete": stateful.MultiDiscrete([2, 3]),
    "MultiBinary": stateful.MultiBinary([2, 2]),
    "Dict": stateful.Dict(NESTED),
    "Tuple": stateful.Tuple(NESTED.values()),
    "Sequence": stateful.Sequence(stateful.Discrete(3)),
    "stacked": stateful.Sequence(FEATURES, stack=True),
    "Graph": stateful.Graph(FEATURES, stateful.Discrete(3)),
    "OneOf": stateful.OneOf([stateful.Discrete(2), FEATURES]),
}


@pytest.mark.parametrize("kind", JSON)
def test_members_in_json_are_gymnasiums(kind):
    space, theirs = JSON[kind], to_gymnasium(JSON[kind].pure)
    assert isinstance(space, getattr(stateful, kind.replace("stacked", "Sequence")))
    assert not isinstance(space.pure, stateful.Box)
    space.seed(0)
    members = [space.sample() for _ in range(4)]
    value = json.loads(json.dumps(space.to_jsonable(members)))
    if kind == "Graph":
        expected = theirs.to_jsonable([gymnasium.spaces.GraphInstance(*member) for member in members])
    elif kind == "stacked":  # Gymnasium's stacks have one length
        expected = [member.tolist() for member in members]
    else:
        expected = theirs.to_jsonable(members)
    assert value == json.loads(json.dumps(expected))
    restored = space.from_jsonable(value)
    assert jax.tree.structure(restored) == jax.tree.structure(members)
    jax.tree.map(np.testing.assert_array_equal, restored, members)
    assert all(member in space for member in restored)


COMPOSITE = {
    "OneOf": stateful.OneOf([stateful.Dict(NESTED), stateful.Tuple(NESTED.values()), stateful.Discrete(2)]),
    "OneOf in OneOf": stateful.OneOf([stateful.OneOf([stateful.Dict(NESTED), FEATURES]), stateful.Discrete(2)]),
    "stack of dicts": stateful.Sequence(stateful.Dict(a=stateful.Discrete(3), b=FEATURES), stack=True),
    "stack of tuples": stateful.Sequence(stateful.Tuple([stateful.Discrete(3), FEATURES]), stack=True),
}


@pytest.mark.parametrize("kind", COMPOSITE)
def test_composite_parts_come_back_from_json(kind):  # Gymnasium raises KeyError, or loses parts of a tuple
    space = COMPOSITE[kind]
    space.seed(0)
    members = [space.sample() for _ in range(12)]
    restored = space.from_jsonable(json.loads(json.dumps(space.to_jsonable(members))))
    assert jax.tree.structure(restored) == jax.tree.structure(members)
    jax.tree.map(np.testing.assert_array_equal, restored, members)
    assert all(member in space for member in restored)


def test_seeds_of_parts_and_sizes_of_graphs():
    space = stateful.Dict(NESTED)
    seeds = {"a": 3, "b": (4, 5)}
    assert space.seed(seeds) == seeds
    first = space.sample()
    space.seed({"a": 3, "b": [4, 6]})
    other = space.sample()
    space.seed(seeds)
    assert repr(space.sample()) == repr(first) != repr(other)
    for bad in ({"a": 3}, (1, 2, 3), {"a": 3, "c": 4}):
        with pytest.raises(ValueError, match="seeds"):
            space.seed(bad)
    graph = JSON["Graph"].sample(num_nodes=4, num_edges=2)
    assert len(graph.nodes) == 4 and len(graph.edges) == 2
    assert stateful.MultiDiscrete([2, 30])[1] == spaces.Discrete(30)
    assert stateful.MultiDiscrete([2, 30])[1].sample() in range(30)


def test_samples_have_the_dtype_of_their_space():
    for space in (
        stateful.Box(0.1, 0.3, (50,), np.float64),
        stateful.Dict(x=stateful.Box(0.1, 0.3, (50,), np.float64)),
    ):
        member = space.sample()
        array = member["x"] if isinstance(member, dict) else member
        assert array.dtype == np.float64 and member in space and array.min() < 0.15 and array.max() > 0.25


def test_a_pure_space_that_is_set_gets_a_generator():
    class Hand(adapters.Env):
        observation_space = spaces.Discrete(4)

        def __init__(self):
            self.action_space = spaces.Discrete(2)

    class Narrow(adapters.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.action_space = spaces.Discrete(1)

    env = Hand()
    assert env.action_space.sample() in (0, 1) and env.observation_space.sample() in range(4)
    assert Narrow(env).action_space.sample() == 0 and Narrow(env).observation_space == env.observation_space
    with pytest.raises(AttributeError, match="has no action_space; set self.action_space in __init__"):
        _ = adapters.Env().action_space


def test_a_choice_of_which_nothing_is_chosen_is_not_unflattened():
    from funcenv.adapters.spaces import Discrete, MultiDiscrete, Tuple, flatten, unflatten

    for space in Discrete(3), MultiDiscrete([2, 2]), Tuple([Discrete(2), Discrete(3)]):
        zeros = np.zeros_like(flatten(space, space.sample()))
        with pytest.raises(ValueError, match="must have a 1 for every choice, got array"):
            unflatten(space, zeros)
    assert unflatten(Discrete(3), np.array([0.0, 1.0, 0.0])) == 1


def test_a_tuple_has_the_methods_of_a_sequence():
    from funcenv.adapters.spaces import Discrete, Tuple

    space = Tuple([Discrete(5), Discrete(10), Discrete(5)])
    assert (space.count(Discrete(5)), space.count(Discrete(6))) == (2, 0)
    assert (space.index(Discrete(10)), space.index(Discrete(5), 1)) == (1, 2)
    with pytest.raises(ValueError, match="not in tuple"):
        space.index(Discrete(10), 0, 1)

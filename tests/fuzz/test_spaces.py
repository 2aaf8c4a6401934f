"""Spaces of any arguments: as Gymnasium's where both accept them, and refused in words where they make no sense."""

import json
import pickle
import warnings

import gymnasium.spaces as reference_spaces
import jax
import numpy as np
from hypothesis import strategies as st

import funcenv
from funcenv import adapters, spaces
from tests.fuzz.cases import cases
from tests.fuzz.oracle import REFUSED, Ledger
from tests.fuzz.values import keywords, mostly, odd

LEDGER = Ledger("spaces")

LOWS = st.one_of(st.integers(-3, 1), st.floats(-3, 1), st.sampled_from([-np.inf, [0, 1], [[0.5], [2]]]))
HIGHS = st.one_of(st.integers(1, 3), st.floats(1, 3), st.sampled_from([np.inf, [1, 1], [[0.5], [2]]]))
SHAPES = st.sampled_from([(), (1,), (2,), (2, 2), [3], (0,)])
DTYPES = st.sampled_from([np.float32, "float64", np.int8, np.int32, np.int64, "uint8", bool, float, int])
INTEGER_DTYPES = st.sampled_from([np.int8, "int32", np.int64, np.uint8])
COUNTS = st.lists(st.integers(1, 4), min_size=1, max_size=3)
PARTS = st.sampled_from([spaces.Discrete(3), spaces.Box(0, 1, (2,)), spaces.MultiBinary(2), spaces.Text(2)])

# The required and the optional parameters of each space, with valid values.
PARAMETERS = {
    "Box": ({"low": LOWS, "high": HIGHS}, {"shape": SHAPES, "dtype": DTYPES}),
    "Discrete": ({"n": st.integers(1, 9)}, {"start": st.integers(-9, 9), "dtype": INTEGER_DTYPES}),
    "MultiDiscrete": ({"nvec": COUNTS}, {"start": COUNTS, "dtype": INTEGER_DTYPES}),
    "MultiBinary": ({"n": st.one_of(st.integers(1, 4), st.lists(st.integers(1, 3), min_size=1, max_size=2))}, {}),
    "Text": (
        {"max_length": st.integers(1, 4)},
        {"min_length": st.integers(0, 2), "charset": st.text("ab", min_size=1)},
    ),
    "Tuple": ({"spaces": st.lists(mostly(PARTS), max_size=3)}, {}),
    "OneOf": ({"spaces": st.lists(mostly(PARTS), min_size=1, max_size=3)}, {}),
    "Dict": (
        {"spaces": st.dictionaries(st.sampled_from("abc"), mostly(PARTS), max_size=3)},
        {"sort_keys": st.booleans()},
    ),
    "Sequence": ({"space": PARTS}, {"max_length": st.integers(1, 4), "stack": st.booleans()}),
    "Graph": (
        {"node_space": PARTS, "edge_space": PARTS},
        {"max_nodes": st.integers(1, 3), "max_edges": st.integers(0, 3)},
    ),
}
IN_GYMNASIUM = ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Text")


@st.composite
def built(draw):
    """Draw the name and the arguments of a space."""
    name = draw(st.sampled_from(list(PARAMETERS)))
    return name, draw(keywords(*PARAMETERS[name]))


@cases(2400, built())
def test_a_space_is_refused_or_is_the_one_that_gymnasium_makes(case):
    name, arguments = case
    space = LEDGER.attempt(getattr(spaces, name), **arguments)
    if space is REFUSED:
        return
    assert space == getattr(spaces, name)(**arguments) and hash(space) == hash(pickle.loads(pickle.dumps(space)))
    assert pickle.loads(pickle.dumps(space)) == space
    if name in IN_GYMNASIUM and (reference := reference_of(name, arguments)) is not None:
        assert as_here(repr(reference)) == as_here(repr(space))


def reference_of(name, arguments):
    """Return Gymnasium's space of the same arguments, None where it refuses them."""
    try:
        with np.errstate(all="ignore"):
            return getattr(reference_spaces, name)(**arguments)
    except Exception:  # whatever Gymnasium raises, it makes no space
        return None


def as_here(text):
    """Return a printed space without the default dtypes of integers, which differ on purpose."""
    return text.replace(", dtype=int64", "").replace(", dtype=int32", "").replace("int64", "int32")


# Spaces with Gymnasium's; those of floats are compared by members of their own dtype.
PAIRS = [
    (spaces.Box(-1, 1, (2,)), reference_spaces.Box(-1, 1, (2,))),
    (spaces.Box(0, 255, (2, 2), np.uint8), reference_spaces.Box(0, 255, (2, 2), np.uint8)),
    (spaces.Box(-np.inf, 2, ()), reference_spaces.Box(-np.inf, 2, ())),
    (spaces.Discrete(3, start=-1), reference_spaces.Discrete(3, start=-1)),
    (spaces.MultiDiscrete([2, 3]), reference_spaces.MultiDiscrete([2, 3])),
    (spaces.MultiBinary([2, 2]), reference_spaces.MultiBinary([2, 2])),
    (spaces.Text(3, charset="ab"), reference_spaces.Text(3, charset="ab")),
    (
        spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1, (1,))]),
        reference_spaces.Tuple([reference_spaces.Discrete(2), reference_spaces.Box(0, 1, (1,))]),
    ),
    (
        spaces.Dict(a=spaces.Discrete(2), b=spaces.Text(2)),
        reference_spaces.Dict(a=reference_spaces.Discrete(2), b=reference_spaces.Text(2)),
    ),
    (spaces.Sequence(spaces.Discrete(2)), reference_spaces.Sequence(reference_spaces.Discrete(2))),
    (
        spaces.OneOf([spaces.Discrete(2), spaces.MultiBinary(2)]),
        reference_spaces.OneOf([reference_spaces.Discrete(2), reference_spaces.MultiBinary(2)]),
    ),
]


@st.composite
def candidates(draw):
    """Draw a pair of spaces and what may be a member of them: theirs, another's, a changed one, or an odd value."""
    pair = draw(st.sampled_from(PAIRS))
    _, source = draw(st.sampled_from([pair, pair, *PAIRS]))
    source.seed(draw(st.integers(0, 99)))
    member = source.sample()
    change = draw(st.sampled_from(["none", "none", "list", "longer", "dtype", "odd", "inside"]))
    if change == "odd":
        return pair, draw(odd())
    if isinstance(member, np.ndarray):
        changes = {"list": member.tolist(), "longer": np.append(member, member), "dtype": member.astype(np.float64)}
        return pair, changes.get(change, member)
    if isinstance(member, tuple):
        changes = {"list": list(member), "longer": (*member, 0), "inside": (*member[:-1], draw(odd()))}
        return pair, changes.get(change, member)
    if isinstance(member, dict):
        changes = {"longer": {**member, "c": 0}, "inside": {**member, "a": draw(odd())}, "list": [*member.items()]}
        return pair, changes.get(change, member)
    return pair, member


@cases(2400, candidates())
def test_a_value_is_a_member_where_it_is_one_for_gymnasium(case):
    (space, reference), x = case
    assert LEDGER.attempt(space.__contains__, x) == expected_membership(reference, x)


def expected_membership(reference, x):
    """Return whether Gymnasium's space holds a value; what it cannot examine and text that it reads are no members."""
    if "Box" in repr(reference) and any(isinstance(part, (str, bytes)) for part in jax.tree.leaves(x)):
        return False
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # Gymnasium says that it casts what is not an array
            return bool(x in reference)
    except Exception:  # values on which Gymnasium fails
        return False


BATCHABLE = [space for space, _ in PAIRS]


@cases(400, keywords({"space": st.sampled_from(BATCHABLE), "n": st.integers(1, 5)}))
def test_batches_hold_stacked_members(arguments):
    batch = LEDGER.attempt(spaces.batch_space, **arguments)
    if batch is REFUSED:
        return
    member = jax.eval_shape(batch.sample, funcenv.key(0))
    one = jax.eval_shape(arguments["space"].sample, funcenv.key(0))
    assert [leaf.shape for leaf in jax.tree.leaves(member)] == [
        (arguments["n"], *leaf.shape) for leaf in jax.tree.leaves(one)
    ]


@cases(600, candidates())
def test_members_are_flattened_as_by_gymnasium(case):
    (space, reference), x = case
    flat = LEDGER.attempt(spaces.flatten, space=space, x=x)
    if not expected_membership(reference, x):
        return
    assert flat is not REFUSED
    if reference.is_np_flattenable:
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(flat, reference_spaces.flatten(reference, x))


WEIGHTS = st.sampled_from(
    [None, np.ones(3, np.int8), np.array([0, 1, 0], np.int8), np.array([0.5, 0.5, 0]), np.array([True, False, True])]
)


@cases(400, keywords({}, {"mask": WEIGHTS, "probability": WEIGHTS}))
def test_a_mask_is_refused_or_obeyed(choice):
    space = spaces.Discrete(3, start=5)
    member = LEDGER.attempt(space.sample, funcenv.key(0), **choice)
    if member is not REFUSED:
        assert member in space
        given = [weights for weights in choice.values() if weights is not None]
        assert all(np.asarray(weights)[member - 5] > 0 for weights in given)


STATEFUL = [(adapters.Space(space), reference) for space, reference in PAIRS]


@cases(400, st.sampled_from(STATEFUL), st.integers(0, 99), st.integers(0, 3))
def test_members_in_json_are_gymnasiums_and_come_back(pair, seed, count):
    space, reference = pair
    reference.seed(seed)
    members = [reference.sample() for _ in range(count)]
    values = json.loads(json.dumps(space.to_jsonable(members)))
    if "OneOf" not in repr(space):  # Gymnasium's fails on parts that are composite
        assert values == json.loads(json.dumps(reference.to_jsonable(members)))
    for back, member in zip(space.from_jsonable(values), members, strict=True):
        jax.tree.map(np.testing.assert_array_equal, back, member)


@cases(200, st.sampled_from(STATEFUL), mostly(st.integers(0, 2**32)))
def test_a_seed_of_a_space_is_refused_or_returned(pair, seed):
    returned = LEDGER.attempt(pair[0].seed, seed=seed)
    assert returned is REFUSED or seed is None or returned == seed

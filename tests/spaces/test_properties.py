"""Properties of spaces, bounds, masks and keys that nobody picked by hand."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import funcenv
from funcenv.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Text,
    Tuple,
    batch_space,
)

PROFILE = settings(max_examples=100, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
BOUNDS = st.floats(width=32, allow_nan=False)
INTEGERS = st.integers(-(2**31), 2**31 - 1)


def leaves():
    """Spaces that hold no others."""
    return st.one_of(
        st.builds(Box, st.floats(-9, 0), st.sampled_from([0.5, np.inf]), st.sampled_from([(), (2,)])),
        st.builds(lambda high: Box(0, high, (2,), np.uint8), st.integers(0, 255)),
        st.builds(Discrete, st.integers(1, 9), st.integers(-9, 9)),
        st.builds(MultiDiscrete, st.lists(st.integers(1, 4), min_size=1, max_size=3)),
        st.builds(MultiBinary, st.integers(1, 3)),
        st.builds(lambda n: Text(n, min_length=0), st.integers(1, 3)),
    )


def composites(children):
    return st.one_of(
        st.builds(Tuple, st.lists(children, max_size=2)),
        st.builds(Dict, st.dictionaries(st.sampled_from("abc"), children, max_size=2)),
        st.builds(Sequence, children, st.integers(1, 3)),
        st.builds(functools.partial(Graph, max_nodes=3), leaves(), st.one_of(st.none(), leaves())),
        st.builds(OneOf, st.lists(leaves(), min_size=1, max_size=2)),
    )


@settings(PROFILE, max_examples=15)
@given(st.recursive(leaves(), composites, max_leaves=4), SEEDS)
@pytest.mark.dear
def test_nested_spaces(space, seed):
    """Members of any nesting are drawn inside, flatten, and come back bit by bit, one by one and stacked."""

    @jax.jit
    def program(keys):
        members = jax.vmap(space.sample)(keys)
        flats = jax.vmap(space.flatten)(members)
        inside = jax.vmap(space.contains)(members), jax.vmap(space.flattened.contains)(flats)
        return members, jax.vmap(space.unflatten)(flats), inside, batch_space(space, 3).contains(members)

    if not jax.tree.leaves(jax.eval_shape(space.sample, funcenv.key(0))):
        return  # an empty product has nothing to stack
    members, back, inside, together = program(jax.random.split(funcenv.key(seed), 3))
    assert all(flag.all() for flag in inside)
    assert together
    assert jax.tree.structure(back) == jax.tree.structure(members)
    jax.tree.map(np.testing.assert_array_equal, back, members)
    member = jax.tree.map(lambda leaf: leaf[0], jax.device_get(members))
    assert member in space
    assert space.unpack(member) in space


@jax.jit
def box_draws(low, high, seed):
    space = Box(low, high, (8,))
    return space.sample(jax.random.key(seed)), space.contains(space.sample(jax.random.key(seed + 1)))


@PROFILE
@given(BOUNDS, BOUNDS, SEEDS)
def test_boxes_of_floats(one, other, seed):
    low, high = min(one, other), max(one, other)
    values, inside = box_draws(low, high, np.uint32(seed))
    assert inside
    assert ((values >= low) & (values <= high)).all()
    if low < high:  # a box of one point may be infinitely far away
        assert np.isfinite(values).all()


@jax.jit
def integer_draws(low, high, seed):
    space = Box(low, high, (8,), np.int32)
    return space.sample(jax.random.key(seed)), space.contains(space.sample(jax.random.key(seed + 1)))


@PROFILE
@given(INTEGERS, INTEGERS, SEEDS)
def test_boxes_of_integers(one, other, seed):
    low, high = min(one, other), max(one, other)
    values, inside = integer_draws(np.int32(low), np.int32(high), np.uint32(seed))
    assert inside
    assert all(low <= value <= high for value in np.asarray(values).tolist())


@jax.jit
def masked_draws(mask, seed):
    one, two, three = jax.random.split(jax.random.key(seed), 3)
    discrete = Discrete(6, start=-2).sample(one, mask=mask)
    pair = MultiDiscrete([6, 2]).sample(two, mask=(mask, None))
    return discrete + 2, pair[0], Text(1, charset="abcdef").sample(three, mask=(None, mask)).codes[0]


@PROFILE
@given(npst.arrays(np.int8, 6, elements=st.integers(0, 1)), SEEDS)
def test_masks(mask, seed):
    """What a mask forbids is never drawn; where it forbids everything, the smallest is."""
    for index in masked_draws(mask, np.uint32(seed)):
        assert mask[index] if mask.any() else index == 0


@jax.jit
def weighted_draws(probability, seed):
    one, two = jax.random.split(jax.random.key(seed))
    discrete = Discrete(6, start=-2).sample(one, probability=probability)
    pair = MultiDiscrete([6, 2]).sample(two, probability=(probability, jnp.array([0.0, 1.0])))
    return discrete + 2, pair[0], pair[1]


@PROFILE
@given(npst.arrays(float, 6, elements=st.sampled_from([0, 0, 1e-7, 0.3, 1])).filter(lambda p: p.any()), SEEDS)
def test_probabilities(weights, seed):
    """What has probability 0 is never drawn."""
    one, two, three = weighted_draws((weights / weights.sum()).astype(np.float32), np.uint32(seed))
    assert weights[one] > 0
    assert weights[two] > 0
    assert three == 1

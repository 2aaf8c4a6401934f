"""What holds for every space, alone, compiled and in batches."""

from __future__ import annotations

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Batched, Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple, batch_space


def test_samples_are_members_and_flatten_round_trips(space, same):
    """In one compiled program, for a member, for a batch made by `jax.vmap`, and for one drawn as a batch."""
    batched = batch_space(space, 4)

    @jax.jit
    def program(keys, batch_key):
        members = jax.vmap(space.sample)(keys)
        flats = jax.vmap(space.flatten)(members)
        batch = batched.sample(batch_key)
        inside = (
            jax.vmap(space.contains)(members),
            jax.vmap(space.flattened.contains)(flats),
            batched.contains(members),
            batched.contains(batch),
            batched.flattened.contains(batched.flatten(members)),
        )
        round_trips = jax.vmap(space.unflatten)(flats), batched.unflatten(batched.flatten(members))
        return members, flats, batch, inside, round_trips

    batch_key, members_key = jax.random.split(funcenv.key(0))
    members, flats, batch, inside, round_trips = program(jax.random.split(members_key, 4), batch_key)
    assert all(flag.all() and flag.dtype == bool for flag in inside)
    for back in round_trips:
        same(back, members)
    assert jax.tree.map(jnp.shape, batch) == jax.tree.map(jnp.shape, members)
    if space.is_np_flattenable:
        assert flats.shape == (4, *space.flattened.shape)
        assert flats.dtype == space.flattened.dtype
    if space.shape is not None:
        assert (members.shape[1:], members.dtype) == (space.shape, space.dtype)


def test_plain_form_round_trips(space, same, draws):
    member = jax.tree.map(lambda leaf: leaf[0], draws(space, 2))
    assert space.contains(member)
    plain = space.unpack(member)
    assert space.contains(plain)
    same(jax.device_get(space.pack(plain)), member)
    assert space.pack(member) is member or space.pack(member) == member


@pytest.mark.parametrize(
    "space",
    [
        Box([-np.inf, 0, -1], [np.inf, np.inf, 1]),
        MultiDiscrete([3, 2], start=[1, -1]),
        Dict(b=Discrete(2), a=MultiBinary(3)),
        Text(3, min_length=0),
    ],
    ids=repr,
)
def test_eager_agrees_with_compiled(space):
    member = space.sample(funcenv.key(3))
    assert space.contains(member)
    compiled = jax.jit(space.sample)(funcenv.key(3))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-6), member, compiled)


def test_is_a_value(space):
    twin = copy.deepcopy(space)
    assert twin == space
    assert hash(twin) == hash(space)
    assert pickle.loads(pickle.dumps(space)) == space
    assert space.union(space) == space
    assert space != Discrete(12345)
    assert space != "a space"
    assert batch_space(space, 2) == batch_space(twin, 2)
    assert hash(batch_space(space, 2)) == hash(batch_space(twin, 2))


def test_is_a_static_argument_of_jit(space):
    count = 0

    def sample(space, key):
        nonlocal count
        count += 1
        return space.sample(key)

    compiled = jax.jit(sample, static_argnums=0)
    compiled.eval_shape(space, funcenv.key(0))
    compiled.eval_shape(copy.deepcopy(space), funcenv.key(0))
    assert count == 1


def test_holds_no_strangers(space):
    strangers = [None, "é", object(), ("3",), {}, [[1], [1, 2]], 10**30, np.array(["a"]), 0.5, funcenv.key(0)]
    for stranger in strangers:
        flag = space.contains(stranger)
        assert flag.dtype == bool
        assert not flag
        assert stranger not in space


def test_empty_products_have_one_member():
    space = Tuple([])
    assert space.sample(funcenv.key(0)) == ()
    assert space.contains(())
    assert space.flattened == Box(0, 0, (0,))
    assert space.unflatten(space.flatten(())) == ()
    assert Batched(space, 3).contains(())

"""What holds for every space, alone, compiled and in batches, in 32 and in 64 bits."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.spaces import Batched, Box, Discrete, Tuple, batch_space


@pytest.mark.parametrize("x64", [False, True])
def test_samples_are_members_and_flatten_round_trips(space, same, x64):
    with jax.enable_x64(x64):
        keys = jax.random.split(jax.random.key(0), 8)

        def laws(key):
            member = space.sample(key)
            flat = space.flatten(member)
            return (member, flat, space.unflatten(flat)), (space.contains(member), space.flattened.contains(flat))

        (members, flats, back), flags = jax.jit(jax.vmap(laws))(keys)
        assert all(flag.all() and flag.dtype == bool for flag in flags)
        same(back, members)
        if space.is_np_flattenable:
            assert flats.shape == (8, *space.flattened.shape)
            assert flats.dtype == space.flattened.dtype
        if space.shape is not None:
            assert (members.shape[1:], members.dtype) == (space.shape, space.dtype)

        batched = batch_space(space, 8)
        assert batched.contains(members)
        same(batched.unflatten(batched.flatten(members)), members)
        assert batched.flattened.contains(batched.flatten(members))
        again = batched.sample(jax.random.key(1))
        assert batched.contains(again)
        assert jax.tree.map(jnp.shape, again) == jax.tree.map(jnp.shape, members)


def test_eager_agrees_with_compiled_and_plain_form_round_trips(space, same):
    member = space.sample(jax.random.key(3))
    assert space.contains(member)
    compiled = jax.jit(space.sample)(jax.random.key(3))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-6), member, compiled)
    plain = space.unpack(member)
    assert space.contains(plain)
    same(jax.device_get(space.pack(plain)), jax.device_get(member))
    same(space.pack(member), member)


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
    compiled(space, jax.random.key(0))
    compiled(copy.deepcopy(space), jax.random.key(1))
    assert count == 1


@pytest.mark.parametrize("stranger", [None, "é", object(), (), {}, [[1], [1, 2]], 10**30, np.array(["a"]), 0.5])
def test_holds_no_strangers(space, stranger):
    flag = space.contains(stranger)
    assert flag.dtype == bool
    assert not flag
    assert stranger not in space


def test_a_random_key_is_no_member(space):
    assert not space.contains(jax.random.key(0))


def test_empty_products_have_one_member(same):
    space = Tuple([])
    assert space.sample(jax.random.key(0)) == ()
    assert space.contains(())
    assert space.flattened == Box(0, 0, (0,))
    assert space.unflatten(space.flatten(())) == ()
    assert Batched(space, 3).contains(())


def test_import_is_light():
    """Nothing but NumPy, JAX and jaxtyping, and no backend is started."""
    code = (
        "import sys, funcenv.spaces\n"
        "assert not {'flax', 'chex', 'optax', 'gymnasium', 'scipy.stats'} & set(sys.modules)\n"
        "from jax.extend import backend\n"
        "assert not sys.modules['jax._src.xla_bridge']._backends\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

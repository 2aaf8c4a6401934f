"""Seeds become keys; no two seeds share one; keys know their generator's name."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.envs import CartPole
from funcenv.random import default_impl, find_impl, impl_name, words_in_key
from funcenv.rollout import random_policy, rollout
from funcenv.train.runs import checkpoint
from tests.support.jax_features import OTHER_GENERATOR, PICKLES_KEYS


def words(key):
    return np.asarray(jax.random.key_data(key)).tolist()


def test_small_seeds_give_the_keys_that_jax_gives():
    assert words(funcenv.key(7)) == words(jax.random.key(7, impl=default_impl())) == [0, 7]
    assert funcenv.key(7, "threefry2x32") == jax.random.key(7, impl="threefry2x32")


@pytest.mark.parametrize("impl", [None, "threefry", OTHER_GENERATOR])
def test_seeds_of_any_size_differ(impl):
    seeds = [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**64, 2**64 + 1, 10**40, np.int64(5), np.uint64(2**63)]
    assert len({tuple(words(funcenv.key(seed, impl))) for seed in seeds}) == len(seeds)


def test_the_default_generator_is_threefry_and_has_64_bit_keys():
    assert impl_name(funcenv.key(0)) == "threefry"
    assert words_in_key(default_impl()) * 32 == 64


@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), (1.5, TypeError), ("1", TypeError), (None, TypeError)])
def test_bad_seeds(seed, error):
    with pytest.raises(error, match="a seed must be"):
        funcenv.key(seed)


def test_an_unknown_generator_is_named_with_those_that_are_known():
    with pytest.raises(ValueError, match=f'\'fast\'.*"threefry".*"{OTHER_GENERATOR}"'):
        funcenv.key(0, "fast")


def test_a_default_that_the_user_chose_is_kept():
    with jax.default_prng_impl("rbg"):
        assert default_impl() == "rbg"


@pytest.mark.parametrize("name", ["threefry", "threefry2x32", "rbg"])
def test_a_name_leads_to_the_generator_and_back(name):
    key = funcenv.key(3, name)
    assert impl_name(key) == impl_name(jax.random.split(key)) == name
    again = jax.random.wrap_key_data(jax.random.key_data(key), impl=find_impl(name))
    assert again.dtype == key.dtype and again == key


@pytest.mark.parametrize("name", ["threefry", OTHER_GENERATOR])
def test_generators_and_their_keys_travel(name):
    assert pickle.loads(pickle.dumps(find_impl(name))) == find_impl(name)
    key = funcenv.key(3, name)
    assert not PICKLES_KEYS or pickle.loads(pickle.dumps(key)) == key


@pytest.mark.parametrize("name", ["threefry", OTHER_GENERATOR])
def test_keys_survive_a_checkpoint(name, tmp_path):
    state = {"key": jax.random.split(funcenv.key(3, name), 4), "number": jnp.ones(3)}
    checkpoint.save(tmp_path, 1, state)
    restored, messages = checkpoint.restore_latest(tmp_path, jax.eval_shape(lambda: state), name)
    assert messages == [] and (restored["key"] == state["key"]).all()


def test_a_pickled_vector_environment_lives_on():
    one = FunctionalVectorEnv(CartPole(), 3)
    one.reset(seed=5)
    other = pickle.loads(pickle.dumps(one))
    actions = np.array([0, 1, 0])
    np.testing.assert_array_equal(one.step(actions)[0], other.step(actions)[0])
    assert impl_name(other.state.key) == "threefry"


@pytest.mark.parametrize("name", ["threefry", OTHER_GENERATOR])
def test_rollouts_reuse_no_key(name):
    env = funcenv.make("CartPole-v1")
    with jax.debug_key_reuse(True):
        _, _, statistics = rollout(FuncVectorEnv(env, 4), random_policy(env), funcenv.key(0, name), 200)
    assert 10 < statistics.mean_length < 50  # a random policy's


def test_threefry_rolls_out_the_lives_of_jax_keys():
    env = funcenv.make("CartPole-v1")
    venv, policy = FuncVectorEnv(env, 4), random_policy(env)
    ours, theirs = (rollout(venv, policy, key, 60)[1] for key in (funcenv.key(9), jax.random.key(9)))
    np.testing.assert_array_equal(ours.action, theirs.action)
    np.testing.assert_array_equal(ours.timestep.done, theirs.timestep.done)
    np.testing.assert_allclose(ours.timestep.observation, theirs.timestep.observation, rtol=1e-4, atol=1e-5)

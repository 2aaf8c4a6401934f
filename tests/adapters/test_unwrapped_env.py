"""The environment inside all wrappers: the same state and parameters, without what the wrappers do."""

import copy
import pickle

import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.adapters import FunctionalEnv, UnwrappedEnv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import FrameStackObservation, RescaleAction, TimeLimit

LIMITED = TimeLimit(CartPole(), max_episode_steps=3)


@pytest.fixture
def env():
    env = FunctionalEnv(LIMITED)
    env.reset(seed=0)
    return env


def test_it_is_one_object_inside_all_wrappers(env):
    assert isinstance(env.unwrapped, UnwrappedEnv) and env.unwrapped is env.unwrapped is env.unwrapped.unwrapped
    assert env.unwrapped.func_env == CartPole() and str(env.unwrapped) == "<CartPole>"
    assert str(adapters.make("CartPole-v1").unwrapped) == "<CartPole<CartPole-v1>>"
    bare = FunctionalEnv(CartPole())
    assert bare.unwrapped is bare


def test_no_time_limit_ends_its_episodes():
    inner = adapters.make("MountainCar-v0").unwrapped
    inner.reset(seed=0)
    assert not any(inner.step(1)[3] for _ in range(205))


def test_both_have_the_same_episode(env):
    twin = FunctionalEnv(CartPole())
    np.testing.assert_allclose(env.unwrapped.reset(seed=4)[0], twin.reset(seed=4)[0], rtol=1e-6)
    truncations = []
    for face in (env, env.unwrapped, env.unwrapped, env, env.unwrapped, env):
        observation, reward, terminated, truncated, _ = face.step(1)
        expected = twin.step(1)
        np.testing.assert_allclose(observation, expected[0], rtol=1e-5, atol=1e-6)
        assert (reward, terminated) == expected[1:3]
        truncations.append(truncated)
    assert truncations == [False, False, False, False, False, True]  # the limit counts the steps that it sees
    with pytest.raises(adapters.ResetNeeded):
        env.step(0)
    assert env.unwrapped.step(0)[3] is False


def test_parameters_and_states_are_shared(env):
    inner = env.unwrapped
    inner.gravity = 1.6
    assert env.gravity == inner.gravity == inner.func_env.gravity == env.func_env.unwrapped.gravity == 1.6
    inner.state = [0.0, 0.0, 0.1, 0.0]
    np.testing.assert_allclose(np.asarray(env.state), np.asarray(inner.state))
    inner.label = "mine"
    assert env.label == inner.label == "mine" and inner.get_wrapper_attr("length") == 0.5
    generator = np.random.default_rng(0)
    inner.np_random = generator
    assert env.np_random is inner.np_random is generator and inner.np_random_seed == -1
    with inner:
        pass
    assert env.closed and inner.closed
    with pytest.raises(adapters.ClosedEnvironment):
        inner.step(0)


def test_its_spaces_are_those_of_the_inside():
    env = FunctionalEnv(RescaleAction(FrameStackObservation(Pendulum(), 2), -1.0, 1.0))
    inner = env.unwrapped
    env.reset(seed=0)
    assert (env.action_space.high, inner.action_space.high) == ([1.0], [2.0])
    inner.action_space.seed(0)
    first = env.unwrapped.action_space.sample()
    inner.action_space.seed(0)
    assert first == inner.action_space.sample()
    assert inner.step([1.9])[0] in inner.observation_space and env.step([0.9])[0].shape == (2, 3)
    assert inner.reset()[0].shape == (3,) and inner.reward_range == Pendulum().reward_range


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_identically(env, duplicate):
    inner = env.unwrapped
    inner.step(0)
    for twin in (duplicate(inner), duplicate(env).unwrapped):
        np.testing.assert_allclose(twin.step(1)[0], copy.deepcopy(inner).step(1)[0], rtol=1e-6)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_keeps_the_frames_that_were_not_drawn_yet(dot, duplicate):
    env = FunctionalEnv(TimeLimit(dot(), 9), "rgb_array_list", render_width=30)
    env.reset(seed=0)
    twin = duplicate(env)
    for one in (env, twin):
        one.step(1)
    np.testing.assert_array_equal(twin.render(), env.render())


def test_a_table_is_found_there():
    env = funcenv.adapters.make("FrozenLake-v1", is_slippery=False)
    env.reset(seed=0)
    assert env.unwrapped.P is env.P and env.unwrapped.s == 0
    env.unwrapped.s = 14
    assert env.step(2)[:3] == (15, 1.0, True)


def test_the_checkers_accept_it():
    adapters.check_env(adapters.make("MountainCarContinuous-v0").unwrapped)

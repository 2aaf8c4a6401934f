"""Repeated actions against Gymnasium's: rewards add up, and repeats stop at the end of an episode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import EpisodeStatistics, RepeatAction
from tests.support.tiny_envs import Counter

TORQUES = np.random.default_rng(0).uniform(-2, 2, (15, 1)).astype(np.float32)


@pytest.mark.parametrize("num_repeats", [1, 4])
def test_as_gymnasium(compare_alike, num_repeats):
    compare_alike("Pendulum", lambda wrappers, env: wrappers.RepeatAction(env, num_repeats), TORQUES)


@pytest.mark.parametrize("seed", range(3))
def test_a_fall_between_repeats_as_gymnasium(compare_alike, seed):
    steps = compare_alike("CartPole", lambda wrappers, env: wrappers.RepeatAction(env, 4), np.ones(10, int), seed=seed)
    assert steps < 10  # it fell


def test_a_time_limit_between_repeats_as_gymnasium(compare_alike):
    steps = compare_alike(
        "Pendulum", lambda wrappers, env: wrappers.RepeatAction(wrappers.TimeLimit(env, 10), 4), TORQUES
    )
    assert steps == 3


def test_a_time_limit_outside_counts_the_actions_as_gymnasium(compare_alike):
    steps = compare_alike(
        "Pendulum", lambda wrappers, env: wrappers.TimeLimit(wrappers.RepeatAction(env, 4), 10), TORQUES
    )
    assert steps == 10


def test_reward_info_and_state_of_a_cut_series():
    env = RepeatAction(Counter(goal=5), 4)
    state, timestep = env.reset(funcenv.key(0))
    assert timestep.info == {"came_from": 0, "action": 0, "number": 0}
    state, timestep = env.step(state, 2, funcenv.key(1))  # 2, 4, 6: the third ends it
    assert timestep.reward == 2 + 4 + 6
    assert timestep.terminated
    assert timestep.info == {"came_from": 4, "action": 2, "number": 6}
    state, timestep = env.step(state, 2, funcenv.key(2))  # after the end: one plain step
    assert timestep.reward == 8
    assert timestep.terminated


def test_the_repeats_live_with_the_keys_that_it_says():
    class Drift(Counter):
        def transition(self, state, action, key):
            return state + action * jax.random.randint(key, (), 0, 100)

    env, plain, key = RepeatAction(Drift(goal=10_000), 3), Drift(goal=10_000), funcenv.key(7)
    state, _ = env.reset(funcenv.key(0))
    number = state.env_state
    state, timestep = env.step(state, 1, key)
    total = 0.0
    passed = jax.random.split(key)[0]
    for repeat in range(3):
        drawn = jax.random.fold_in(env.extra_key(passed), repeat) if repeat else passed
        number = plain.transition(number, 1, drawn)
        total += plain.reward(number, 1, number)
    assert state.env_state == number
    assert timestep.reward == total


def test_statistics_inside_and_outside():
    inside, outside = RepeatAction(EpisodeStatistics(Counter()), 3), EpisodeStatistics(RepeatAction(Counter(), 3))
    for env, length in ((inside, 3), (outside, 1)):
        state, _ = env.reset(funcenv.key(0))
        _, timestep = env.step(state, 1, funcenv.key(1))
        assert timestep.info["episode_length"] == length
        assert timestep.info["episode_return"] == 6


def test_gradients_flow_through_the_repeats():
    def reward(mass):
        env = RepeatAction(Pendulum(m=mass), 3)
        state, _ = env.reset(funcenv.key(0))
        return env.step(state, jnp.array([1.0]), funcenv.key(1))[1].reward

    slope = (reward(1.01) - reward(0.99)) / 0.02
    assert jax.grad(reward)(1.0) == pytest.approx(float(slope), rel=1e-2)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"num_repeats must be at least 1, got 0"):
        RepeatAction(CartPole(), 0)
    with pytest.raises(TypeError, match=r"num_repeats must be an integer, got 2.5"):
        RepeatAction(CartPole(), 2.5)


def test_time_passes_as_fast_as_without_repeats():
    assert RepeatAction(CartPole(), 4).render_fps == CartPole().render_fps / 4

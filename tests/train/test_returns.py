"""Targets agree with loops that follow each episode, and with each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.train.updates.advantages import generalized_advantages
from funcenv.train.updates.returns import lambda_returns, n_step_return

GAMMA = 0.9


@pytest.fixture(scope="module")
def steps():
    """Return reward, value before and after, terminated and done of 40 steps in 7 environments."""
    rng = np.random.default_rng(0)
    reward, value, next_value = rng.normal(size=(3, 40, 7)).astype(np.float32)
    terminated = rng.random((40, 7)) < 0.15
    return reward, value, next_value, terminated, terminated | (rng.random((40, 7)) < 0.15)


@pytest.mark.parametrize("num_steps", [1, 2, 5])
def test_n_step_returns_follow_an_episode_to_its_end(steps, num_steps):
    reward, _, _, terminated, done = (array[:num_steps] for array in steps)
    found = jax.jit(n_step_return, static_argnums=3)(reward, terminated, done, GAMMA)
    for env in range(7):
        total, discount = 0.0, 1.0
        for i in range(num_steps):
            total, discount = total + discount * reward[i, env], discount * GAMMA
            if done[i, env]:
                break
        np.testing.assert_allclose(found.reward[env], total, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.discount[env], 0 if terminated[i, env] else discount, rtol=1e-6)
        assert found.last[env] == i


def test_a_lambda_of_0_looks_one_step_ahead_and_a_lambda_of_1_to_the_end(steps):
    reward, _, next_value, terminated, done = steps
    one = lambda_returns(reward, next_value, terminated, done, GAMMA, 0.0)
    np.testing.assert_allclose(one, reward + GAMMA * np.where(terminated, 0, next_value), rtol=1e-5, atol=1e-6)
    whole = lambda_returns(reward, next_value, terminated, done, GAMMA, 1.0)
    for start in (0, 17, 39):
        window = n_step_return(reward[start:], terminated[start:], done[start:], GAMMA)
        bootstrap = next_value[start + window.last, np.arange(7)]
        np.testing.assert_allclose(whole[start], window.reward + window.discount * bootstrap, rtol=1e-4, atol=1e-5)


def test_advantages_are_lambda_returns_less_the_value_if_values_follow_each_other(steps):
    reward, value, next_value, terminated, done = steps
    following = jnp.concatenate([value[1:], next_value[-1:]])
    next_value = jnp.where(done, next_value, following)  # an episode that goes on is valued once
    target = lambda_returns(reward, next_value, terminated, done, GAMMA, 0.8)
    advantage = generalized_advantages(reward, value, next_value, terminated, done, GAMMA, 0.8)
    np.testing.assert_allclose(target - value, advantage, rtol=1e-4, atol=1e-5)

"""Observations that are late by a random number of steps."""

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.wrappers import DelayObservation, RandomDelayObservation
from tests.support.tiny_envs import Counter

ONES = jnp.ones(8, jnp.int32)


def test_a_single_number_is_delay_observation(play):
    one, other = (
        play(kind(Counter(), 2), ONES, funcenv.key(0))[1] for kind in (DelayObservation, RandomDelayObservation)
    )
    np.testing.assert_array_equal(one.observation, other.observation)


def test_an_episode_keeps_its_delay(play):
    env = RandomDelayObservation(Counter(goal=99), (0, 2))
    for key in range(4):
        state, timesteps = play(env, ONES, funcenv.key(key))
        np.testing.assert_array_equal(timesteps.observation[:, 0], np.maximum(np.arange(9) - int(state.delay), 0))
        np.testing.assert_array_equal(timesteps.reward, np.arange(9))


def test_all_delays_are_equally_likely():
    env = RandomDelayObservation(Counter(goal=99), (0, 2))
    delays = jax.vmap(lambda key: env.reset(key)[0].delay)(jax.random.split(funcenv.key(0), 600))
    np.testing.assert_allclose(np.bincount(np.asarray(delays), minlength=3) / 600, 1 / 3, atol=0.07)


def test_each_step_draws_again():
    env = RandomDelayObservation(Counter(goal=99), (0, 2), each_step=True)

    @jax.jit
    def newest(key):
        state, _ = env.reset(key)
        for step in range(4):
            state, timestep = env.step(state, 1, jax.random.fold_in(key, step))
        return timestep.observation[0]

    shown = np.asarray(jax.vmap(newest)(jax.random.split(funcenv.key(0), 600))).astype(int)
    np.testing.assert_allclose(np.bincount(shown, minlength=5) / 600, [0, 0, 1 / 3, 1 / 3, 1 / 3], atol=0.07)

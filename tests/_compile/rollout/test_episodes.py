"""Episodes of a large batch that are over cost no more steps, and the others are what they were."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile import single_kernel
from tests.support.tiny_envs import Tiny

pytestmark = pytest.mark.fast_path

PLAY = importlib.import_module("funcenv._compile.rollout.play")  # a function of the package has its name
LENGTHS = np.array([5, 1, 300, 17, 16, 33, 2, 2, 48, 7], np.int32)


class Race(Tiny):
    """Lasts for `length` steps, of which every one is counted; rewards and observations are random."""

    length: int = 5
    steps_played = 0

    def initial(self, key):
        return jnp.zeros((), jnp.int32)

    def transition(self, state, action, key):
        jax.debug.callback(Race.count, state)
        return state + 1

    def observation(self, state, key):
        return jax.random.normal(key) + state.astype(float)

    def reward(self, state, action, next_state):
        return ((1 + state) * (1 + action)).astype(float)

    def terminal(self, state):
        return state >= self.length

    @staticmethod
    def count(state):
        Race.steps_played += np.size(state)


def policy(observation, key):
    return ((observation > 20) | jax.random.bernoulli(key)).astype(jnp.int32)


def evaluated(num_episodes, max_steps, env):
    """Return an evaluation, and how many steps it played."""
    before = Race.steps_played
    evaluation = funcenv.evaluate(env, policy, num_episodes, funcenv.key(0), max_steps=max_steps)
    jax.block_until_ready(evaluation)
    jax.effects_barrier()
    return evaluation, Race.steps_played - before


@pytest.mark.parametrize("max_steps", [1000, 40])
def test_episodes_are_the_same_in_chunks_and_those_that_are_over_are_not_played_on(monkeypatch, max_steps):
    monkeypatch.setattr(single_kernel, "MAX_EQUATIONS", 3)
    env = Race(length=jnp.asarray(LENGTHS))
    together, all_steps = evaluated(10, max_steps, env)
    monkeypatch.setattr(PLAY, "MAX_CHUNK_ENVS", 4)
    in_chunks, steps = evaluated(10, max_steps, env)
    jax.tree.map(np.testing.assert_array_equal, in_chunks, together)
    np.testing.assert_array_equal(in_chunks.episode_length, np.minimum(LENGTHS, max_steps))
    np.testing.assert_array_equal(in_chunks.finished, max_steps >= LENGTHS)
    longest = min(300, max_steps)
    assert all_steps == 10 * longest
    assert steps <= np.minimum(LENGTHS, max_steps).sum() + 10 * 16 + 4 * longest


def test_the_number_of_steps_grows_with_the_episodes_and_not_with_the_longest_one(monkeypatch):
    monkeypatch.setattr(single_kernel, "MAX_EQUATIONS", 3)
    monkeypatch.setattr(PLAY, "MAX_CHUNK_ENVS", 4)
    lengths = np.full(100, 3, np.int32)
    lengths[17] = 300
    _, steps = evaluated(100, 1000, Race(length=jnp.asarray(lengths)))
    assert steps <= 100 * 16 + 4 * 300  # 30,000 if all of them were played to the end of the longest


def test_unfinished_episodes_are_gathered_inside_of_a_jitted_function(monkeypatch):
    monkeypatch.setattr(single_kernel, "MAX_EQUATIONS", 3)
    env, max_steps = Race(length=jnp.asarray(LENGTHS)), 1000
    alone, _ = evaluated(10, max_steps, env)
    monkeypatch.setattr(PLAY, "MAX_CHUNK_ENVS", 4)
    traced = jax.jit(lambda env, key: funcenv.evaluate(env, policy, 10, key, max_steps=max_steps))
    before = Race.steps_played
    inside = jax.block_until_ready(traced(env, funcenv.key(0)))
    jax.effects_barrier()
    jax.tree.map(np.testing.assert_array_equal, inside, alone)
    assert Race.steps_played - before <= LENGTHS.sum() + 10 * 16 + 4 * 300  # 3,000 if all were played to the end

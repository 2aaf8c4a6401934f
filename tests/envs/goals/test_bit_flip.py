"""Bit Flip: actions, ends and the distribution of goals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import BitFlip, BitFlipState


def test_every_action_flips_its_bit_and_two_of_them_cancel():
    env, key = BitFlip(num_bits=5), funcenv.key(0)
    state = env.initial(key)
    for action in range(5):
        flipped = env.transition(state, action, key)
        assert np.flatnonzero(flipped.bits != state.bits).tolist() == [action]
        assert np.array_equal(env.transition(flipped, action, key).bits, state.bits)
        assert np.array_equal(flipped.goal, state.goal)
    assert np.flatnonzero(env.transition(state, 7, key).bits != state.bits).tolist() == [4]
    assert np.flatnonzero(env.transition(state, -1, key).bits != state.bits).tolist() == [0]


@pytest.mark.parametrize("num_bits", [1, 4])
def test_flipping_the_bits_that_differ_ends_at_the_goal_and_not_before(num_bits):
    env, key = funcenv.make("BitFlip-v0", num_bits=num_bits), funcenv.key(1)
    state, timestep = env.reset(key)
    state = state.replace(env_state=BitFlipState(jnp.zeros(num_bits, jnp.int8), jnp.ones(num_bits, jnp.int8)))
    for bit in range(num_bits):
        state, timestep = env.step(state, bit, key)
        is_last = bit == num_bits - 1
        assert (timestep.reward == 0) == timestep.terminated == timestep.info["is_success"] == is_last
    assert not timestep.truncated


def test_bits_and_goals_are_even():
    states = jax.vmap(BitFlip(num_bits=3).initial)(jax.random.split(funcenv.key(0), 8000))
    numbers = np.concatenate([states.bits, states.goal], axis=1) @ (2 ** np.arange(6))
    counts = np.bincount(numbers, minlength=64)
    assert counts.min() > 80 and counts.max() < 175  # 125 each, give or take five standard deviations


def test_refuses_a_task_without_bits():
    with pytest.raises(ValueError, match="num_bits must be at least 1, got 0"):
        BitFlip(num_bits=0)

"""Rollouts of any arguments: the trajectory that arithmetic gives, or a refusal in words."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from tests.fuzz.cases import cases
from tests.fuzz.oracle import REFUSED, Ledger
from tests.fuzz.values import ODD, keywords, mostly, odd, odd_sizes
from tests.support.tiny_envs import Counter

LEDGER = Ledger("rollouts")

GOAL = 3
MODES = list(AutoresetMode)
KEYS = st.sampled_from([funcenv.key(0), jax.random.key(1)])


def count(observation, key):
    """Count up by one."""
    return jnp.int32(1)


def numbers_reached(mode, num_steps):
    """Return the number that an environment shows after each step of `count`, and the rewards."""
    shown, rewards, number, resets = [], [], 0, False
    for _ in range(num_steps):
        if resets and mode == AutoresetMode.NEXT_STEP:
            number, reward, resets = 0, 0, False
        else:
            number += 1
            reward, resets = number, number >= GOAL
            if resets and mode == AutoresetMode.SAME_STEP:
                number = 0
        shown.append(number)
        rewards.append(reward)
    return shown, rewards


@cases(
    240,
    st.sampled_from(MODES),
    st.sampled_from([1, 3]),
    keywords({"num_steps": st.sampled_from([1, 5]), "key": KEYS, "policy": st.just(count)}),
)
def test_a_rollout_is_refused_or_what_arithmetic_gives(mode, num_envs, arguments):
    venv = FuncVectorEnv(Counter(GOAL), num_envs, mode)
    played = LEDGER.attempt(funcenv.rollout, venv=venv, **arguments)
    if played is REFUSED:
        return
    _, trajectory, statistics = played
    shown, rewards = numbers_reached(mode, arguments["num_steps"])
    for i in range(num_envs):
        np.testing.assert_array_equal(trajectory.timestep.observation[:, i, 0], shown)
        np.testing.assert_array_equal(trajectory.timestep.reward[:, i], rewards)


WRONG_TREES = [value for value in ODD if value is not None]


@cases(160, st.sampled_from(["venv", "vstate", "collect"]), st.sampled_from(WRONG_TREES))
def test_a_rollout_refuses_what_is_no_batch_state_or_function(name, value):
    arguments = {"venv": FuncVectorEnv(Counter(GOAL), 1), "policy": count, "key": funcenv.key(0), "num_steps": 1}
    assert LEDGER.attempt(funcenv.rollout, **{**arguments, name: value}) is REFUSED


@cases(
    160,
    keywords(
        {"num_episodes": st.sampled_from([1, 2]), "key": KEYS, "policy": st.just(count)},
        {"max_steps": st.sampled_from([2, 9])},
    ),
)
def test_an_evaluation_is_refused_or_what_arithmetic_gives(arguments):
    result = LEDGER.attempt(funcenv.evaluate, env=Counter(GOAL), **arguments)
    if result is not REFUSED:
        steps = GOAL if arguments.get("max_steps") is None else min(GOAL, arguments["max_steps"])
        np.testing.assert_array_equal(result.episode_length, [steps] * arguments["num_episodes"])
        np.testing.assert_array_equal(result.episode_return, [steps * (steps + 1) / 2] * arguments["num_episodes"])


@cases(
    400,
    keywords(
        {"num_envs": st.integers(1, 5)},
        {"autoreset_mode": st.sampled_from(MODES), "reset_strategy": st.sampled_from(["auto", "select", "lazy"])},
    ),
)
def test_a_batch_is_refused_or_has_the_size_that_was_asked_for(arguments):
    venv = LEDGER.attempt(FuncVectorEnv, env=Counter(GOAL), **arguments)
    if venv is not REFUSED:
        assert jax.eval_shape(venv.reset, funcenv.key(0))[1].reward.shape == (arguments["num_envs"],)


@cases(240, mostly(st.integers(0, 2**32 - 1)), st.booleans())
def test_a_key_is_refused_or_the_same_for_the_same_seed(seed, again):
    key = LEDGER.attempt(funcenv.key, seed=seed)
    if key is not REFUSED and again:
        np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(funcenv.key(int(seed))))


@cases(160, st.sampled_from([0, 1]), st.one_of(odd(), odd_sizes()))
def test_a_reset_refuses_what_is_no_key(which, value):
    env = Counter(GOAL)
    calls = [env.reset, FuncVectorEnv(env, 2).reset]
    assert LEDGER.attempt(calls[which], key=value) is REFUSED

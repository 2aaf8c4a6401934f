"""JAX's modes for debugging and for 64 bits work with stateful environments, rollouts and training."""

import jax
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.train.algorithm import find_algorithm
from funcenv.train.loop import Learner

pytestmark = pytest.mark.fast_path  # as users have it

MODES = {
    "without jit": lambda: jax.disable_jit(True),
    "leaks": jax.checking_leaks,
    "64 bits": lambda: jax.enable_x64(True),
}


def step_one():
    env = adapters.make("FrozenLake-v1", is_slippery=False)
    env.reset(seed=0)
    return env.step(1)[0], env.step(1)[0], env.step(2)[0]


def step_a_batch():
    envs = adapters.make_vec("FrozenLake-v1", 2, is_slippery=False)
    envs.reset(seed=0)
    return envs.step(np.array([1, 2]))[0], envs.step(np.array([1, 2]))[0]


def roll_out():
    env = funcenv.make("FrozenLake-v1", is_slippery=False)
    venv = funcenv.FuncVectorEnv(env, 2)
    return funcenv.rollout(venv, lambda observation, key: np.int32(1), funcenv.key(0), 3)[1].timestep.observation


def evaluate():
    env = funcenv.make("FrozenLake-v1", is_slippery=False)
    return funcenv.evaluate(env, lambda observation, key: np.int32(2), 2, funcenv.key(0), max_steps=4).episode_length


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", [step_one, step_a_batch, roll_out, evaluate])
def test_a_mode_changes_no_result(call, mode):
    with MODES[mode]():
        found = call()
    jax.tree.map(np.testing.assert_array_equal, found, call())


@pytest.mark.parametrize("name", ["ppo", pytest.param("recurrent_ppo", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("mode", ["leaks", "64 bits"])
def test_an_algorithm_learns_in_a_mode(name, mode):
    algorithm = find_algorithm(name)
    config = algorithm.Config(num_envs=2, num_steps=4, num_minibatches=1, hidden_sizes=(4,), total_timesteps=32)
    with MODES[mode]():
        learner = Learner(algorithm, config)
        _, metrics = learner.advance(learner.init(funcenv.key(0)), 2)
    assert np.isfinite(metrics["loss"]).all()

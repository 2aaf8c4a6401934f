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
    "NaN": lambda: jax.debug_nans(True),
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


def calls_of_every_kind(env_id):
    """Return calls that a program repeats, each with its arguments made before."""
    func_env, key, parameter = funcenv.make(env_id), funcenv.key(0), {"Pendulum-v1": "g"}.get(env_id, "gravity")
    venv, policy = funcenv.FuncVectorEnv(func_env, 4), funcenv.random_policy(func_env)
    vstate, _ = venv.reset(key)
    env, envs = adapters.make(env_id, render_mode="rgb_array"), adapters.make_vec(env_id, 4)
    action, actions = env.action_space.sample(), envs.action_space.sample()
    env.reset(seed=0), envs.reset(seed=0)
    return {
        "key": lambda: funcenv.key(2**40),
        "rollout": lambda: funcenv.rollout(venv, policy, key, 3),
        "rollout from a state": lambda: funcenv.rollout(venv, policy, key, 3, vstate=vstate, collect=None),
        "evaluate": lambda: funcenv.evaluate(func_env, policy, 2, key, max_steps=300),
        "one": lambda: (env.reset(seed=0), env.step(action)),
        "one with a parameter": lambda: (env.reset(options={parameter: 9.0}), env.step(action)),
        "batch": lambda: (envs.reset(seed=0), envs.step(actions)),
        "some of a batch": lambda: envs.reset(seed=[1, None, None, 2], options={"reset_mask": np.arange(4) > 1}),
        "samples": lambda: [(env.action_space.sample(), env.observation_space.sample()) for _ in range(3)],
        "image": env.render,
    }


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_a_warm_call_makes_no_implicit_transfer(env_id, kernels, monkeypatch):
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "0" if kernels else "1")
    for name, call in calls_of_every_kind(env_id).items():
        call()
        with jax.transfer_guard("disallow"):
            try:
                call()
            except jax.errors.JaxRuntimeError as error:
                pytest.fail(f"{name}: {error}")


def test_parameters_of_a_policy_on_the_host_are_transfers_that_a_guard_finds():
    venv = funcenv.FuncVectorEnv(funcenv.make("Pendulum-v1"), 4)
    policy = jax.tree_util.Partial(lambda weight, observation, key: observation[:1] * weight, np.float32(0.5))
    funcenv.rollout(venv, policy, funcenv.key(0), 3)
    with jax.transfer_guard("disallow"), pytest.raises(jax.errors.JaxRuntimeError, match="Disallowed host-to-device"):
        funcenv.rollout(venv, policy, funcenv.key(0), 3)


def test_statistics_without_an_episode_are_nan_even_if_programs_may_not_compute_any():
    venv = funcenv.FuncVectorEnv(funcenv.make("FrozenLake-v1", is_slippery=False), 2)

    def statistics(num_steps):
        return funcenv.rollout(venv, lambda observation, key: np.int32(1), funcenv.key(0), num_steps)[2]

    expected = {num_steps: statistics(num_steps) for num_steps in (1, 3)}
    assert expected[1].count == 0 and np.isnan(expected[1].mean_length) and expected[3].mean_length == 3
    with jax.debug_nans(True):
        jax.tree.map(np.testing.assert_array_equal, {steps: statistics(steps) for steps in expected}, expected)
        traced = jax.jit(lambda: statistics(1))()
        assert traced.count == 0 and traced.mean_return == traced.max_length == 0


CONFIG = {"num_envs": 2, "num_steps": 4, "total_timesteps": 64}
NETWORK = {"hidden_sizes": (4,)}
MINIBATCHES = {"num_minibatches": 1, "num_epochs": 1}
REPLAY = {"learning_starts": 16, "buffer_size": 64, "minibatch_size": 4, "num_gradient_steps": 1, "n_step": 1}
ALGORITHMS = {
    "ppo": NETWORK | MINIBATCHES,
    "plr": NETWORK | MINIBATCHES | {"level_buffer": 4},
    "recurrent_ppo": NETWORK | MINIBATCHES,
    "reinforce": NETWORK,
    "ars": NETWORK,
    "pqn": NETWORK | MINIBATCHES,
    "dqn": NETWORK | REPLAY,
    "sac": NETWORK | REPLAY | {"env_id": "Pendulum-v1"},
    "simba": NETWORK | REPLAY | {"env_id": "Pendulum-v1", "residual_width": 4},
    "td3": NETWORK | REPLAY | {"env_id": "Pendulum-v1"},
    "tqc": NETWORK | REPLAY | {"env_id": "Pendulum-v1"},
    "q_learning": {},
    "alphazero": NETWORK | MINIBATCHES | {"num_simulations": 2},
}
# Without jit, the loops of a search run in Python.
IN_MODES = [pytest.param(name, marks=pytest.mark.dear) if name == "alphazero" else name for name in ALGORITHMS]


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", IN_MODES)
def test_an_algorithm_learns_in_a_mode(name, mode):
    algorithm = find_algorithm(name)
    config = algorithm.Config(**CONFIG, **ALGORITHMS[name])
    with MODES[mode]():
        learner = Learner(algorithm, config)
        _, metrics = learner.advance(learner.init(funcenv.key(0)), 4)
    assert all(np.isfinite(metrics[name]).all() for name in metrics if "loss" in name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_makes_no_implicit_transfer_after_its_first_update(name):
    algorithm = find_algorithm(name)
    learner = Learner(algorithm, algorithm.Config(**CONFIG, **ALGORITHMS[name]))
    state, _ = learner.advance(learner.init(funcenv.key(0)), 4)
    with jax.transfer_guard("disallow"):
        learner.advance(state, 4)

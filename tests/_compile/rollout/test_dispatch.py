"""Which rollouts run as a single kernel, what they keep in memory, and when they are compiled."""

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncEnv, FuncVectorEnv, spaces
from funcenv._compile import host_jit, single_kernel
from funcenv._compile.chunks import Chunks
from funcenv._compile.rollout import as_policy, dispatch, run, verify
from funcenv._compile.rollout.program import RolloutArgs, RolloutSpec, run_steps, split_keys
from funcenv._compile.rollout.step import reads_observation
from funcenv._compile.single_kernel import compile_single_kernel
from funcenv.envs import CartPole
from funcenv.statistics import EPISODE_TOTALS
from funcenv.wrappers import TimeLimit

pytestmark = pytest.mark.fast_path

ENV = TimeLimit(CartPole(), 9)
QUICKLY = {"xla_backend_optimization_level": 0}


def result_of(venv, policy=None, num_steps=12, **options):
    policy = as_policy(policy or funcenv.random_policy(venv))
    return run(EPISODE_TOTALS, venv, policy, funcenv.key(0), None, num_steps, **options)


def rollout_args(venv):
    keys, policy_keys = split_keys(funcenv.key(0), venv.num_envs, True)
    return RolloutArgs(venv, funcenv.random_policy(venv), keys, policy_keys)


class Walk(FuncEnv):
    """A walk on the line whose methods can be replaced."""

    @property
    def observation_space(self):
        return spaces.Box(-np.inf, np.inf, (4,))

    @property
    def action_space(self):
        return spaces.Discrete(2)

    def initial(self, key):
        return jax.random.normal(key, (4,), jnp.float32)

    def transition(self, state, action, key):
        return state + jax.random.normal(key, (4,), jnp.float32)

    def observation(self, state, key):
        return state

    def reward(self, state, action, next_state):
        return next_state.sum()

    def terminal(self, state):
        return jnp.abs(state).max() > 3


class Sorted(Walk):
    def observation(self, state, key):
        return jnp.sort(state)


class Board(Walk):
    """Scatters, which XLA writes out as loops."""

    def transition(self, state, action, key):
        return state.at[action].set(jax.random.uniform(key, (), jnp.float32, 0, 3.2))


def test_what_cannot_be_one_function_runs_as_before():
    venv = FuncVectorEnv(Sorted(), 5)
    assert result_of(venv) is None
    _, trajectory, _ = funcenv.rollout(venv, funcenv.random_policy(venv), funcenv.key(0), 3)
    assert (jnp.diff(trajectory.timestep.observation) >= 0).all()


def test_scatters_and_matrix_products_can():
    weights = jnp.ones((4, 64), jnp.float32) / 8

    def network(observation, key):
        return jnp.argmax(jnp.tanh(observation @ weights) @ weights.T[:, :2]).astype(jnp.int32)

    assert result_of(FuncVectorEnv(Board(), 300), network) is not None


def test_a_program_that_differs_is_not_used(monkeypatch):
    monkeypatch.setattr(dispatch, "compile_single_kernel", lambda function, *args, style: jax.jit(spoilt(function)))
    dispatch._program.cache_clear()
    assert result_of(FuncVectorEnv(ENV, 3)) is None
    dispatch._program.cache_clear()


def spoilt(function):
    """One return in a thousand is wrong."""

    def play(*args):
        result = function(*args)
        wrong = result.vstate.episode_return.at[-1].mul(1.001)
        return result._replace(vstate=result.vstate.replace(episode_return=wrong))

    return play


def test_verification_lasts_until_an_episode_ends():
    """Up to the first end, and no further."""
    venv, numbers = FuncVectorEnv(ENV, 3), []
    spec = RolloutSpec(EPISODE_TOTALS, None, 0, Chunks.fit(3, 100))
    args = rollout_args(venv)
    keys = args.keys
    vstate = venv.reset(keys)[0].replace(key=None)
    program = jax.jit(functools.partial(run_steps, spec))

    def watched(*arguments):
        numbers.append(int(arguments[-2]))
        return program(*arguments)

    assert verify.matches_reference(watched, spec, args, vstate, False, 1000)
    assert max(numbers) == 8


@pytest.mark.parametrize(
    ("collect", "possible"),
    [
        (lambda timestep, action: timestep.reward, True),
        (lambda timestep, action: (timestep.done, jnp.where(timestep.done, 0, timestep.reward), action), True),
        (lambda timestep, action: timestep.reward - timestep.reward.mean(), False),
        (lambda timestep, action: timestep.observation.sum(axis=1), False),  # it is, but that is not easy to see
    ],
)
def test_chunks_need_a_collect_that_keeps_environments_apart(collect, possible):
    venv = FuncVectorEnv(ENV, 300)
    result = result_of(venv, collect=collect, num_steps=3)
    assert (result is not None) == possible


def test_a_single_chunk_takes_any_collect():
    venv = FuncVectorEnv(ENV, 7)
    result = result_of(venv, collect=lambda timestep, action: timestep.observation.mean())
    plain = jax.jit(
        lambda key: funcenv.rollout(
            venv, funcenv.random_policy(venv), key, 12, collect=lambda timestep, action: timestep.observation.mean()
        ),
        compiler_options=QUICKLY,
    )
    _, kept, _ = plain(funcenv.key(0))
    np.testing.assert_allclose(result.collected, kept, atol=1e-6)


def test_plain_means_plain(monkeypatch):
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    assert result_of(FuncVectorEnv(ENV, 3)) is None


def test_inside_a_traced_function_it_is_plain():
    venv, seen = FuncVectorEnv(ENV, 3), []

    @jax.jit
    def program():
        seen.append(result_of(venv))
        return 0

    program()
    assert seen == [None]


def test_other_numbers_of_steps_and_parameters_compile_nothing():
    traces = []

    class Traced(Board):
        scale: float = 1.0

        def reward(self, state, action, next_state):
            traces.append(1)
            return self.scale * next_state.sum()

    assert result_of(FuncVectorEnv(Traced(), 6), num_steps=5) is not None
    first = len(traces)
    for num_steps, scale in ((50, 2.0), (500, 3.0)):
        result_of(FuncVectorEnv(Traced(scale=scale), 6), num_steps=num_steps)
    assert len(traces) == first


@pytest.mark.parametrize(("num_envs", "bytes_per_env"), [(256, 600), (4096, 200)])
def test_memory_is_what_is_carried(num_envs, bytes_per_env):
    """Whatever the number of steps, which the program learns when it runs."""
    venv = FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs)
    spec = RolloutSpec(EPISODE_TOTALS, None, 0, Chunks.fit(num_envs, 100))
    args = rollout_args(venv)
    vstate = jax.jit(venv.reset)(args.keys)[0].replace(key=None)
    program = compile_single_kernel(
        functools.partial(run_steps, spec), args, vstate, np.True_, np.uint32(0), np.int32(10**9)
    )
    memory = program.memory_analysis()
    state = sum(leaf.nbytes for leaf in jax.tree.leaves((vstate, EPISODE_TOTALS.init(venv, vstate))))
    assert memory.output_size_in_bytes <= state + 1024
    assert memory.temp_size_in_bytes + memory.output_size_in_bytes <= bytes_per_env * num_envs


def test_evaluations_are_those_of_the_plain_program():
    policy = funcenv.random_policy(ENV)
    ours = funcenv.evaluate(ENV, policy, 300, funcenv.key(3))
    plain = jax.jit(lambda key: funcenv.evaluate(ENV, policy, 300, key), compiler_options=QUICKLY)
    theirs = plain(funcenv.key(3))
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_policy_that_reads_the_observation_is_told_from_one_that_does_not():
    observation, keys = jnp.zeros((3, 2)), jax.random.split(funcenv.key(0), 3)
    reading = [lambda seen, key: seen, lambda seen, key: jax.jit(jnp.sum)(seen), lambda seen, key: (key, seen.sum())]
    blind = [lambda seen, key: jax.random.bits(key), lambda seen, key: jnp.zeros(seen.shape, seen.dtype)]
    assert all(reads_observation(as_policy(policy), observation, keys) for policy in reading)
    assert not any(reads_observation(as_policy(policy), observation, keys) for policy in blind)


def test_skipped_observations_change_no_action():
    """The same actions, chosen by a policy that reads the observation and ignores it, and by one that does not."""
    space = ENV.action_space

    def reading(seen, key):
        return jnp.where(jnp.isfinite(seen).all(), space.sample(key), 5)

    venv = FuncVectorEnv(ENV, 300)
    one, other = (result_of(venv, policy, 40) for policy in (reading, lambda seen, key: space.sample(key)))
    results = [(result.vstate.replace(key=None), result.totals) for result in (one, other)]
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_array_equal(a, b)


def test_scalars_are_converted_once_and_keep_their_value():
    device = jax.devices()[0]
    numbers = [0, 0.0, -0.0, False, True, 1, 1.0, 2.5, float("nan"), float("-inf"), -(2**31)]
    for number in numbers * 2:
        placed, expected = dispatch._to_cached_array(device, number), jnp.asarray(number)
        np.testing.assert_array_equal(np.asarray(placed).tobytes(), np.asarray(expected).tobytes())
        assert (placed.dtype, placed.weak_type) == (expected.dtype, expected.weak_type)
        assert dispatch._to_cached_array(device, number) is placed
    array = np.float32(3)
    assert dispatch._to_cached_array(device, array) is array
    with jax.enable_x64(True):
        assert dispatch._to_cached_array(device, 2.5).dtype == np.float64


DEVICES = """
import jax, numpy as np, funcenv

env = funcenv.make("CartPole-v1", max_episode_steps=9)
venv, policy = funcenv.FuncVectorEnv(env, 3), funcenv.random_policy(env)
for device in jax.devices() * 2:
    key = jax.device_put(funcenv.key(0), device)
    vstate, kept, statistics = funcenv.rollout(venv, policy, key, 12)
    assert all(leaf.devices() == {device} for leaf in jax.tree.leaves((vstate, kept, statistics)))
"""


def test_a_rollout_stays_on_the_device_of_its_key():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "FUNCENV_NO_FAST_PATH": "0"}
    subprocess.run([sys.executable, "-c", DEVICES], check=True, env={**os.environ, **flags})


class Pictures(Walk):
    """The same, seen in pictures."""

    observation_space = spaces.Box(-np.inf, np.inf, (96, 96, 3))

    def observation(self, state, key):
        return jnp.full((96, 96, 3), state[0])


def test_a_large_program_is_not_traced_as_a_kernel_and_compiles_quickly(monkeypatch):
    venv, asked = FuncVectorEnv(TimeLimit(Walk(), 9), 3), []
    programs = funcenv.rollout.__globals__
    quick, reset = programs["_rollout"].quick, programs["_reset_program"]()

    def fit_spec(*args):
        asked.append(args)

    def play():
        _, trajectory, _ = funcenv.rollout(venv, funcenv.random_policy(venv), funcenv.key(0), 12)
        return trajectory.timestep.observation

    monkeypatch.setattr(dispatch, "fit_spec", fit_spec)
    before, few = (quick._cache_size(), reset._cache_size()), play()
    assert (len(asked), quick._cache_size(), reset._cache_size()) == (1, *before)
    dispatch._program.cache_clear()
    monkeypatch.setattr(single_kernel, "MAX_EQUATIONS", 3)
    np.testing.assert_allclose(play(), few, rtol=1e-5)
    assert (len(asked), quick._cache_size(), reset._cache_size()) == (1, before[0] + 1, before[1] + 1)
    assert host_jit._is_slow_to_compile(venv)
    assert not host_jit._is_slow_to_compile(FuncVectorEnv(TimeLimit(Pictures(), 9), 3))

"""Shards that play at the same time give the results of the whole batch."""

import os
import threading

import jax
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv._compile.rollout import threads
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests.support.jax_features import SHARDS_ARE_EXACT

pytestmark = pytest.mark.fast_path

NUM_ENVS, NUM_STEPS, THREADS = 24, 40, 3


def results_on(num_threads, monkeypatch, function):
    """Return what a function returns where even small rollouts are divided, and the threads that ran it."""
    played, original = set(), jax.stages.Compiled.__call__

    def spy(self, *args):
        played.add(threading.get_ident())
        return original(self, *args)

    with monkeypatch.context() as patch:
        patch.setenv("PJRT_NPROC", str(num_threads))
        patch.setattr(threads, "MAX_CHUNK_ENVS", 4)
        patch.setattr(threads, "_MIN_SHARDED_ENV_STEPS", 1)
        patch.setattr(jax.stages.Compiled, "__call__", spy)
        results = jax.block_until_ready(function())
    return results, played - {threading.get_ident()}


def assert_equal(ours, theirs, exact=SHARDS_ARE_EXACT):
    """Compare bit for bit, or floats to rounding, where XLA may round otherwise in a batch of another size."""
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        if jax.numpy.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        if jax.numpy.issubdtype(a.dtype, jax.numpy.floating) and not exact:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_sharded_rollout_equals_the_whole(mode, goes_on, monkeypatch):
    gravities = np.linspace(5, 15, NUM_ENVS, dtype=np.float32)  # parameters follow their environments
    venv = FuncVectorEnv(TimeLimit(CartPole(gravity=gravities), 30), NUM_ENVS, mode)
    policy = funcenv.random_policy(venv)
    start = venv.reset(jax.random.split(funcenv.key(3), NUM_ENVS))[0] if goes_on else None

    def play():
        return funcenv.rollout(venv, policy, funcenv.key(1), NUM_STEPS, vstate=start, collect=None)

    (whole, alone), (divided, used) = results_on(1, monkeypatch, play), results_on(THREADS, monkeypatch, play)
    assert not alone and len(used) == THREADS
    assert whole[2].count >= NUM_ENVS
    assert_equal(divided, whole)


def test_a_sharded_evaluation_equals_the_whole(monkeypatch):
    env = funcenv.make("CartPole-v1")
    policy = funcenv.random_policy(env)

    def play():
        return funcenv.evaluate(env, policy, NUM_ENVS, funcenv.key(2))

    (whole, _), (divided, used) = results_on(1, monkeypatch, play), results_on(THREADS, monkeypatch, play)
    assert len(used) == THREADS and whole.finished.all()
    assert_equal(divided, whole)


def test_shards_of_a_network_equal_the_whole(monkeypatch):
    """Compare to rounding: a loop is several kernels, which XLA writes otherwise for a batch of another size."""
    venv = FuncVectorEnv(TimeLimit(CartPole(), 30), NUM_ENVS)
    weights = np.linspace(-1, 1, 4 * 2000, dtype=np.float32).reshape(4, 2000)

    def network(observation, key):
        return jax.numpy.argmax((observation @ weights)[:2]).astype(jax.numpy.int32)

    def play():
        return funcenv.rollout(venv, network, funcenv.key(1), NUM_STEPS, collect=None)

    (whole, alone), (divided, used) = results_on(1, monkeypatch, play), results_on(THREADS, monkeypatch, play)
    assert not alone and len(used) == THREADS
    assert whole[2].count >= NUM_ENVS
    assert_equal(divided, whole, exact=False)


def test_doubles_stay_doubles(monkeypatch):
    with jax.enable_x64(True):
        venv = FuncVectorEnv(funcenv.make("CartPole-v1"), NUM_ENVS)
        policy = funcenv.random_policy(venv)

        def play():
            return funcenv.rollout(venv, policy, funcenv.key(1), NUM_STEPS, collect=None)

        (whole, _), (divided, used) = results_on(1, monkeypatch, play), results_on(THREADS, monkeypatch, play)
    assert len(used) == THREADS and whole[0].env_state.env_state.x.dtype == np.float64
    assert_equal(divided, whole)


def test_a_rollout_that_keeps_a_trajectory_is_not_sharded(monkeypatch):
    venv = FuncVectorEnv(funcenv.make("CartPole-v1"), NUM_ENVS)
    policy = funcenv.random_policy(venv)
    _, used = results_on(THREADS, monkeypatch, lambda: funcenv.rollout(venv, policy, funcenv.key(1), NUM_STEPS))
    assert not used


def test_shards_are_equal_and_worth_a_thread():
    assert threads.num_shards(65536, 1000, threads=16) == 16
    assert threads.num_shards(3 * 2**12, 1000, threads=8) == 8
    assert threads.num_shards(5 * 2**10, 1000, threads=3) == 2  # three do not divide it
    assert threads.num_shards(521, 10**6, threads=2) == 1  # a prime
    assert threads.num_shards(4096, 2, threads=2) == 1  # too short
    assert threads.num_shards(256, 10**6, threads=2) == 1  # too small


def test_as_many_threads_as_xla(monkeypatch):
    monkeypatch.setenv("PJRT_NPROC", "5")
    assert threads.num_threads() == 5
    monkeypatch.delenv("PJRT_NPROC")
    assert threads.num_threads() == len(os.sched_getaffinity(0))

"""The compiled vector step equals the functional one in every layout, is traced once, and has a fallback."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv.adapters.engine.programs_vector import VectorPrograms, vector_programs
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests.support.programs import programs_of
from tests.support.tiny_envs import Walk
from tests.test_host import SpringEnv

pytestmark = pytest.mark.fast_path

IMPL = funcenv.random.default_impl()


def sorted_walk(counts=None):
    class SortedWalk(Walk):
        """Sorting is one of the things that XLA does not fuse."""

        def transition(self, state, action, key):
            if counts is not None:
                counts.append(1)
            return super().transition(state, action, key)

        def observation(self, state, key):
            return jnp.sort(state) if counts is None else state

    return SortedWalk()


LAYOUTS = [
    (AutoresetMode.SAME_STEP, 512, None, True),
    (AutoresetMode.SAME_STEP, 6, 2, False),
    (AutoresetMode.NEXT_STEP, 512, None, False),
    (AutoresetMode.NEXT_STEP, 6, 2, True),
    (AutoresetMode.NEXT_STEP, 5, 1, True),
    (AutoresetMode.NEXT_STEP, 257, None, True),  # a prime: no fused function
    (AutoresetMode.DISABLED, 6, 2, True),
]


@pytest.mark.parametrize(("mode", "num_envs", "chunk_size", "packs_output"), LAYOUTS)
def test_every_layout_steps_as_the_pure_vector_environment(mode, num_envs, chunk_size, packs_output):
    gravities = np.linspace(5, 15, num_envs, dtype=np.float32)
    venv = FuncVectorEnv(TimeLimit(CartPole(gravity=gravities), 9), num_envs, mode)
    programs = VectorPrograms(venv, IMPL, packs_output, chunk_size)
    keys = jax.random.split(funcenv.key(0), num_envs)
    words = jax.random.key_data(keys)
    result = programs.first_reset(venv.env, words)
    vstate, timestep = jax.jit(venv.reset)(keys)
    step = jax.jit(venv.step)
    rng = np.random.default_rng(0)
    for _ in range(14):
        actions = rng.integers(0, 2, num_envs).astype(np.int32)
        result = programs.step(words, result[1], actions)
        vstate, timestep = step(vstate, actions)
    output = programs.unpack_output(result)
    for name in ("observation", "reward", "terminated", "truncated"):
        np.testing.assert_allclose(getattr(output, name), getattr(timestep, name), atol=1e-5, err_msg=name)
    present = programs.vstate(words, result[1])
    np.testing.assert_array_equal(present.num_calls, vstate.num_calls)
    np.testing.assert_array_equal(present.episode_length, vstate.episode_length)
    if mode is AutoresetMode.SAME_STEP:
        np.testing.assert_allclose(output.final_observation, timestep.final_observation, atol=1e-5)
    assert (programs.step.refusal is not None) == (num_envs == 257)


def test_what_cannot_be_fused_runs_as_an_ordinary_program():
    envs = FunctionalVectorEnv(sorted_walk(), 4, autoreset_mode="SameStep")
    observations, _ = envs.reset(seed=0)
    pure = FuncVectorEnv(sorted_walk(), 4)
    vstate, _ = pure.reset(envs.state.key)
    for _ in range(5):
        vstate, timestep = jax.jit(pure.step)(vstate, jnp.zeros(4, jnp.int32))
        observations, *_ = envs.step(np.zeros(4, int))
        np.testing.assert_allclose(observations, timestep.observation, atol=1e-6)
    assert programs_of(envs).step.refusal is not None


@pytest.mark.parametrize("output", ["numpy", "jax"])
def test_a_step_is_traced_once(output):
    counts = []
    envs = FunctionalVectorEnv(sorted_walk(counts), 3, output=output)
    envs.reset(seed=0)
    envs.step(np.zeros(3, int))
    first = len(counts)
    ended = 0
    for i in range(60):
        actions = np.full(3, i % 2, [np.int64, np.int32, np.uint8][i % 3])
        result = envs.step(jnp.asarray(actions) if i % 5 == 0 else actions)
        ended += int((result[2] | result[3]).sum())
        if i % 20 == 0:
            envs.reset(seed=i)
    assert ended > 3 and len(counts) == first
    FunctionalVectorEnv(envs.func_env, 3, output=output).reset()
    assert len(counts) == first


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1", "MountainCar-v0", "FrozenLake-v1"])
def test_asynchronous_dispatch_leaves_small_steps_on_the_calling_thread(id, mode):
    # The rule of the CPU client cannot be observed; this count is what it depends on.
    for num_envs in (16, 256):
        programs = vector_programs(FuncVectorEnv(funcenv.make(id), num_envs, mode), IMPL, True)
        assert programs.count_operations() < 1000


def test_large_steps_take_whole_vectors():
    programs = vector_programs(FuncVectorEnv(funcenv.make("CartPole-v1"), 4096), IMPL, True)
    assert programs.count_operations() > 10_000


def test_double_precision():
    with jax.enable_x64(True):
        envs = FunctionalVectorEnv(TimeLimit(CartPole(), 9), 4)
        envs.reset(seed=0)
        for _ in range(12):
            observations, rewards, *_ = envs.step(np.ones(4, int))
        assert observations.dtype == np.float32 and rewards.dtype == np.float64
        assert envs.state.env_state.env_state.x.dtype == np.float64


def test_no_key_is_used_twice():
    with jax.debug_key_reuse(True):
        envs = FunctionalVectorEnv(TimeLimit(CartPole(), 4), 2, autoreset_mode="SameStep", output="jax")
        envs.reset(seed=0)
        for _ in range(6):
            result = envs.step(np.ones(2, int))
    assert result[0].shape == (2, 4)


@pytest.mark.fast_path
def test_an_environment_that_calls_the_host_compiles_in_silence(capfd):
    """XLA prints an error when it cannot put a call to the host into a kernel, so it is not asked to."""
    envs = FunctionalVectorEnv(SpringEnv(), 2)
    envs.reset(seed=0)
    envs.step(np.zeros(2, np.float32))
    assert "error" not in capfd.readouterr().err

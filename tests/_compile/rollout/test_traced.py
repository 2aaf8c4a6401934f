"""Rollouts inside traced functions: which become a kernel, and that they equal those called from Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv._compile.rollout import traced
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import TimeLimit
from tests.support import environments

pytestmark = pytest.mark.fast_path

NUM_ENVS, NUM_STEPS = 10, 24
IDS = environments.kernel_ids()
QUICKLY = {"xla_backend_optimization_level": 0}


@pytest.fixture
def kinds(monkeypatch):
    """Return the kinds of rollouts that were tried, and whether each is a kernel."""
    monkeypatch.setattr(traced.trials, "results", {})
    return traced.trials.results


def quickly(function):
    return jax.jit(function, compiler_options=QUICKLY)


def assert_same(ours, theirs):
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("id", environments.rotating(IDS, environments.representatives()))
def test_a_rollout_in_jit_is_the_one_from_python(id, kinds):
    venv = FuncVectorEnv(funcenv.make(id, max_episode_steps=9), NUM_ENVS)

    def play(key):
        return funcenv.rollout(venv, funcenv.random_policy(venv), key, NUM_STEPS)

    ours, theirs = quickly(play)(funcenv.key(0)), play(funcenv.key(0))
    assert theirs[2].count >= 2 * NUM_ENVS
    assert_same(ours, theirs)
    assert list(kinds.values()) == [True], "it is a kernel"


@pytest.mark.parametrize("mode", AutoresetMode)
def test_seeds_by_vmap_become_one_batch(mode, kinds):
    gravities = np.linspace(5, 15, 3, dtype=np.float32)
    venv = FuncVectorEnv(TimeLimit(CartPole(gravity=gravities), 9), 3, mode)
    vstate = venv.reset(funcenv.key(7))[0]
    keys = jax.random.split(funcenv.key(0), 4)

    def play(key, length):
        changed = venv.replace(env=venv.env.replace(length=length))
        return funcenv.rollout(changed, funcenv.random_policy(venv), key, 20, vstate=vstate)

    lengths = jnp.linspace(0.4, 0.6, 4)
    ours = quickly(jax.vmap(play))(keys, lengths)
    theirs = jax.tree.map(lambda *rows: jnp.stack(rows), *map(play, keys, lengths))
    assert_same(ours, theirs)
    assert all(kinds.values())
    assert {kind[0].chunks.num_envs for kind in kinds} == {3, 12}


def test_constants_of_the_program_around_it(kinds):
    """XLA aborts the process where it moves a large constant into a kernel."""
    num_envs = 4096
    venv = FuncVectorEnv(TimeLimit(CartPole(gravity=np.linspace(5, 15, num_envs, dtype=np.float32)), 9), num_envs)
    vstate = venv.reset(funcenv.key(7))[0]

    def play(key):
        return funcenv.rollout(venv, funcenv.random_policy(venv), key, 3, vstate=vstate)

    assert_same(quickly(play)(funcenv.key(0)), play(funcenv.key(0)))
    assert list(kinds.values()) == [True]


def test_an_evaluation_in_jit_over_parameters(kinds):
    def mean_return(gravity):
        env = TimeLimit(CartPole(gravity=gravity), 30)
        return funcenv.evaluate(env, funcenv.random_policy(env), 4, funcenv.key(0)).mean_return

    gravities = jnp.linspace(1.0, 20.0, 3)
    ours = quickly(jax.vmap(mean_return))(gravities)
    np.testing.assert_array_equal(ours, [mean_return(gravity) for gravity in gravities])
    assert list(kinds.values()) == [True, True]


def test_derivatives_are_those_of_the_plain_program(kinds, monkeypatch):
    def total(mass):
        env = TimeLimit(Pendulum(m=mass), 9)
        venv = FuncVectorEnv(env, 2)
        return funcenv.rollout(venv, funcenv.random_policy(env), funcenv.key(0), 5, collect=rewards)[1].sum()

    ours = quickly(jax.value_and_grad(total))(1.1), quickly(jax.jacfwd(total))(1.1)
    assert list(kinds.values()) == [True]
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    theirs = quickly(jax.value_and_grad(total))(1.1), quickly(jax.jacfwd(total))(1.1)
    assert len(kinds) == 1, "the switch turns it off"
    np.testing.assert_allclose(jax.tree.leaves(ours), jax.tree.leaves(theirs), rtol=1e-4)
    assert ours[1] != 0


def rewards(timestep, action):
    return timestep.reward


def test_what_cannot_be_a_kernel_runs_as_before(kinds):
    """A policy that sorts, one that captures a traced value, and a mean over the environments of two rollouts."""
    env = TimeLimit(CartPole(), 9)
    venv, keys = FuncVectorEnv(env, 3), jax.random.split(funcenv.key(0), 2)

    def play(weights, key, collect=rewards):
        policy = jax.tree_util.Partial(sorting, weights)
        return funcenv.rollout(venv, policy, key, 5, collect=collect)[1]

    weights = jnp.ones(4, jnp.float32)
    assert_same(quickly(play)(weights, keys[0]), play(weights, keys[0]))
    assert list(kinds.values()) == [False]

    def captured(threshold):
        return funcenv.rollout(venv, lambda x, key: (x[2] > threshold).astype(int), keys[0], 5, collect=None)[0]

    assert_same(quickly(captured)(0.0), captured(0.0))
    assert len(kinds) == 1, "it is not tried"

    def mean(key):
        return funcenv.rollout(venv, funcenv.random_policy(venv), key, 5, collect=lambda t, a: t.observation.mean(0))[1]

    assert_same(quickly(jax.vmap(mean))(keys), jnp.stack([mean(key) for key in keys]))
    assert len(kinds) == 1


def sorting(weights, observation, key):
    return jnp.argmax(jnp.sort(weights * observation)).astype(jnp.int32) // 2


def test_a_wrong_kernel_is_not_used(kinds, monkeypatch):
    monkeypatch.setattr(traced, "matches_reference", lambda *args: False)
    venv = FuncVectorEnv(TimeLimit(CartPole(), 9), 3)
    program = quickly(lambda key: funcenv.rollout(venv, funcenv.random_policy(venv), key, 5, collect=None)[0])
    text = program.lower(funcenv.key(0)).as_text()
    assert list(kinds.values()) == [False]
    assert "small_call" not in text

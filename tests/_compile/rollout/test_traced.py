"""Rollouts inside traced functions: which become a kernel, and that they equal those called from Python."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv._compile.verified import recorded_choices
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import TimeLimit, TransformReward
from tests.support import environments

pytestmark = pytest.mark.fast_path

NUM_ENVS, NUM_STEPS = 10, 24
IDS = environments.kernel_ids()
QUICKLY = {"xla_backend_optimization_level": 0}


@pytest.fixture
def choices():
    """Return the choices between kernels and plain programs."""
    with recorded_choices() as choices:
        yield choices


def tried(choices):
    """Return for which numbers of environments a kernel was tried in a traced function, and why it was refused."""
    switched_off = "switched off by FUNCENV_NO_FAST_PATH"
    traced = [choice for choice in choices if choice.entry.endswith("in a traced function")]
    return {choice.num_envs: choice.refusal for choice in traced if choice.refusal != switched_off}


def quickly(function):
    return jax.jit(function, compiler_options=QUICKLY)


def assert_same(ours, theirs):
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("id", environments.sampled(IDS))
@pytest.mark.dear
def test_a_rollout_in_jit_is_the_one_from_python(id, choices):
    venv = FuncVectorEnv(funcenv.make(id, max_episode_steps=9), NUM_ENVS)

    def play(key):
        return funcenv.rollout(venv, funcenv.random_policy(venv), key, NUM_STEPS)

    ours, theirs = quickly(play)(funcenv.key(0)), play(funcenv.key(0))
    assert theirs[2].count >= 2 * NUM_ENVS
    assert_same(ours, theirs)
    assert tried(choices) == {NUM_ENVS: None}, "it is a kernel"


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.dear
def test_seeds_by_vmap_become_one_batch(mode, choices):
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
    assert tried(choices) == {3: None, 12: None}


@pytest.mark.dear
def test_constants_of_the_program_around_it(choices):
    """XLA aborts the process where it moves a large constant into a kernel."""
    num_envs = 4096
    venv = FuncVectorEnv(TimeLimit(CartPole(gravity=np.linspace(5, 15, num_envs, dtype=np.float32)), 9), num_envs)
    vstate = venv.reset(funcenv.key(7))[0]

    def play(key):
        return funcenv.rollout(venv, funcenv.random_policy(venv), key, 3, vstate=vstate)

    assert_same(quickly(play)(funcenv.key(0)), play(funcenv.key(0)))
    assert tried(choices) == {num_envs: None}


def test_an_evaluation_in_jit_over_parameters(choices):
    def mean_return(gravity):
        env = TimeLimit(CartPole(gravity=gravity), 30)
        return funcenv.evaluate(env, funcenv.random_policy(env), 4, funcenv.key(0)).mean_return

    gravities = jnp.linspace(1.0, 20.0, 3)
    ours = quickly(jax.vmap(mean_return))(gravities)
    np.testing.assert_array_equal(ours, [mean_return(gravity) for gravity in gravities])
    assert tried(choices) == {4: None, 12: None}


@pytest.mark.dear
def test_derivatives_are_those_of_the_plain_program(choices, monkeypatch):
    def total(mass):
        env = TimeLimit(Pendulum(m=mass), 9)
        venv = FuncVectorEnv(env, 2)
        return funcenv.rollout(venv, funcenv.random_policy(env), funcenv.key(0), 5, collect=rewards)[1].sum()

    ours = quickly(jax.value_and_grad(total))(1.1), quickly(jax.jacfwd(total))(1.1)
    assert tried(choices) == {2: None}
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    theirs = quickly(jax.value_and_grad(total))(1.1), quickly(jax.jacfwd(total))(1.1)
    off = ("rollout in a traced function", 2, "switched off by FUNCENV_NO_FAST_PATH")
    assert choices[1:] == [off]
    np.testing.assert_allclose(jax.tree.leaves(ours), jax.tree.leaves(theirs), rtol=1e-4)
    assert ours[1] != 0


def rewards(timestep, action):
    return timestep.reward


def test_derivatives_reach_the_weights_of_a_network(choices, monkeypatch):
    """Its policy captures them, so that only steps are kernels."""
    venv = FuncVectorEnv(TimeLimit(Pendulum(), 9), 2)

    def total(weights):
        def policy(observation, key):
            return jnp.tanh(observation @ weights)

        return funcenv.rollout(venv, policy, funcenv.key(0), 12, collect=rewards)[1].sum()

    weights = jnp.linspace(-0.5, 0.5, 3, dtype=jnp.float32).reshape(3, 1)
    ours = quickly(jax.value_and_grad(total))(weights)
    assert choices[-1] == ("step in a traced function", 2, None)
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    theirs = quickly(jax.value_and_grad(total))(weights)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-3)
    assert (ours[1] != 0).all()


@pytest.mark.dear
def test_what_cannot_be_a_kernel_runs_as_before(choices):
    """A policy that sorts, a network, a policy that captures a traced value, and a mean over environments."""
    env = TimeLimit(CartPole(), 9)
    venv, keys = FuncVectorEnv(env, 3), jax.random.split(funcenv.key(0), 2)

    def play(weights, key, collect=rewards):
        policy = jax.tree_util.Partial(sorting, weights)
        return funcenv.rollout(venv, policy, key, 5, collect=collect)[1]

    weights = jnp.ones(4, jnp.float32)
    assert_same(quickly(play)(weights, keys[0]), play(weights, keys[0]))
    assert choices[0] == ("rollout in a traced function", 3, "a kernel cannot hold the operation sort")

    table = jnp.ones((4, 20_000), jnp.float32)

    def multiplying(key):
        return funcenv.rollout(venv, lambda x, key: jnp.argmax((x @ table)[:2]), key, 5, collect=rewards)[1]

    choices.clear()
    assert_same(quickly(multiplying)(keys[0]), multiplying(keys[0]))
    outside = ("rollout in a traced function", 3, "the policy's network is faster outside of a kernel")
    assert choices[:2] == [outside, ("step in a traced function", 3, None)]

    def captured(threshold):
        return funcenv.rollout(venv, lambda x, key: (x[2] > threshold).astype(int), keys[0], 5, collect=None)[0]

    choices.clear()
    assert_same(quickly(captured)(0.0), captured(0.0))
    assert "captures a traced value" in choices[0].refusal

    def mean(key):
        return funcenv.rollout(venv, funcenv.random_policy(venv), key, 5, collect=lambda t, a: t.observation.mean(0))[1]

    choices.clear()
    assert_same(quickly(jax.vmap(mean))(keys), jnp.stack([mean(key) for key in keys]))
    assert choices[0].refusal == "collect may mix environments"


def sorting(weights, observation, key):
    return jnp.argmax(jnp.sort(weights * observation)).astype(jnp.int32) // 2


def test_a_wrong_kernel_is_not_used(choices):
    """The environment is another one each time that it is traced."""
    count = itertools.count()
    venv = FuncVectorEnv(TransformReward(TimeLimit(CartPole(), 9), lambda reward: reward + next(count)), 3)
    program = quickly(lambda key: funcenv.rollout(venv, funcenv.random_policy(venv), key, 5, collect=None)[0])
    text = program.lower(funcenv.key(0)).as_text()
    assert tried(choices) == {3: "the kernel's results differ from the plain program's"}
    assert "small_call" not in text

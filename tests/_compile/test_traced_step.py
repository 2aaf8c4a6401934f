"""Vector steps inside traced functions: which become a kernel, and that they equal the plain program's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv._compile.verified import recorded_choices
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import PixelObservation, TimeLimit, TransformReward
from tests.support import environments

pytestmark = pytest.mark.fast_path

NUM_STEPS = 24
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


def play(venv, vstate, key):
    """Take steps with random actions, as a loop of the user's own would."""

    def step(carry, _):
        vstate, key = carry
        key, action_key = jax.random.split(key)
        actions = jax.vmap(venv.single_action_space.sample)(jax.random.split(action_key, venv.num_envs))
        vstate, timestep = venv.step(vstate, actions)
        return (vstate, key), timestep

    (vstate, _), timesteps = jax.lax.scan(step, (vstate, key), None, NUM_STEPS)
    return vstate.replace(key=None), timesteps


def compare(function, *args, monkeypatch):
    """Assert that a function returns the same with kernels and without; return the result."""
    ours = jax.jit(function, compiler_options=QUICKLY)(*args)
    with monkeypatch.context() as patch:
        patch.setenv("FUNCENV_NO_FAST_PATH", "1")
        theirs = jax.jit(lambda *args: function(*args), compiler_options=QUICKLY)(*args)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    return ours


@pytest.mark.parametrize("id", environments.sampled(IDS))
@pytest.mark.dear
def test_a_step_in_a_loop_is_a_kernel(id, choices, monkeypatch):
    venv = FuncVectorEnv(funcenv.make(id, max_episode_steps=9), 10)
    vstate, _ = venv.reset(funcenv.key(0))
    compare(lambda vstate, key: play(venv, vstate, key), vstate, funcenv.key(1), monkeypatch=monkeypatch)
    assert tried(choices) == {10: None}


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("strategy", ["auto", "select"])
def test_modes_chunks_and_constants(mode, strategy, choices, monkeypatch):
    """Parameters and the first state are constants of the program; XLA aborts the process if it moves them."""
    num_envs = 1000
    env = TimeLimit(CartPole(gravity=np.linspace(5, 15, num_envs, dtype=np.float32)), 9)
    venv = FuncVectorEnv(env, num_envs, mode, strategy)
    vstate, _ = venv.reset(funcenv.key(0))
    compare(lambda key: play(venv, vstate, key), funcenv.key(1), monkeypatch=monkeypatch)
    assert tried(choices) == {num_envs: None}


def test_one_array_in_several_places(choices, monkeypatch):
    """The same array is three parts of the state and the actions, and a result is not used."""
    venv = FuncVectorEnv(TimeLimit(CartPole(), 9), 5)
    vstate, _ = venv.reset(funcenv.key(0))

    def step(numbers):
        state = jax.tree.map(lambda leaf: numbers if leaf.dtype == float else leaf, vstate.env_state)
        stepped, _ = venv.step(vstate.replace(env_state=state, episode_return=numbers), numbers.astype(int))
        return stepped.env_state, numbers

    compare(step, jnp.zeros(5), monkeypatch=monkeypatch)
    assert tried(choices) == {5: None}


@pytest.mark.dear
def test_seeds_by_vmap_become_one_batch(choices, monkeypatch):
    gravities = np.linspace(5, 15, 3, dtype=np.float32)
    venv = FuncVectorEnv(TimeLimit(CartPole(gravity=gravities), 9), 3)

    def of_seed(key, length):
        changed = venv.replace(env=venv.env.replace(length=length))
        vstate, _ = changed.reset(key)
        return play(changed, vstate, key)

    args = jax.random.split(funcenv.key(0), 4), jnp.linspace(0.4, 0.6, 4)
    compare(jax.vmap(of_seed), *args, monkeypatch=monkeypatch)
    assert tried(choices) == {3: None, 12: None}


@pytest.mark.dear
def test_derivatives_are_those_of_the_plain_program(choices, monkeypatch):
    venv = FuncVectorEnv(TimeLimit(Pendulum(), 9), 2)
    vstate, _ = venv.reset(funcenv.key(0))

    def total(mass):
        changed = venv.replace(env=venv.env.replace(m=mass))
        return play(changed, vstate, funcenv.key(1))[1].reward.sum()

    value, slope = compare(jax.value_and_grad(total), 1.1, monkeypatch=monkeypatch)
    assert slope != 0 and tried(choices) == {2: None}
    np.testing.assert_allclose(slope, compare(jax.jacfwd(total), 1.1, monkeypatch=monkeypatch), rtol=1e-3)


def test_what_cannot_be_a_kernel_runs_as_before(choices, monkeypatch):
    sorting = TransformReward(TimeLimit(CartPole(), 9), lambda reward: jnp.sort(jnp.stack([reward, 2.0]))[0])
    venv = FuncVectorEnv(sorting, 3)
    vstate, _ = venv.reset(funcenv.key(0))
    compare(lambda vstate, key: play(venv, vstate, key), vstate, funcenv.key(1), monkeypatch=monkeypatch)
    assert tried(choices) == {3: "a kernel cannot hold the operation sort"}


def test_images_are_drawn_plainly(choices, monkeypatch):
    venv = FuncVectorEnv(TimeLimit(PixelObservation(CartPole(), 8, 12), 9), 3)
    vstate, _ = venv.reset(funcenv.key(0))
    compare(lambda vstate, key: play(venv, vstate, key), vstate, funcenv.key(1), monkeypatch=monkeypatch)
    assert tried(choices) == {3: "it stores parts of an image, which is drawn as fast without a kernel"}


def test_a_call_from_python_tries_nothing(choices):
    venv = FuncVectorEnv(CartPole(), 3)
    venv.step(venv.reset(funcenv.key(0))[0], jnp.zeros(3, int))
    assert not choices

"""Programs of environments that call the host: no kernel is attempted, and the results are equal to rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile.options import host_options
from funcenv._compile.rollout.play import plain_program
from funcenv._compile.verified import recorded_choices
from funcenv.host import host_call
from funcenv.wrappers import TimeLimit

pytestmark = pytest.mark.fast_path
ONE = jax.ShapeDtypeStruct((), np.float32)


class Halving(funcenv.FuncEnv):
    """A number that the host halves."""

    fixed_start = differentiable = False
    calls_host = True

    def initial(self, key):
        return jax.random.uniform(key)

    def transition(self, state, action, key):
        return host_call(lambda number: number / 2, ONE, state) + 0.1 * action

    def observation(self, state, key):
        return state

    def reward(self, state, action, next_state):
        return jnp.square(state) * 0.3 + next_state * action

    def terminal(self, state):
        return jnp.zeros((), bool)

    @property
    def observation_space(self):
        return funcenv.spaces.Box(-jnp.inf, jnp.inf, ())

    @property
    def action_space(self):
        return funcenv.spaces.Box(-1.0, 1.0, ())


class Undeclared(Halving):
    """The same, without a word about the host."""

    calls_host = False


def play(env):
    venv = funcenv.FuncVectorEnv(TimeLimit(env, 5), num_envs=3)
    return funcenv.rollout(venv, lambda observation, key: jax.random.uniform(key), funcenv.key(0), 12)[1:]


def test_no_kernel_is_attempted_and_results_are_equal():
    with recorded_choices() as choices:
        expected = jax.device_get((play(Undeclared()), jax.jit(lambda: play(Undeclared()))()))
    assert {choice.refusal for choice in choices} == {"the program calls the host"}
    with recorded_choices() as choices:
        found = jax.device_get((play(Halving()), jax.jit(lambda: play(Halving()))()))
    assert {choice.refusal for choice in choices} == {"the environment calls the host"}
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)


def test_programs_that_call_the_host_are_compiled_quickly():
    assert host_options()["xla_backend_optimization_level"] == 1
    before = plain_program.quick.num_compilations()
    play(Halving())
    assert plain_program.quick.num_compilations() == before + 1
    play(Undeclared())
    assert plain_program.quick.num_compilations() == before + 1


def test_wrappers_say_what_the_environment_inside_says():
    assert TimeLimit(Halving(), 5).calls_host and not TimeLimit(Undeclared(), 5).calls_host
    assert funcenv.make("Pendulum-v1").calls_host is False

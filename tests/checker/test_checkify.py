"""Checked environments report errors from compiled programs with their cause, and change no results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv, PyTreeNode, wrappers
from funcenv.checker.checkify import checked
from funcenv.spaces import Dict, Discrete
from tests.support.tiny_envs import Tiny


class Walk(PyTreeNode):
    """A position and an age."""

    x: jax.Array
    age: jax.Array


class Root(Tiny):
    """An environment that steps to the root of x - 1, which is NaN below 1, and ends above 9."""

    start: float = 4.0
    observation_space = funcenv.spaces.Box(-np.inf, np.inf, ())
    action_space = Dict({"push": Discrete(2), "{odd}": Discrete(2)})

    def initial(self, key):
        return Walk(x=jnp.sqrt(jnp.asarray(self.start, float)), age=jnp.zeros((), jnp.int32))

    def transition(self, state, action, key):
        x = jnp.where(action["push"] == 1, state.x + 4, jnp.sqrt(state.x - 1))
        return Walk(x=x, age=state.age + 1)

    def observation(self, state, key):
        return state.x.astype(jnp.float32)

    def reward(self, state, action, next_state):
        return jnp.ones((), float)

    def terminal(self, state):
        return state.x > 9


def actions(*pushes):
    pushes = jnp.array(pushes, jnp.int32)
    return {"push": pushes, "{odd}": jnp.zeros_like(pushes)}


def play(env, pushes):
    """Return the message of the error of one compiled scan, or None."""
    given = actions(*pushes)

    def program(key):
        state, _ = env.reset(key)
        return jax.lax.scan(lambda state, action: env.step(state, action, key), state, given)

    error, _ = jax.jit(checkify.checkify(program))(funcenv.key(0))
    return error.get()


def test_nothing_to_report():
    assert play(checked(Root()), [0, 1, 0]) is None


def test_action_outside_the_space():
    message = play(checked(Root()), [0, 2])
    assert "action ['push'] = 2, ['{odd}'] = 0 is not in Dict(" in message


def test_nan_names_the_leaf_its_past_and_the_action():
    message = play(checked(Root()), [0, 0, 0, 0])
    assert "state.x is NaN: nan, was 0.0 before action ['push'] = 0" in message


def test_nan_after_a_reset():
    error, _ = jax.jit(checkify.checkify(checked(Root(start=-1.0)).reset))(funcenv.key(0))
    assert "state.x is NaN after a reset" in error.get()


def test_step_after_termination():
    message = play(checked(Root()), [1, 1, 1])
    assert "after the end of an episode (terminal: True, truncated: False)" in message
    assert play(checked(Root(), after_end=False), [1, 1, 1]) is None


def test_step_after_truncation():
    message = play(checked(wrappers.TimeLimit(Root(), 1)), [0, 1])
    assert "(terminal: False, truncated: True)" in message


def test_an_environment_that_resets_itself_has_no_end():
    assert play(checked(wrappers.Autoreset(wrappers.TimeLimit(Root(), 1))), [1, 1, 1]) is None


def test_the_first_error_is_reported():
    assert "is not in" in play(checked(Root()), [2, 0, 0, 0])


def test_plain_calls_raise_at_once():
    env = checked(Root())
    state, _ = env.reset(funcenv.key(0))
    with pytest.raises(checkify.JaxRuntimeError, match="is not in Dict"):
        env.step(state, {"push": jnp.int32(5), "{odd}": jnp.int32(0)}, funcenv.key(1))


def test_compiled_without_checkify_it_is_refused():
    env = checked(funcenv.make("CartPole-v1"))
    with pytest.raises(ValueError, match="checkify"):
        jax.jit(env.reset)(funcenv.key(0))
        jax.jit(env.step)(env.reset(funcenv.key(0))[0], 1, funcenv.key(1))


def test_it_changes_nothing():
    env = funcenv.make("CartPole-v1")
    key, action = funcenv.key(0), jnp.int32(1)
    state, _ = env.reset(key)
    _, (checked_state, checked_timestep) = jax.jit(checkify.checkify(checked(env).step))(state, action, key)
    expected_state, expected_timestep = jax.jit(env.step)(state, action, key)
    assert jax.tree.structure(checked_state) == jax.tree.structure(expected_state)
    jax.tree.map(np.testing.assert_array_equal, (checked_state, checked_timestep), (expected_state, expected_timestep))


def rollout_error(mode, after_end=True, action=1):
    env = checked(funcenv.make("CartPole-v1", max_episode_steps=3), after_end=after_end)
    venv = FuncVectorEnv(env, 2, mode)

    def program(key):
        return funcenv.rollout(venv, lambda observation, key: jnp.int32(action), key, 8)

    error, (_, trajectory, _) = jax.jit(checkify.checkify(program))(funcenv.key(0))
    assert trajectory.timestep.done.any()
    return error.get()


def test_inside_rollout():
    assert rollout_error(AutoresetMode.SAME_STEP) is None
    assert "action 3 is not in Discrete(2)" in rollout_error(AutoresetMode.SAME_STEP, action=3)


def test_modes_that_step_ended_environments():
    assert "after the end" in rollout_error(AutoresetMode.DISABLED)
    assert rollout_error(AutoresetMode.NEXT_STEP, after_end=False) is None


def test_inside_evaluate():
    env = checked(funcenv.make("CartPole-v1"), after_end=False)

    def program(key):
        return funcenv.evaluate(env, funcenv.random_policy(env), 3, key)

    error, evaluation = jax.jit(checkify.checkify(program))(funcenv.key(0))
    assert error.get() is None
    assert evaluation.finished.all()

"""Environments of funcenv behind the interfaces of gymnax and brax; `benchmarks/studies/trainers.py` runs theirs.

gymnax and brax are not installed with the tests, so the few classes of theirs that are needed are written here.
"""

import importlib.metadata
import sys
import types
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.interop import GymnaxEnv, to_brax, to_gymnax
from funcenv.interop.gymnax import space_to_gymnax
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, Tuple


def install(monkeypatch, version, **modules):
    """Pretend that a library is installed: its modules by name."""
    names = {name.replace("__", "."): types.SimpleNamespace(**content) for name, content in modules.items()}
    for name, module in names.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)


@pytest.fixture
def gymnax(monkeypatch):
    def space(*names):
        return lambda *values: dict(zip(names, values, strict=True))

    spaces = {
        "Discrete": space("n"),
        "Box": space("low", "high", "shape", "dtype"),
        "Dict": space("spaces"),
        "Tuple": space("spaces"),
    }
    install(monkeypatch, "1.0.1", gymnax={}, gymnax__environments__spaces=spaces)


@pytest.fixture
def brax(monkeypatch):
    @flax.struct.dataclass
    class State:
        pipeline_state: Any
        obs: Any
        reward: Any
        done: Any
        metrics: dict[str, Any]
        info: dict[str, Any]

    install(monkeypatch, "0.14.2", brax={}, brax__envs__base={"Env": object, "State": State})
    from funcenv.interop.brax import _brax_class

    _brax_class.cache_clear()
    yield
    _brax_class.cache_clear()


def pushes(env, params, num_steps, key):
    """Return what gymnax's `step` gives for pushes to the right, with legacy keys."""
    observation, state = env.reset(key, params)

    def step(state, key):
        observation, state, *results = env.step(key, state, 1, params)
        return state, (observation, *results)

    return jax.jit(lambda state, keys: jax.lax.scan(step, state, keys)[1])(state, jax.random.split(key, num_steps))


def test_gymnax_takes_a_squeezed_action_and_refuses_another_size():
    env, params = to_gymnax("Pendulum-v1", api="0.0")
    _, state = env.reset(jax.random.PRNGKey(0), params)

    @jax.jit
    def squeezed_step(action):  # Rejax's algorithms for continuous actions squeeze what they pass on
        return env.step(jax.random.PRNGKey(1), state, jnp.squeeze(action), params)

    @jax.jit
    def step(action):
        return env.step(jax.random.PRNGKey(1), state, action, params)

    action = jnp.float32([0.7])
    jax.tree.map(np.testing.assert_array_equal, squeezed_step(action), step(action))
    jax.tree.map(np.testing.assert_array_equal, step(action[None]), step(action))
    with pytest.raises(ValueError, match=r"has shape \(1,\), got shape \(2,\)"):
        step(jnp.zeros(2))


def test_gymnax_steps_are_ours_and_episodes_follow_each_other():
    env, params = to_gymnax("CartPole-v1", api="1.0")
    key = jax.random.PRNGKey(3)
    observations, rewards, terminated, truncated, info = pushes(env, params, 25, key)
    ended = int(np.flatnonzero(terminated)[0])
    assert ended in range(7, 12) and not truncated.any()
    np.testing.assert_array_equal(info["terminated"], terminated)
    # The step that ends an episode shows the first observation of the next one, and the last one in info.
    reset_key = jax.random.wrap_key_data(jax.random.split(jax.random.split(key, 25)[ended])[1], impl="threefry2x32")
    np.testing.assert_array_equal(observations[ended], params.reset(reset_key)[1].observation)
    assert abs(info["final_observation"][ended][2]) > 0.2
    np.testing.assert_array_equal(rewards, np.ones(25))


def test_gymnax_before_1_0_has_one_flag_and_a_discount():
    env, params = to_gymnax("CartPole-v1", api="0.0", max_episode_steps=5)
    _, _, done, info = pushes(env, params, 20, jax.random.PRNGKey(0))
    np.testing.assert_array_equal(np.flatnonzero(done), [4, 9, 14, 19])
    np.testing.assert_array_equal(info["discount"], np.ones(20))  # time limits are no terminations
    state = env.reset_env(jax.random.PRNGKey(0), params)[1]
    assert len(env.step_env(jax.random.PRNGKey(0), state, 0, params)) == 5
    late = state.replace(elapsed_steps=jnp.int32(5))
    assert env.is_terminal(late, params) and not env.is_terminated(late, params) and env.is_truncated(late, params)


def test_gymnax_parameters_change_and_are_batched():
    env, params = to_gymnax("CartPole-v1", api="1.0")
    changed = params.replace(gravity=20.0, max_steps_in_episode=7)
    assert (changed.max_steps_in_episode, changed.gravity, params.max_steps_in_episode) == (7, 20.0, 500)
    batch = jax.vmap(lambda force: params.replace(force_mag=force))(jnp.array([0.0, 10.0]))
    key = jax.random.PRNGKey(0)
    observation, state = env.reset(key)
    later = jax.vmap(lambda params: env.step(key, state, 1, params)[0])(batch)
    assert float(later[0, 1]) < 0.1 < float(later[1, 1])
    assert env.num_actions == 2 and env.name == "CartPole" and GymnaxEnv(funcenv.make("Pendulum-v1")).num_actions == 1


def test_gymnax_spaces_have_counterparts(gymnax):
    env, params = to_gymnax("CartPole-v1")
    assert env.api == "1.0" and env.action_space(params) == {"n": 2} == env.action_space()
    assert env.observation_space(params)["shape"] == (4,)
    nested = space_to_gymnax(Dict(a=Tuple([Discrete(3)]), b=Box(0, 1, (2,))))["spaces"]
    assert nested["a"] == {"spaces": [{"n": 3}]} and nested["b"]["shape"] == (2,)
    for space in (MultiBinary(3), Discrete(3, start=1)):
        with pytest.raises(TypeError, match=r"has no counterpart among gymnax's spaces; wrap the environment"):
            space_to_gymnax(space)


def test_gymnax_bad_input_is_named():
    with pytest.raises(ValueError, match=r"api must be \"0.0\" or \"1.0\", got '2'"):
        to_gymnax("CartPole-v1", api="2")
    with pytest.raises(ModuleNotFoundError, match=r'this needs gymnax: pip install "gymnax>=0"'):
        to_gymnax("CartPole-v1")
    with pytest.raises(TypeError, match=r"to_gymnax takes a FuncEnv, got 3"):
        to_gymnax(3, api="1.0")


def test_brax_rescales_actions_and_tells_truncation(brax):
    env = to_brax("Pendulum-v1", max_episode_steps=3)
    assert (env.observation_size, env.action_size, env.backend) == (3, 1, "funcenv")
    state = env.reset(jax.random.PRNGKey(0))
    inner = env.func_env.unwrapped
    step = jax.jit(env.step)
    following = step(state, jnp.array([0.5]))
    expected, _ = inner.step(state.pipeline_state.env_state, jnp.array([1.0]), funcenv.key(0))
    np.testing.assert_allclose(following.pipeline_state.env_state.theta_dot, expected.theta_dot, rtol=1e-6)
    assert float(following.done) == float(following.info["truncation"]) == 0
    last = step(step(following, jnp.zeros(1)), jnp.zeros(1))
    assert float(last.done) == float(last.info["truncation"]) == 1


def test_brax_takes_the_action_of_the_largest_number(brax):
    env = to_brax(funcenv.make("CartPole-v1"), gravity=1.6)
    assert env.func_env.gravity == 1.6 and env.action_size == 2
    state = env.reset(jax.random.key(0))
    assert (
        float(env.step(state, jnp.array([-1.0, 0.3])).obs[1]) > 0 > float(env.step(state, jnp.array([1, 0.9])).obs[1])
    )
    assert to_brax("FrozenLake-v1").observation_size == 16  # one-hot


def test_brax_draws_anew_in_each_step(brax):
    env = to_brax("FrozenLake-v1")
    state = env.reset(jax.random.PRNGKey(0))
    step, keys = jax.jit(env.step), []
    for _ in range(3):
        state = step(state, jnp.ones(4))
        keys.append(tuple(np.asarray(state.info["key"])))
    assert len(set(keys)) == 3


def test_brax_bad_input_is_named(brax):
    with pytest.raises(TypeError, match=r"brax's actions are vectors, not members of Tuple"):
        to_brax(_with_action_space(Tuple([Discrete(2), Discrete(2)])))


def _with_action_space(space):
    env = funcenv.make("CartPole-v1")
    return funcenv.wrappers.TransformAction(env, lambda action: action[0], space)

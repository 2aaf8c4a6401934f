"""Parameters that are drawn anew for every episode, and reach every function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import RandomizeParameters, TimeLimit
from tests.support.tiny_envs import Tiny


def lengths(key, env):
    del env
    return {"length": jax.random.uniform(key, (), float, 0.25, 0.75)}


class Everywhere(Tiny):
    """Every function shows the parameter, and counts how often it is compiled."""

    number: float = 0.0
    size: int = funcenv.field(pytree_node=False, default=1)
    counts: list = funcenv.field(pytree_node=False, default_factory=lambda: Tally())
    observation_space = funcenv.spaces.Box(-jnp.inf, jnp.inf, (1,))

    def initial(self, key):
        return jnp.asarray(self.number, jnp.float32)

    def transition(self, state, action, key):
        self.counts.compiled += 1
        return jnp.asarray(self.number, jnp.float32) + 0 * state

    def observation(self, state, key):
        return jnp.asarray(self.number, jnp.float32).reshape(1)

    def reward(self, state, action, next_state):
        return self.number

    def terminal(self, state):
        return jnp.asarray(self.number > 5)

    def truncated(self, state):
        return jnp.asarray(self.number > 7)

    def state_info(self, state):
        return {"state": self.number}

    def transition_info(self, state, action, next_state):
        return {"transition": self.number}

    def scene(self, state):
        return self.number


class Tally:
    """Counts."""

    compiled = 0


def test_reaches_every_function():
    env = RandomizeParameters(Everywhere(), lambda key, env: {"number": jnp.float32(8)})
    state, timestep = env.reset(funcenv.key(0))
    assert state.env_state == timestep.observation[0] == timestep.info["state"] == env.scene(state) == 8
    state, timestep = env.step(state, 0, funcenv.key(1))
    assert state.env_state == timestep.observation[0] == timestep.reward == 8
    assert timestep.info == {"state": 8, "transition": 8}
    assert timestep.terminated
    assert timestep.truncated


def test_steps_as_the_environment_with_those_parameters():
    env = RandomizeParameters(TimeLimit(CartPole(), 500), lengths)
    state, _ = env.reset(funcenv.key(0))
    drawn = state.parameters["CartPole.length"]
    plain = TimeLimit(CartPole(length=drawn), 500)
    inner = state.env_state
    for count in range(3):
        key = funcenv.key(count)
        state, timestep = env.step(state, 1, key)
        inner, expected = plain.step(inner, 1, key)
        np.testing.assert_array_equal(timestep.observation, expected.observation)
    assert state.parameters == {"CartPole.length": drawn}
    assert env.inner_env(state).unwrapped.length == drawn


def test_every_reset_draws_and_nothing_compiles_again():
    env = RandomizeParameters(Everywhere(), lambda key, env: {"number": jax.random.uniform(key, (), jnp.float32)})
    venv = funcenv.FuncVectorEnv(TimeLimit(env, 2), num_envs=3)
    reset, step = jax.jit(venv.reset), jax.jit(venv.step)
    vstate, timestep = reset(funcenv.key(0))
    compiled, seen = None, [timestep.observation]
    for _ in range(6):
        vstate, timestep = step(vstate, jnp.zeros(3, jnp.int32))
        compiled = compiled or env.env.counts.compiled
        seen.append(timestep.observation)
    assert env.env.counts.compiled == compiled
    numbers = np.concatenate(seen, axis=1)  # [num_envs, steps]; episodes of two steps
    assert len(np.unique(numbers)) == 3 * 4
    np.testing.assert_array_equal(numbers[:, 0], numbers[:, 1])
    assert (numbers[:, 1] != numbers[:, 2]).all()


def test_draws_have_the_distribution_of_the_sampler():
    env = RandomizeParameters(CartPole(), lengths)
    drawn = jax.vmap(lambda key: env.initial(key).parameters["CartPole.length"])(jax.random.split(funcenv.key(0), 2000))
    assert stats.kstest(drawn, stats.uniform(0.25, 0.5).cdf).pvalue > 0.01


def test_a_sampler_may_return_the_environment():
    def sampler(key, env):
        mass_key, limit_key = jax.random.split(key)
        pendulum = env.env.replace(m=jax.random.uniform(mass_key, (), float, 1, 2))
        return env.replace(env=pendulum, max_episode_steps=jax.random.randint(limit_key, (), 3, 9))

    env = RandomizeParameters(TimeLimit(Pendulum(), 200), sampler)
    state, _ = env.reset(funcenv.key(0))
    assert sorted(state.parameters) == ["Pendulum.m", "TimeLimit.max_episode_steps"]
    for count in range(int(state.parameters["TimeLimit.max_episode_steps"])):
        state, timestep = env.step(state, jnp.zeros(1), funcenv.key(count))
    assert timestep.truncated


def test_layers_of_one_kind_are_told_apart():
    def sampler(key, env):
        del key
        inner = env.env.replace(max_episode_steps=jnp.int32(9))
        return env.replace(env=inner, max_episode_steps=jnp.int32(2))

    env = RandomizeParameters(TimeLimit(TimeLimit(CartPole(), 50), 50), sampler)
    state, _ = env.reset(funcenv.key(0))
    assert state.parameters == {"TimeLimit.max_episode_steps": 9, "TimeLimit.max_episode_steps#2": 2}
    assert env.inner_env(state).max_episode_steps == 2


def test_spaces_are_those_declared():
    env = RandomizeParameters(Pendulum(max_torque=5.0), lambda key, env: {"max_torque": jnp.float32(1.0)})
    assert env.action_space == Pendulum(max_torque=5.0).action_space


@pytest.mark.parametrize(
    ("sampler", "error", "message"),
    [
        (lambda key, env: None, TypeError, r"must return an environment or a dict of parameters, got NoneType"),
        (
            lambda key, env: {"weight": 1.0},
            TypeError,
            r"Everywhere has no field 'weight'; its fields are: number, size",
        ),
        (lambda key, env: {"size": 2}, ValueError, r"compile-time choices, such as sizes, cannot be drawn"),
        (lambda key, env: CartPole(), ValueError, r"must return the same environment with other parameters"),
        (
            lambda key, env: {"number": jnp.zeros(1)},
            ValueError,
            r"must draw Everywhere.number with shape \(\), got \(1,\)",
        ),
        (lambda key, env: env, ValueError, r"sampler drew no parameter; return a dict of them"),
    ],
)
def test_what_a_sampler_must_not_return(sampler, error, message):
    with pytest.raises(error, match=message):
        RandomizeParameters(Everywhere(), sampler).reset(funcenv.key(0))


def test_a_sampler_is_a_function():
    with pytest.raises(TypeError, match=r"sampler must be a function of a key and an environment, got \{'length': 1\}"):
        RandomizeParameters(CartPole(), {"length": 1})


def test_an_error_of_the_sampler_says_how_it_is_called():
    env = RandomizeParameters(CartPole(), lambda env, key: env.replace(gravity=jax.random.uniform(key)))
    with pytest.raises(AttributeError, match="replace") as caught:
        env.reset(funcenv.key(0))
    assert caught.value.__notes__[0].startswith(
        "raised by the sampler, which is called as sampler(key, env) and returns"
    )

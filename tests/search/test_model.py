"""Branches are what a loop of single steps plays, and playouts are sums of their rewards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.search import branch, playouts
from funcenv.wrappers import TimeLimit
from tests.support.tiny_envs import Counter, Tiny


def replayed(env, state, actions, key):
    """Play one sequence of actions by a loop; after the end, repeat the last time step with reward 0."""
    step, rewards, ends = jax.jit(env.step), [], []
    for number, action in enumerate(actions):
        if ends and ends[-1]:
            rewards.append(0.0), ends.append(True)
            continue
        state, timestep = step(state, action, jax.random.fold_in(key, np.uint32(number)))
        rewards.append(float(timestep.reward)), ends.append(bool(timestep.done))
    return state, rewards, ends


def assert_same(found, expected):
    """Compare integers bit for bit, and floats up to the rounding of another program."""
    tolerance = 1e-5 if np.issubdtype(expected.dtype, np.floating) else 0
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "MinAtar/Breakout-v1"])
def test_a_branch_is_its_replay(env_id):
    env, key = funcenv.make(env_id), funcenv.key(1)
    state, _ = env.reset(funcenv.key(0))
    sample = jax.vmap(lambda key: env.action_space.sample(key))
    actions = sample(jax.random.split(key, 5 * 40)).reshape(5, 40)
    branches = jax.jit(branch)(env, state, actions, key)
    for index, branch_key in enumerate(jax.random.split(key, 5)):
        last, rewards, ends = replayed(env, state, actions[index], branch_key)
        jax.tree.map(lambda leaf, alone, index=index: assert_same(leaf[index], alone), branches.state, last)
        np.testing.assert_array_equal(branches.timestep.reward[index], rewards)
        np.testing.assert_array_equal(branches.timestep.done[index], ends)


def test_a_branch_needs_two_axes():
    with pytest.raises(ValueError, match=r"\[num_branches, num_steps, ...\], got the shape \(3,\)"):
        branch(Counter(), jnp.int32(0), jnp.zeros(3, int), funcenv.key(0))
    with pytest.raises(TypeError, match="FuncEnv"):
        branch("CartPole-v1", jnp.int32(0), jnp.zeros((3, 1), int), funcenv.key(0))


@pytest.mark.parametrize(
    ("env", "num_steps", "gamma", "expected"),
    [
        (Counter(goal=100), 3, 1.0, 2 + 4 + 6),
        (Counter(goal=100), 3, 0.5, 2 + 2 + 1.5),
        (Counter(goal=4), 10, 1.0, 2 + 4),
        (TimeLimit(Counter(goal=100), 2), 10, 1.0, 2 + 4),
    ],
)
def test_a_playout_is_the_discounted_return(env, num_steps, gamma, expected):
    state, timestep = env.reset(funcenv.key(0))
    value_and_prior = playouts(env, lambda observation, key: 2, num_steps, gamma=gamma)
    value, logits = value_and_prior(state, timestep.observation, funcenv.key(0))
    assert value == expected and logits.shape == (3,) and not logits.any()


def test_a_value_counts_after_the_last_step_of_a_game_that_goes_on():
    def value_of(env, value=lambda observation: 8.0 * observation[0]):
        state, timestep = env.reset(funcenv.key(0))
        plays = playouts(env, lambda observation, key: 2, 2, gamma=0.5, value=value)
        return jax.jit(plays)(state, timestep.observation, funcenv.key(0))[0]

    assert value_of(Counter(goal=100)) == 2 + 0.5 * 4 + 0.25 * 8 * 4
    with pytest.raises(ValueError, match=r"value\(observation\) must return a scalar, got float32\[2\]"):
        value_of(Counter(goal=100), lambda observation: observation)
    assert value_of(Counter(goal=4)) == value_of(TimeLimit(Counter(goal=100), 2)) == 2 + 0.5 * 4


def test_a_playout_stops_where_the_caller_ends_the_search():
    plays = playouts(
        *(Counter(goal=100), lambda observation, key: 2, 10),
        gamma=1.0,
        value=lambda observation: observation[0],
        ends=lambda timestep: timestep.reward >= 4,
    )
    assert plays(jnp.int32(0), jnp.zeros(2), funcenv.key(0))[0] == 2 + 4


class Coin(Tiny):
    """Pays 1 or 0 by chance."""

    def initial(self, key):
        return jnp.int32(0)

    def transition(self, state, action, key):
        return jax.random.bernoulli(key).astype(jnp.int32)

    def reward(self, state, action, next_state):
        return next_state.astype(float)


def test_playouts_average_over_chance():
    state, timestep = Coin().reset(funcenv.key(0))
    value_and_prior = playouts(Coin(), lambda observation, key: 0, 4, num_playouts=4000, gamma=1.0)
    value, _ = jax.jit(value_and_prior)(state, timestep.observation, funcenv.key(0))
    assert value == pytest.approx(2.0, abs=0.08)  # five standard errors


def test_playouts_refuse_bad_arguments():
    with pytest.raises(ValueError, match="num_steps must be at least 1"):
        playouts(Counter(), lambda observation, key: 0, 0)
    with pytest.raises(TypeError, match="takes a policy"):
        playouts(Counter(), "random", 3)
    with pytest.raises(TypeError, match=r"value must be a function value\(observation\), got 3.0; leave it out"):
        playouts(Counter(), lambda observation, key: 0, 3, value=3.0)
    with pytest.raises(TypeError, match=r"ends must be a function ends\(timestep\), got 4"):
        playouts(Counter(), lambda observation, key: 0, 3, ends=4)

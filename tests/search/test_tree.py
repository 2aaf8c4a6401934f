"""Tree search on environments whose exact values are known."""

import sys

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.search import make_search, playouts
from funcenv.wrappers import Autoreset, StateObservation, TimeLimit
from tests.support import tables
from tests.support.tiny_envs import Counter

GAMMA = 0.9


def constant(value):
    """Return a value for every state, and equal logits for three actions."""
    return lambda state, observation, key: (jnp.float32(value), jnp.zeros(3))


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def search_from(search, key=0):
    state, timestep = search.env.reset(funcenv.key(key))
    return jax.jit(search.search)(state, timestep.observation, funcenv.key(key + 1))


@pytest.fixture(scope="module")
def lake():
    """Return a lake without slipping, and its exact values."""
    table = tables.reference(gymnasium.make("FrozenLake-v1", is_slippery=False).unwrapped)
    return funcenv.make("FrozenLake-v1", is_slippery=False), table, table.optimal_values(GAMMA)


def test_one_visit_of_each_action_of_a_table_gives_its_exact_value(lake):
    env, table, values = lake
    exact = jnp.asarray(values, jnp.float32)
    search = make_search(
        env, lambda state, observation, key: (exact[observation], jnp.zeros(4)), 4, gamma=GAMMA, method="gumbel"
    )
    start, _ = env.reset(funcenv.key(0))

    @jax.jit
    @jax.vmap
    def search_all(number):
        env_state = start.env_state.replace(row=number // 4, column=number % 4)
        state = start.replace(env_state=env_state)
        return search.search(state, number, funcenv.key(1))

    alive = np.flatnonzero(~table.terminated[:, :, 0].all(1) & (values > 0)).astype(np.int32)
    result = search_all(jnp.asarray(alive))
    expected = table.action_values(values, GAMMA)[alive]
    assert (result.visits == 1).all()
    np.testing.assert_allclose(result.action_values, expected, rtol=1e-6)
    assert (np.take_along_axis(expected, result.action[:, None], 1)[:, 0] >= expected.max(1) - 1e-9).all()


def test_playouts_find_a_goal_that_is_out_of_sight(lake):
    env, _, _ = lake
    search = make_search(env, playouts(env, funcenv.random_policy(env), 50, num_playouts=64), 32)
    evaluation = funcenv.evaluate(env, search, 8, funcenv.key(0))
    assert (evaluation.episode_return == 1).all()


@pytest.mark.parametrize("num_simulations", [3, 40])
def test_nothing_follows_a_terminal_state(num_simulations):
    result = search_from(make_search(Counter(goal=1), constant(100.0), num_simulations, gamma=GAMMA))
    visited = result.visits[1:] > 0
    np.testing.assert_allclose(result.action_values[1:], jnp.where(visited, jnp.array([1.0, 2.0]), 0.0))
    assert result.action == 0  # which goes on, to a value of 100


@pytest.mark.parametrize("num_simulations", [3, 40])
def test_nothing_follows_where_the_caller_ends_the_search(num_simulations):
    settings = constant(100.0), num_simulations
    ended = search_from(make_search(Counter(), *settings, gamma=GAMMA, ends=lambda timestep: timestep.reward >= 1))
    terminal = search_from(make_search(Counter(goal=1), *settings, gamma=GAMMA))
    jax.tree.map(np.testing.assert_array_equal, ended, terminal)


@pytest.mark.parametrize("num_simulations", [3, 40])
def test_the_search_stops_at_a_truncation_and_takes_the_value_there(num_simulations):
    result = search_from(make_search(TimeLimit(Counter(), 1), constant(100.0), num_simulations, gamma=GAMMA))
    expected = jnp.where(result.visits > 0, jnp.array([90.0, 91.0, 92.0]), 0.0)
    np.testing.assert_allclose(result.action_values, expected, rtol=1e-6)


def test_rewards_are_discounted_along_a_path():
    result = search_from(make_search(TimeLimit(Counter(), 2), constant(0.0), 100, gamma=0.5))
    worst, best = (
        jnp.arange(3.0) * 1.5,
        jnp.arange(3.0) * 1.5 + 1,
    )  # the second action adds 0 to 2 to what is paid again
    assert (worst * 0.9 <= result.action_values).all() and (result.action_values <= best).all()
    assert result.action == 2


def test_illegal_actions_are_never_tried():
    env = funcenv.make("Taxi-v4")
    search = make_search(env, playouts(env, funcenv.random_policy(env), 3), 24)
    state, timestep = env.reset(funcenv.key(0))
    result = jax.jit(search.search)(state, timestep.observation, funcenv.key(1))
    illegal = timestep.info["action_mask"] == 0
    assert illegal.any()
    assert (result.visits[illegal] == 0).all() and (result.action_weights[illegal] == 0).all()
    assert result.action_weights.sum() == pytest.approx(1)


def test_actions_have_the_numbers_and_the_dtype_of_their_space():
    class Offset(Counter):
        action_space = funcenv.spaces.Discrete(3, start=5)

        def transition(self, state, action, key):
            return super().transition(state, action - 5, key)

    result = search_from(make_search(Offset(), constant(0.0), 12))
    assert result.action == 7 and result.action.dtype == Offset.action_space.dtype


def test_jit_and_vmap_change_no_result():
    search = make_search(Counter(goal=4), playouts(Counter(goal=4), lambda observation, key: 1, 5), 9)
    keys = jax.random.split(funcenv.key(3), 4)
    observation = jnp.zeros(2)
    together = jax.jit(jax.vmap(lambda key: search.search(jnp.int32(0), observation, key)))(keys)
    for index, key in enumerate(keys):
        alone = search.search(jnp.int32(0), observation, key)
        jax.tree.map(lambda leaf, single, index=index: assert_near(leaf[index], single), together, alone)


def test_the_policy_plays_in_rollouts_records_and_stateful_environments():
    env = TimeLimit(Counter(goal=100), 4)
    search = make_search(env, constant(0.0), 40)
    shown = search.adapt_env(env)
    _, trajectory, _ = funcenv.rollout(funcenv.FuncVectorEnv(shown, 2), search, funcenv.key(0), 3)
    assert (trajectory.action == 2).all() and trajectory.timestep.reward.tolist() == [[2, 2], [4, 4], [6, 6]]
    stateful = funcenv.adapters.FunctionalEnv(shown)
    observation, _ = stateful.reset(seed=0)
    assert stateful.step(search(observation, funcenv.key(0)))[1] == 2


def test_other_parameters_compile_nothing_again():
    traces = []

    def value_and_prior(value, state, observation, key):
        traces.append(value)
        return value, jnp.zeros(3)

    def search_with(value, goal):
        search = make_search(Counter(goal=goal), jax.tree_util.Partial(value_and_prior, jnp.float32(value)), 3)
        return jitted(search, jnp.int32(0), jnp.zeros(2), funcenv.key(0)).value

    jitted = jax.jit(lambda search, *args: search.search(*args))
    first, traced = search_with(1.0, 5), len(traces)
    assert search_with(2.0, 6) != first and len(traces) == traced


def test_a_search_refuses_what_it_cannot_plan_for(monkeypatch):
    env = TimeLimit(Counter(), 5)
    with pytest.raises(ValueError, match="plans within one episode, and Autoreset begins new ones"):
        make_search(Autoreset(env), constant(0.0), 3)
    with pytest.raises(TypeError, match="make_shooting"):
        make_search(funcenv.make("Pendulum-v1"), constant(0.0), 3)
    with pytest.raises(TypeError, match="playouts makes one"):
        make_search(env, None, 3)
    with pytest.raises(TypeError, match=r"ends must be a function ends\(timestep\), got True; leave it out"):
        make_search(env, constant(0.0), 3, ends=True)
    with pytest.raises(ValueError, match="num_simulations must be at least 1"):
        make_search(env, constant(0.0), 0)
    with pytest.raises(ValueError, match="method must be one of muzero, gumbel"):
        make_search(env, constant(0.0), 3, method="uct")
    with pytest.raises(ValueError, match="exploration must be at least 0"):
        make_search(env, constant(0.0), 3, exploration=-1.0)
    with pytest.raises(ValueError, match="gamma"):
        make_search(env, constant(0.0), 3, gamma=1.5)
    with pytest.raises(TypeError, match="FuncEnv"):
        make_search("CartPole-v1", constant(0.0), 3)
    with pytest.raises(ValueError, match="other states"):
        make_search(env, constant(0.0), 3).adapt_env(Counter())
    monkeypatch.setitem(sys.modules, "mctx", None)
    with pytest.raises(ModuleNotFoundError, match=r"funcenv\[search\]"):
        make_search(env, constant(0.0), 3)


def test_a_state_observation_gives_the_state_back():
    env = StateObservation(funcenv.make("CartPole-v1"))
    state, timestep = env.reset(funcenv.key(0))
    assert timestep.observation in env.observation_space
    jax.tree.map(np.testing.assert_array_equal, env.state_of(timestep.observation), state)


@pytest.mark.exhaustive
@pytest.mark.parametrize("env_id", ["ALE/Pong-v5", "MinAtar/Breakout-v1"])
def test_games_are_searched_by_their_states(env_id):
    env = funcenv.make(env_id, max_episode_steps=4)
    search = make_search(env, playouts(env, funcenv.random_policy(env), 2), 6)
    evaluation = funcenv.evaluate(env, search, 2, funcenv.key(0))
    assert (evaluation.episode_length == 4).all()

"""Steps that algorithms learn from: they do not depend on resets, lives may end, and rewards may have a lower bound."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.train import alphazero, bc, ppo, q_learning
from funcenv.train.updates.collector import Collector
from funcenv.train.updates.learner_view import is_reset
from funcenv.train.updates.replay_buffer import Steps

NUM_ENVS, NUM_STEPS = 5, 60


def act(observation):
    """Return actions by the observations alone: pushes that let the pole fall sometimes, before or after the limit."""
    return (observation[:, 1] < observation[:, 0] * 100).astype(jnp.int32)


@jax.jit
def same_step(key):
    """Return what a `Collector` gives the algorithms, whose environments are reset in the step that ends an episode."""
    env = funcenv.make("CartPole-v1", max_episode_steps=11)
    collector, _ = Collector.start(env, NUM_ENVS, key)
    _, experience = collector.run(env, lambda observation, step_index: (act(observation),) * 2, NUM_STEPS)
    return Steps.of(experience)


@jax.jit
def next_step(key):
    """Return the steps of environments that are reset by the step after the last one, and which steps are resets."""
    env = funcenv.make("CartPole-v1", max_episode_steps=11)
    venv = funcenv.FuncVectorEnv(env, NUM_ENVS, funcenv.AutoresetMode.NEXT_STEP)

    def step(carry, _):
        vstate, observation = carry
        action = act(observation)
        is_reset = vstate.done
        vstate, timestep = venv.step(vstate, action)
        steps = observation, action, timestep.reward, timestep.terminated, timestep.done, timestep.observation
        return (vstate, timestep.observation), (Steps(*steps), is_reset)

    vstate, timestep = venv.reset(key)
    return jax.lax.scan(step, (vstate, timestep.observation), length=2 * NUM_STEPS)[1]


@jax.jit
def disabled(key):
    """Return the steps of environments that the caller resets."""
    env = funcenv.make("CartPole-v1", max_episode_steps=11)
    venv = funcenv.FuncVectorEnv(env, NUM_ENVS, funcenv.AutoresetMode.DISABLED)

    def step(carry, _):
        vstate, observation = carry
        action = act(observation)
        vstate, timestep = venv.step(vstate, action)
        steps = observation, action, timestep.reward, timestep.terminated, timestep.done, timestep.observation
        vstate, begun = venv.reset(vstate=vstate, mask=timestep.done)
        return (vstate, begun.observation), (Steps(*steps), jnp.zeros(NUM_ENVS, bool))

    vstate, timestep = venv.reset(key)
    return jax.lax.scan(step, (vstate, timestep.observation), length=NUM_STEPS)[1]


@pytest.mark.parametrize("other_mode", [next_step, disabled])
def test_transitions_are_those_of_every_autoreset_mode(other_mode):
    """Each environment's observations, actions, rewards, flags, and observations that values are bootstrapped from."""
    ours = same_step(funcenv.key(0))
    theirs, is_reset = other_mode(funcenv.key(0))
    truncated = ours.done & ~ours.terminated
    assert ours.terminated.any() and truncated.any()
    for env in range(NUM_ENVS):
        kept = np.flatnonzero(~is_reset[:, env])[:NUM_STEPS]
        assert len(kept) == NUM_STEPS
        for name, a, b in zip(Steps._fields, ours, theirs, strict=True):
            a, b = a[:, env], b[kept, env]
            if np.issubdtype(a.dtype, np.floating):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4, err_msg=name)
            else:
                np.testing.assert_array_equal(a, b, err_msg=name)


def collect(config, actions):
    """Return what a `Collector` gives an algorithm whose environments take the same actions in every step."""
    env = config.make_env()

    @jax.jit
    def run(key):
        collector, _ = Collector.start(env, config.num_envs, key)
        return collector.run(env, lambda observation, step_index: (jnp.asarray(actions), None), config.num_steps)

    return run(funcenv.key(0))


@pytest.mark.parametrize("as_episodes", [True, False])
def test_games_go_on_after_a_lost_life_and_are_counted_as_a_whole(as_episodes):
    """Each game of Breakout has five lives, of which an agent that serves and waits loses one after the other."""
    config = ppo.Config(env_id="arcade/Breakout-v0", terminal_on_life_loss=as_episodes, num_envs=2, num_steps=700)
    collector, (observation, _, timestep) = collect(config, np.ones(2, np.int32))
    lives = np.asarray(observation[:, :, 7])
    falls, ends = lives[1:] < lives[:-1], lives[1:] > lives[:-1]
    assert falls.sum() > 8 and ends.sum() >= 2
    np.testing.assert_array_equal(timestep.terminated[:-1], ends | falls if as_episodes else ends)
    resets = np.asarray(is_reset(timestep))
    np.testing.assert_array_equal(resets[:-1], ends)
    played = np.flip(np.cumsum(np.flip(resets, 0), axis=0), 0) > 0  # steps of games that were finished
    figures = collector.episodes.metrics()
    assert figures["episodes"] == resets.sum()
    np.testing.assert_allclose(
        figures["mean_return"], np.asarray(timestep.reward)[played].sum() / resets.sum(), rtol=1e-6
    )
    np.testing.assert_allclose(figures["mean_length"], played.sum() / resets.sum(), rtol=1e-6)


@pytest.mark.parametrize("min_reward", [None, -1.0])
def test_rewards_have_a_lower_bound_where_an_agent_learns_from_them_and_not_in_returns(min_reward):
    config = ppo.Config(env_id="Pendulum-v1", min_reward=min_reward, num_envs=2, num_steps=200)
    collector, (_, _, timestep) = collect(config, np.ones((2, 1), np.float32))
    assert timestep.reward.shape == (200, 2) and timestep.done[-1].all()
    assert (timestep.reward.min() == -1) if min_reward else (timestep.reward.min() < -5)
    assert (timestep.reward[1:] > -1).any()
    returns = collector.episodes.metrics()["mean_return"]
    np.testing.assert_allclose(returns, timestep.episode_return[-1].mean(), rtol=1e-6)
    assert returns < -600


def test_a_table_is_learned_from_rewards_with_a_lower_bound():
    """Each step on a cliff costs 1 or 100, and an episode ends soon, so that no value is below the sum of ones."""
    tables = {}
    for min_reward in (None, -1.0):
        config = q_learning.Config(env_id="CliffWalking-v1", min_reward=min_reward, total_timesteps=20_000)
        env = config.make_env()
        state, _ = jax.jit(functools.partial(q_learning.update, config, env))(
            jax.jit(functools.partial(q_learning.init, config, env))(funcenv.key(0))
        )
        tables[min_reward] = np.asarray(state.table)
    assert tables[None].min() < -50 < tables[-1.0].min() < 0


def test_only_algorithms_that_learn_from_the_rewards_of_environments_have_a_lower_bound():
    for algorithm in (alphazero, bc):
        with pytest.raises(TypeError, match="unexpected keyword argument 'min_reward'"):
            algorithm.Config(min_reward=-1.0)
    with pytest.raises(ValueError, match="min_reward must be a finite number, got -inf"):
        ppo.Config(min_reward=-float("inf"))


def test_an_environment_without_lives_is_refused():
    with pytest.raises(ValueError, match="terminal_on_life_loss needs an entry 'lives' in info, and CartPole has"):
        ppo.Config(terminal_on_life_loss=True).make_env()

"""Augmented random search: scores, steps and copies as its paper defines them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import funcenv
from funcenv.train import ars
from funcenv.train.loop import Learner, train
from funcenv.vector import FuncVectorEnv

CONFIG = ars.Config(num_envs=8, num_steps=60, elite_fraction=0.75, total_timesteps=8 * 60 * 3)


def test_a_step_is_that_of_the_paper():
    """Algorithm 2 of Mania, Guy and Recht, "Simple random search of static linear policies", 2018, in NumPy."""
    rng = np.random.default_rng(0)
    directions, scores = rng.normal(size=(6, 4)), rng.normal(size=(6, 2)) * 50
    order = sorted(range(6), key=lambda k: -max(scores[k]))[:4]
    deviation = np.std([score for k in order for score in scores[k]])
    expected = sum((scores[k][0] - scores[k][1]) * directions[k] for k in order) / (4 * deviation)
    found = ars.ascent(jnp.array(directions), jnp.array(scores), num_elites=4)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(ars.ascent(jnp.array(directions), jnp.array(scores * 9 + 5), 4), expected, rtol=1e-4)


def test_equal_scores_move_nothing():
    assert (ars.ascent(jnp.ones((3, 2)), jnp.full((3, 2), 7.0), num_elites=2) == 0).all()


def test_the_score_is_the_mean_return_of_whole_episodes_or_the_rewards_so_far():
    venv = FuncVectorEnv(funcenv.make("CartPole-v1"), 3)
    vstate, timestep = venv.reset(funcenv.key(0))
    rewards = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    done = jnp.array([[False, True, False], [False, False, True], [False, True, False]])
    steps = timestep.replace(reward=rewards, terminated=done, truncated=done & False)
    assert ars.score(steps).tolist() == [1 + 4 + 7, (2 + (5 + 8)) / 2, 3 + 6]


def test_an_update_scores_what_each_copy_reaches_on_its_own():
    """Two copies of a direction begin in the same state; each is played here by itself, step by step."""
    learner = Learner(ars, CONFIG)
    state = jax.tree.map(lambda leaf: leaf[0], learner.advance(learner.init(funcenv.key(0)), 1)[0])
    direction_key, env_key, _ = jax.random.split(state.key, 3)
    params, restore = ravel_pytree(state.policy.params)
    directions = jax.random.normal(direction_key, (4, params.size))
    keys, env = jax.random.split(env_key, 4), learner.env
    step = jax.jit(FuncVectorEnv(env, 1).step)
    scores = np.zeros((4, 2))
    for direction in range(4):
        for side, sign in enumerate((1, -1)):
            copy = restore(params + sign * CONFIG.noise * directions[direction])
            act = jax.jit(ars.make_agent(CONFIG, env, state).replace(params=copy))
            vstate, timestep = FuncVectorEnv(env, 1).reset(keys[direction : direction + 1])
            returns, so_far = [], 0.0
            for _ in range(CONFIG.num_steps):
                vstate, timestep = step(vstate, act(timestep.observation[0], funcenv.key(0))[None])
                so_far += float(timestep.reward[0])
                if timestep.done[0]:
                    returns.append(float(timestep.episode_return[0]))
            scores[direction, side] = np.mean(returns) if returns else so_far
    after, metrics = jax.jit(lambda state: ars.update(CONFIG, env, state))(state)
    np.testing.assert_allclose(metrics["loss"], -scores.mean(), rtol=1e-5)
    np.testing.assert_allclose(metrics["best_score"], scores.max(), rtol=1e-5)
    move = CONFIG.learning_rate * ars.ascent(directions, jnp.array(scores, jnp.float32), num_elites=3)
    np.testing.assert_allclose(ravel_pytree(after.policy.params)[0], params + move, rtol=1e-4, atol=1e-5)
    assert len(set(scores[:, 0])) > 1  # the copies differ


def test_a_policy_that_holds_the_pole_is_found():
    config = ars.Config(num_envs=16, num_steps=500, total_timesteps=16 * 500 * 12)
    state, metrics = train(ars, config, funcenv.key(0))
    learner = Learner(ars, config)
    greedy = funcenv.evaluate(learner.env, learner.agent(state), 32, funcenv.key(1)).episode_return
    assert greedy.mean() > 475, metrics["mean_return"][:, 0]


@pytest.mark.parametrize("explore", [False, True])
def test_an_agent_is_deterministic(explore):
    learner = Learner(ars, CONFIG)
    agent = learner.agent(learner.advance(learner.init(funcenv.key(0)), 1)[0], explore=explore)
    observations = jax.vmap(learner.env.observation_space.sample)(jax.random.split(funcenv.key(1), 8))
    actions = [[int(agent(one, funcenv.key(seed))) for one in observations] for seed in (2, 3)]
    assert actions[0] == actions[1]


def test_half_a_direction_is_refused():
    with pytest.raises(ValueError, match=r"num_envs must be even, got 7; each direction is tried in two environments"):
        ars.Config(num_envs=7)


def test_at_least_one_direction_is_followed():
    assert [ars.Config(num_envs=8, elite_fraction=part).num_elites for part in (0.01, 0.5, 1.0)] == [1, 2, 4]

"""AlphaZero: what a search adds to its network, the scale of values, and runs that cannot search."""

import dataclasses
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.train import alphazero
from funcenv.train.loop import Learner

CONFIG = alphazero.Config(num_envs=4, num_steps=8, hidden_sizes=(8,), num_minibatches=2, num_simulations=32)


def test_a_search_sees_what_its_network_does_not():
    """The pole of an untrained agent falls at once; a search sees it fall."""
    learner = Learner(alphazero, CONFIG)
    agent = learner.agent(learner.init(funcenv.key(0)))
    search = alphazero.search_with(CONFIG, learner.env, agent)
    alone, searching = (funcenv.evaluate(learner.env, policy, 4, funcenv.key(1)) for policy in (agent, search))
    assert searching.mean_return > 2 * alone.mean_return


@pytest.mark.parametrize("is_end", [False, True])
def test_a_search_sees_nothing_behind_the_loss_of_a_life(is_end):
    """The ball of an idle player falls; the step before it is lost has no other outcome."""
    config = dataclasses.replace(CONFIG, env_id="arcade/Breakout-v0", terminal_on_life_loss=is_end, num_simulations=8)
    learner = Learner(alphazero, config)
    search = alphazero.search_with(config, learner.env, learner.agent(learner.init(funcenv.key(0))))
    step = jax.jit(learner.env.step)
    state, timestep = learner.env.reset(funcenv.key(1))
    for number in range(1000):
        before, seen = state, timestep.observation
        state, timestep = step(state, 1, funcenv.key(number))
        if timestep.info["lives"] < 5:
            break
    result = jax.jit(search.search)(before, seen, funcenv.key(2))
    assert timestep.info["lives"] == 4 and (result.visits > 0).any()
    assert (result.action_values == 0).all() == is_end


def test_observations_are_normalized_by_the_moments_of_those_that_were_played():
    learner = Learner(alphazero, dataclasses.replace(CONFIG, env_id="arcade/Pong-v0", normalize_observation=True))
    state, _ = learner.advance(learner.init(funcenv.key(0)), 2)
    moments = state.observation_moments
    assert (moments.count == 2 * CONFIG.batch_size).all()
    assert float(moments.mean.max()) > 50  # positions in pixels
    agent = learner.agent(state)
    features = agent.features(learner.env.reset(funcenv.key(1))[1].observation)
    assert float(jnp.abs(features).max()) < 20


def test_squashed_values_come_back():
    values = jnp.array([-500.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 500.0])
    np.testing.assert_allclose(alphazero.unsquash(alphazero.squash(values)), values, rtol=1e-4, atol=1e-6)
    assert (jnp.diff(alphazero.squash(values)) > 0).all()


def test_a_run_without_mctx_says_what_to_install_before_it_writes_anything(monkeypatch):
    monkeypatch.setitem(sys.modules, "mctx", None)
    with pytest.raises(ModuleNotFoundError, match=r'needs mctx: pip install "funcenv\[search\]"'):
        Learner(alphazero, CONFIG)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_simulations": 0}, "num_simulations must be at least 1"),
        ({"return_lambda": 2.0}, r"return_lambda must lie in \[0, 1\]"),
        ({"value_coefficient": -1.0}, "value_coefficient must be at least 0, got -1.0; 0 leaves the term out"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(CONFIG, **settings)

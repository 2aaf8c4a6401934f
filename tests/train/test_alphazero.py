"""AlphaZero: what a search adds to its network, the scale of values, and runs that cannot search."""

import dataclasses
import sys

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

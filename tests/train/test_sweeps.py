"""A sweep trains what single runs with the same values do."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.train import ppo
from funcenv.train.loop import train
from funcenv.train.sweeps import SweepResult, _checked, grid, sweep, sweepable

CONFIG = ppo.Config(num_envs=4, num_steps=16, total_timesteps=64 * 4, hidden_sizes=(8,), num_minibatches=2, seed=3)
SAMPLES = {"learning_rate": [1e-3, 1e-2, 3e-2], "gamma": [0.9, 0.99, 0.5]}


@pytest.fixture(scope="module")
def swept():
    """Return a sweep of three samples with two seeds each."""
    return sweep(CONFIG, SAMPLES, seeds=2)


@pytest.mark.dear
def test_a_sample_learns_what_a_run_with_its_values_does(swept):
    config = dataclasses.replace(CONFIG, learning_rate=1e-2, gamma=0.99, num_seeds=2)
    assert swept.config_of(1) == dataclasses.replace(config, num_seeds=1)
    state, metrics = train(ppo, config, funcenv.key(3))
    for name, values in metrics.items():
        np.testing.assert_allclose(swept.metrics[name][:, 1], values, rtol=2e-4, atol=1e-4, err_msg=name)
    for ours, theirs in zip(
        jax.tree.leaves(swept.state.network.params), jax.tree.leaves(state.network.params), strict=True
    ):
        np.testing.assert_allclose(ours[1], theirs, rtol=1e-3, atol=1e-4)
    assert not np.allclose(swept.metrics["loss"][-1, 0], swept.metrics["loss"][-1, 1])
    agent = swept.agent(1, seed=1)
    theirs = ppo.make_agent(config, config.make_env(), jax.tree.map(lambda leaf: leaf[1], state))
    observation = jnp.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(agent.value(observation), theirs.value(observation), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_every_float_of_a_configuration_may_vary(env_id):
    config = dataclasses.replace(CONFIG, env_id=env_id, total_timesteps=64)
    names = sweepable(config)
    assert {"learning_rate", "gae_lambda", "clip_epsilon", "entropy_coefficient", "max_grad_norm"} <= set(names)
    result = sweep(config, {name: [getattr(config, name)] for name in names})
    assert result.metrics["loss"].shape == (1, 1, 1) and np.isfinite(result.metrics["loss"]).all()


def test_samples_that_cannot_be_trained_are_named():
    for samples, message in (
        (
            {"hidden_sizes": [1]},
            "'hidden_sizes' is no hyper-parameter that can vary in a sweep; these are: learning_rate, ",
        ),
        ({"learning_rte": [1]}, "'learning_rte' is no hyper-parameter"),
        ({}, "as many numbers of each hyper-parameter, got none"),
        ({"gamma": []}, r"got gamma \[0\]"),
        ({"gamma": [0.9], "learning_rate": [1, 2]}, r"got gamma \[1\], learning_rate \[2\]; grid"),
        ({"gamma": [0.9, 1.5]}, r"gamma must lie in \[0, 1\], got 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            _checked(CONFIG, samples)
    with pytest.raises(ValueError, match="seeds must be"):
        sweep(CONFIG, {"gamma": [0.9]}, seeds=0)


class Fickle:
    """PPO that decides by the sign of a hyper-parameter what to compute."""

    Config, init, make_agent = ppo.Config, staticmethod(ppo.init), staticmethod(ppo.make_agent)

    @staticmethod
    def update(config, env, state):
        return ppo.update(config, env, state) if config.entropy_coefficient > 0 else (state, {})


def test_a_value_that_decides_what_is_computed_cannot_vary():
    with pytest.raises(ValueError, match="'entropy_coefficient' cannot vary in a sweep, because CartPole-v1 .*; leave"):
        sweep(CONFIG, {"gamma": [0.9], "entropy_coefficient": [0.1]}, algorithm=Fickle)


def result_of(returns, loss):
    """Return a sweep with these returns `[num_samples, num_seeds]` at the end."""
    returns, samples = np.array(returns, np.float32), {"gamma": np.linspace(0.8, 0.9, len(returns))}
    curves = np.stack([np.full_like(returns, np.nan), returns])
    metrics = {"env_steps": np.ones((2, *returns.shape), np.int32) * [[[64]], [[128]]], "mean_return": curves}
    metrics["loss"] = np.stack([returns * 0, np.array(loss, np.float32)])
    return SweepResult(ppo, CONFIG, samples, metrics, None, 1.0, 1.0)


def test_the_table_begins_with_the_best_and_ends_with_what_failed():
    result = result_of([[1, 2], [7, 8], [9, 99]], [[0, 0], [0, 0], [0, np.nan]])
    assert [row["sample"] for row in result.rows()] == [1, 0, 2] and result.best.gamma == pytest.approx(0.85)
    assert [line.split() for line in str(result).splitlines()] == [
        ["sample", "gamma", "return", "95%", "interval"],
        ["1", "0.85", "7.50", "[7.00,", "8.00]"],
        ["0", "0.8", "1.50", "[1.00,", "2.00]"],
        ["2", "0.9", "failed:", "1", "of", "2"],
    ]


def test_results_in_the_layout_of_marl_eval():
    data = result_of([[1, 2], [7, 8]], [[0, 0], [0, 0]]).marl_eval()["funcenv"]["CartPole-v1"]
    assert set(data) == {"ppo, gamma 0.8", "ppo, gamma 0.9"} and set(data["ppo, gamma 0.8"]) == {"seed_0", "seed_1"}
    assert data["ppo, gamma 0.9"]["seed_1"] == {
        "step_0": {"step_count": 128, "mean_episode_return": [8.0]},
        "absolute_metrics": {"mean_episode_return": [8.0]},
    }


def test_a_grid_has_all_combinations():
    samples = grid(gamma=[0.9, 0.99], learning_rate=[1.0, 2.0, 3.0])
    assert len(set(zip(samples["gamma"], samples["learning_rate"], strict=True))) == 6

"""The memory of a run: what is estimated before it is compiled, and what is said of it."""

import dataclasses
import json

import jax
import pytest

import funcenv
from funcenv.memory import device_memory
from funcenv.train import ars, dqn, ppo
from funcenv.train.loop import Learner
from funcenv.train.memory import estimate_memory, memory_warning
from funcenv.train.runs import run

PPO = ppo.Config(num_envs=8, num_steps=16, num_minibatches=2, total_timesteps=256, hidden_sizes=(8,))
DQN = dqn.Config(num_envs=8, total_timesteps=256, buffer_size=80_000, learning_starts=64)


def estimate(name, config, num_devices=1):
    learner = Learner(name, config)
    shapes = learner.template(funcenv.key(0))
    return learner, estimate_memory(learner.algorithm, config, learner.env, shapes, num_devices)


@pytest.mark.parametrize(("name", "config"), [("ppo", PPO), ("dqn", DQN)])
def test_an_estimate_counts_every_array_of_the_train_state(name, config):
    learner, found = estimate(name, config)
    compiled = learner.lower(learner.template(funcenv.key(0))).compile().memory_analysis()
    arguments = compiled.argument_size_in_bytes
    assert found.environments + found.replay + found.agents == pytest.approx(arguments, rel=0.05)
    assert (found.replay > 0) == (name == "dqn")


def test_devices_share_what_belongs_to_environments():
    _, one = estimate("dqn", DQN)
    _, four = estimate("dqn", DQN, num_devices=4)
    assert four.replay == pytest.approx(one.replay / 4, rel=0.01)
    assert four.agents == one.agents


def test_memory_grows_with_the_batch_and_the_seeds():
    _, small = estimate("ppo", PPO)
    _, large = estimate("ppo", dataclasses.replace(PPO, num_steps=32, num_seeds=2))
    assert (large.batch, large.networks) == (4 * small.batch, 4 * small.networks)
    assert large.agents == pytest.approx(2 * small.agents, rel=0.01)


def test_each_environment_of_ars_has_its_copy_of_the_policy():
    _, few = estimate("ars", ars.Config(num_envs=8, num_steps=2, hidden_sizes=(32,)))
    _, many = estimate("ars", ars.Config(num_envs=16, num_steps=2, hidden_sizes=(32,)))
    assert many.copies == 2 * few.copies > few.agents
    assert estimate("ppo", PPO)[1].copies == 0


def test_a_warning_names_the_setting_that_takes_most():
    device = jax.devices()[0]
    _, found = estimate("dqn", DQN)
    assert memory_warning(found, device) is None
    warning = memory_warning(found._replace(replay=2 * device_memory(device)), device)
    assert "choose a smaller buffer_size" in warning


def test_a_run_says_and_notes_its_memory(tmp_path, capsys):
    run.start(PPO, tmp_path / "run", replay_episodes=0)
    assert "cpu with" in (out := capsys.readouterr().out) and "the run takes about" in out
    memory = json.loads((tmp_path / "run" / "config.json").read_text())["memory"]
    assert memory["device"] == device_memory(jax.devices()[0])
    assert memory["estimate"] == estimate("ppo", PPO)[1]._asdict()

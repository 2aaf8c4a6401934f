"""The success rate of tasks with goals: in the metrics of every update, and of evaluations."""

import csv
import dataclasses

import jax
import numpy as np

import funcenv
from funcenv.train import ppo, run
from funcenv.train.loop import Learner
from funcenv.train.runs.best import evaluate_agents
from funcenv.train.runs.final import agent_figures
from funcenv.train.runs.metrics import with_evaluation
from funcenv.train.updates.recent_episodes import RecentEpisodes

CONFIG = ppo.Config(
    env_id="BitFlip-v0", env_params={"num_bits": 2}, num_envs=8, num_steps=16, total_timesteps=1280, hidden_sizes=(8,)
)


def test_an_update_reports_the_success_of_recent_episodes():
    learner = Learner(ppo, CONFIG)
    state, metrics = learner.advance(learner.init(funcenv.key(0)), 10)
    rates = metrics["success_rate"][:, 0]
    assert ((rates > 0) & (rates <= 1)).all()
    figures = evaluate_agents(learner, learner.agents(state), funcenv.key(1))
    (agent,) = agent_figures(learner, learner.agents(state), num_episodes=16)
    assert 0 <= figures["eval_success"][0] <= 1 and 0 <= agent["success_rate"] <= 1
    columns = with_evaluation(metrics, figures)
    assert columns["eval_success"][-1] == figures["eval_success"] and np.isnan(columns["eval_success"][:-1]).all()


def test_other_environments_report_none():
    learner = Learner(ppo, ppo.Config(num_envs=4, num_steps=8, total_timesteps=64, hidden_sizes=(8,)))
    _, metrics = learner.advance(learner.init(funcenv.key(0)), 1)
    assert "success_rate" not in metrics and "eval_success" not in with_evaluation(metrics, None)


def test_successes_are_counted_as_returns_are():
    ended = np.array([[True, False, True], [False, False, False], [True, True, True]])
    success = np.array([[True, True, False], [True, True, True], [False, True, True]])
    numbers = np.zeros((3, 3), np.float32), np.ones((3, 3), np.int32)
    episodes = jax.jit(RecentEpisodes.add_batch)(RecentEpisodes.empty(has_success=True), ended, *numbers, success)
    np.testing.assert_allclose(episodes.metrics()["success_rate"], success[ended].mean())


def test_a_run_writes_and_shows_it(tmp_path, console):
    config = dataclasses.replace(CONFIG, eval_every=640, eval_episodes=4)
    run.start(config, tmp_path / "run", console=console)
    with open(tmp_path / "run" / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert 0 <= float(rows[-1]["success_rate"]) <= 1 and 0 <= float(rows[-1]["eval_success"]) <= 1
    assert "success 0." in console.file.getvalue() or "success 1." in console.file.getvalue()

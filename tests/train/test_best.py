"""Evaluation during training, the best agents, the early stop, and how a policy is loaded."""

import csv
import dataclasses
import signal

import gymnasium
import jax
import numpy as np
import pytest

import funcenv
import funcenv.adapters.gymnasium
from funcenv.envs import Pendulum
from funcenv.train import load_policy, ppo, run, stateful_policy
from funcenv.train.loop import Learner
from funcenv.train.runs import checkpoint
from funcenv.train.runs.best import EVALUATION_KEY, BestAgents, restore_best

funcenv.register("test/Reached-v0", Pendulum, max_episode_steps=5, reward_threshold=-1e6)
SHORT = ppo.Config(num_envs=2, num_steps=16, hidden_sizes=(8,), num_epochs=1, num_minibatches=1, total_timesteps=32 * 8)
pytestmark = (
    pytest.mark.fast_path
)  # the same kernels make the same bits, in the run of the fixture as in those of tests
EVALUATED = dataclasses.replace(SHORT, num_seeds=2, learning_rate=0.05, eval_every=40, eval_episodes=5)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """Return a run that evaluates its two agents after every second update."""
    return run.start(EVALUATED, tmp_path_factory.mktemp("runs") / "run", replay_episodes=0)


def rows_of(folder):
    with open(folder / "metrics.csv") as file:
        return list(csv.DictReader(file))


def eval_returns(folder):
    return np.array([float(row["eval_return"]) for row in rows_of(folder)]).reshape(-1, 2)


def calls_of(number, monkeypatch, after=lambda count: None):
    """Make every compiled call one of at most `number` updates, and call `after` with the count of calls."""
    advance, calls = Learner.advance, []

    def limited(self, state, num_updates, *donate):
        calls.append(num_updates)
        after(len(calls))
        return advance(self, state, min(num_updates, number), *donate)

    monkeypatch.setattr(Learner, "advance", limited)


def test_an_evaluation_plays_the_same_episodes_every_time(evaluated):
    returns = eval_returns(evaluated.folder)
    assert (~np.isnan(returns).any(axis=1)).tolist() == [False, True] * 4
    key = jax.random.fold_in(funcenv.key(0), EVALUATION_KEY)
    for agent in range(2):
        policy = load_policy(evaluated.folder, agent=agent)
        expected = funcenv.evaluate(funcenv.make("CartPole-v1"), policy, 5, key)
        assert np.float32(returns[-1, agent]) == np.asarray(expected.episode_return).mean()
        row = rows_of(evaluated.folder)[-2 + agent]
        assert np.float32(row["eval_std"]) == np.asarray(expected.episode_return).std()
        assert np.float32(row["eval_length"]) == np.asarray(expected.episode_length).mean()
    assert evaluated.mean_return == returns[-1].mean() and evaluated.best_return == np.nanmax(returns.mean(axis=1))


def test_the_best_agent_of_each_seed_is_kept(evaluated):
    returns = eval_returns(evaluated.folder)
    learner = Learner(ppo, EVALUATED)
    best, messages = restore_best(learner, evaluated.folder / "checkpoints", funcenv.key(0))
    np.testing.assert_array_equal(best.score, np.nanmax(returns, axis=0).astype(np.float32))
    np.testing.assert_array_equal(best.update, np.nanargmax(returns, axis=0) + 1)
    assert not messages and len(checkpoint.checkpoints(evaluated.folder / "checkpoints", checkpoint.BEST)) == 1
    key = jax.random.fold_in(funcenv.key(0), EVALUATION_KEY)
    for agent in range(2):
        policy = load_policy(evaluated.folder, agent=agent, best=True)
        returns = funcenv.evaluate(learner.env, policy, 5, key).episode_return
        assert np.asarray(returns).mean() == best.score[agent]


def test_a_seed_improves_alone():
    best = BestAgents(agents={"w": np.float32([[1.0], [2.0]])}, score=np.float32([5.0, 7.0]), update=np.int32([3, 4]))
    better = best.improved({"w": np.float32([[10.0], [20.0]])}, np.float32([6.0, np.nan]), 9)
    assert better.agents["w"].tolist() == [[10.0], [2.0]]
    assert better.score.tolist() == [6.0, 7.0] and better.update.tolist() == [9, 4]


def test_an_interrupted_run_evaluates_and_keeps_the_same(evaluated, tmp_path, monkeypatch, console):
    with monkeypatch.context() as patch:
        calls_of(1, patch, lambda count: signal.raise_signal(signal.SIGINT) if count == 5 else None)
        stopped = run.start(EVALUATED, tmp_path / "run", replay_episodes=0, console=console)
        assert not stopped.finished
    resumed = run.resume(tmp_path / "run", replay_episodes=0, console=console)
    np.testing.assert_array_equal(eval_returns(resumed.folder), eval_returns(evaluated.folder))
    for agent in range(2):
        ours, theirs = (load_policy(one.folder, agent=agent, best=True) for one in (resumed, evaluated))
        jax.tree.map(np.testing.assert_array_equal, ours.params, theirs.params)


def test_a_run_without_evaluation_keeps_the_best_as_well(tmp_path, console, monkeypatch):
    calls_of(1, monkeypatch)
    result = run.start(SHORT, tmp_path / "run", replay_episodes=0, console=console)
    best, _ = restore_best(Learner(ppo, SHORT), result.folder / "checkpoints", funcenv.key(0))
    assert best.score[0] == np.float32(np.nanmax([float(row["mean_return"]) for row in rows_of(result.folder)]))
    assert "eval_return" not in rows_of(result.folder)[0]


@pytest.mark.parametrize("eval_every", [0, 64])
@pytest.mark.dear
def test_a_run_stops_at_its_threshold_whatever_the_sizes_of_its_calls(tmp_path, console, monkeypatch, eval_every):
    config = dataclasses.replace(
        SHORT, env_id="test/Reached-v0", num_steps=4, total_timesteps=8 * 64, stop_at_threshold=True
    )
    config = dataclasses.replace(config, eval_every=eval_every)
    folders = [tmp_path / "one", tmp_path / "seven"]
    for folder, size in zip(folders, (1, 7), strict=True):
        with monkeypatch.context() as patch:
            calls_of(size, patch)
            result = run.start(config, folder, replay_episodes=0, console=console)
        assert result.finished and result.solved_at_steps == result.env_steps == (eval_every or 16)
    states = [run.load(folder)[1] for folder in folders]
    jax.tree.map(np.testing.assert_array_equal, *(state.network.params for state in states))
    assert run.resume(folders[1], replay_episodes=0, console=console).env_steps == result.env_steps


def test_a_threshold_to_stop_at_is_needed(tmp_path):
    with pytest.raises(ValueError, match="Pendulum-v1 has no threshold at which to stop; leave stop_at_threshold out"):
        run.start(dataclasses.replace(SHORT, env_id="Pendulum-v1", stop_at_threshold=True), tmp_path / "run")
    with pytest.raises(ValueError, match="eval_every must be at least 0, got -1"):
        dataclasses.replace(SHORT, eval_every=-1)


def test_a_policy_plays_in_loops_outside_of_jax(evaluated):
    policy = load_policy(str(evaluated.folder), explore=True)
    venv = funcenv.FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs=2)
    assert funcenv.rollout(venv, policy, funcenv.key(1), 8)[1].action.shape == (8, 2)
    env, act = gymnasium.make("funcenv/CartPole-v1"), stateful_policy(policy, seed=1)
    observation, _ = env.reset(seed=0)
    actions = [act(observation) for _ in range(40)]
    assert all(env.action_space.contains(action) for action in actions) and set(map(int, actions)) == {0, 1}
    again = stateful_policy(policy, seed=1)
    assert [again(observation) for _ in range(40)] == actions
    assert hash(actions[0]) == hash(int(actions[0]))  # tabular environments index dictionaries with it


def test_what_cannot_be_loaded_is_named(evaluated, tmp_path):
    with pytest.raises(ValueError, match="trained 2 agents, numbered from 0; there is no agent 2"):
        funcenv.load_policy(evaluated.folder, agent=2)
    with pytest.raises(FileNotFoundError, match="is not a run"):
        funcenv.load_policy(tmp_path)
    (tmp_path / "config.json").write_text((evaluated.folder / "config.json").read_text())
    with pytest.raises(checkpoint.NoCheckpointError, match="holds no best agents, .*; take the newest"):
        funcenv.load_policy(tmp_path, best=True)

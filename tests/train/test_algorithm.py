"""Algorithms and networks of a user, which are trained, stored, resumed and evaluated like the built-in ones."""

import dataclasses
import importlib
import json
import sys

import flax.linen as nn
import pytest

import funcenv
from funcenv.cli import main
from funcenv.train import ppo, run
from funcenv.train.agents.distributions import Categorical
from funcenv.train.agents.networks import make_actor_critic
from funcenv.train.algorithm import algorithm_name, find_algorithm
from funcenv.train.loop import Learner
from tests.support.training import same_states, stop_after_a_call

RANDOM_SEARCH = '''
"""Random search: keep the linear policy with the highest return of all that were tried."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.rollout import evaluate
from funcenv.struct import PyTreeNode
from funcenv.train.config import TrainConfig
from funcenv.train.updates.recent_episodes import RecentEpisodes


@dataclasses.dataclass(frozen=True)
class Config(TrainConfig):
    horizon: int = 50
    """steps of each episode"""

    @property
    def batch_size(self):
        return self.horizon


class State(PyTreeNode):
    weights: Any
    best: Any
    episodes: RecentEpisodes
    key: Any
    update: Any


class Agent(PyTreeNode):
    weights: Any

    def __call__(self, observation, key):
        return (observation @ self.weights > 0).astype(jnp.int32)


def init(config, env, key):
    weights = jnp.zeros(env.observation_space.shape)
    return State(weights, jnp.float32(-jnp.inf), RecentEpisodes.empty(), key, jnp.int32(0))


def update(config, env, state):
    weights_key, start_key, key = jax.random.split(state.key, 3)
    weights = jax.random.normal(weights_key, state.weights.shape)

    def step(carry, key):
        env_state, observation, is_alive, total = carry
        env_state, timestep = env.step(env_state, Agent(weights)(observation, key), key)
        total = total + jnp.where(is_alive, timestep.reward, 0)
        return (env_state, timestep.observation, is_alive & ~timestep.done, total), is_alive

    env_state, timestep = env.reset(start_key)
    carry = env_state, timestep.observation, jnp.bool_(True), jnp.float32(0)
    (_, _, _, total), alive = jax.lax.scan(step, carry, jax.random.split(key, config.horizon))
    episodes = state.episodes.add(jnp.ones(1, bool), total[None], alive.sum(dtype=jnp.int32)[None])
    is_better = total > state.best
    state = State(
        jnp.where(is_better, weights, state.weights), jnp.maximum(total, state.best), episodes, key, state.update + 1
    )
    return state, {"env_steps": state.update * config.horizon, **episodes.metrics(), "best": state.best}


def make_agent(config, env, state, explore=False):
    return Agent(state.weights)
'''


@pytest.fixture
def random_search(tmp_path, monkeypatch):
    """Import an algorithm from a module outside the package."""
    (tmp_path / "random_search.py").write_text(RANDOM_SEARCH)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "random_search", raising=False)
    yield importlib.import_module("random_search")
    sys.modules.pop("random_search", None)


class Wide(nn.Module):
    """One hidden layer that policy and value share."""

    num_actions: int

    @nn.compact
    def __call__(self, features):
        hidden = nn.relu(nn.Dense(24)(features))
        return Categorical(nn.Dense(self.num_actions)(hidden)), nn.Dense(1)(hidden)[..., 0]


def make_wide(config, env):
    return Wide(env.action_space.n)


@pytest.mark.parametrize("by_name", [False, True])
def test_another_algorithm_is_trained_stopped_resumed_bitwise_and_evaluated(
    random_search, by_name, tmp_path, console, monkeypatch
):
    config = random_search.Config(total_timesteps=50 * 20, num_seeds=2)
    algorithm = "random_search" if by_name else random_search
    whole = run.start(config, tmp_path / "whole", algorithm=algorithm, replay_episodes=0, console=console)
    assert whole.finished and json.loads((whole.folder / "config.json").read_text())["algorithm"] == "random_search"
    with monkeypatch.context() as patch:
        stop_after_a_call(patch)
        stopped = run.start(config, tmp_path / "run", algorithm=algorithm, replay_episodes=0, console=console)
    assert not stopped.finished and stopped.state.update[0] == 1
    resumed = run.resume(stopped.folder, replay_episodes=0, console=console)
    assert resumed.finished and resumed.state.update[0] == 20
    same_states(resumed.state, whole.state)
    learner, state = run.load(resumed.folder)
    evaluation = funcenv.evaluate(learner.env, learner.agent(state, 1), 4, funcenv.key(0))
    assert evaluation.mean_return > 30


def test_the_default_algorithm_of_a_run_is_the_module_of_its_configuration(random_search, tmp_path, console):
    result = run.start(random_search.Config(total_timesteps=50), tmp_path / "run", replay_episodes=0, console=console)
    assert run.read_config(result.folder)[0] == "random_search"
    assert "-random_search-seed0-" in run.new_folder("runs", random_search.Config()).name


def test_the_command_line_takes_another_algorithm(random_search, tmp_path, capsys):
    folder = str(tmp_path / "run")
    flags = ["--algo", "random_search", "--horizon", "20", "--total-timesteps", "60", "--replay-episodes=0"]
    flags.append("--final-episodes=0")
    assert main(["train", "CartPole-v1", "--run-dir", folder, *flags]) == 0
    assert main(["evaluate", folder, "--num-episodes", "2"]) == 0
    assert "CartPole-v1: greedy return" in capsys.readouterr().out
    assert main(["train", "--resume", folder]) == 0
    assert main(["train", "--resume", folder, "--algo", "ppo"]) == 2
    assert "was started with --algo random_search, not ppo" in capsys.readouterr().err
    assert main(["train", "--algo", "run"]) == 1
    assert "'run' is not a training algorithm: it lacks Config, init, update, make_agent" in capsys.readouterr().err
    assert main(["train", "--algo", "no_such_module"]) == 2
    assert "there is no algorithm 'no_such_module'; there are " in capsys.readouterr().err


def test_an_algorithm_has_a_name_by_which_it_is_found(random_search):
    class Local:
        """An algorithm that no other process could import."""

    for algorithm in (ppo, random_search):
        assert find_algorithm(algorithm_name(algorithm)) is algorithm
    with pytest.raises(ValueError, match="cannot be imported by name; define it at the top level of a module"):
        algorithm_name(Local)


def test_an_update_without_the_required_metrics_is_refused(random_search, monkeypatch):
    monkeypatch.setattr(random_search, "update", lambda config, env, state: (state, {"env_steps": state.update}))
    learner = Learner(random_search, random_search.Config())
    with pytest.raises(ValueError, match="must return the metrics env_steps, episodes, .* episodes is missing"):
        learner.advance(learner.init(funcenv.key(0)), 1)


@pytest.mark.parametrize("network", [make_wide, f"{__name__}:make_wide"], ids=["function", "name"])
@pytest.mark.dear
def test_another_network_is_trained_and_resumed(tiny, network, tmp_path, console, monkeypatch):
    config = dataclasses.replace(tiny, network=network)
    whole = run.start(config, tmp_path / "whole", replay_episodes=0, console=console)
    written = json.loads((whole.folder / "config.json").read_text())["config"]["network"]
    assert written == f"{make_wide.__module__}:make_wide"
    assert whole.state.network.params["params"]["Dense_0"]["kernel"].shape == (2, 4, 24)
    with monkeypatch.context() as patch:
        stop_after_a_call(patch)
        stopped = run.start(config, tmp_path / "run", replay_episodes=0, console=console)
    resumed = run.resume(stopped.folder, config=config, replay_episodes=0, console=console)
    same_states(resumed.state, whole.state)
    learner, state = run.load(resumed.folder)
    assert isinstance(learner.agent(state).network, Wide)
    assert funcenv.evaluate(learner.env, learner.agent(state), 2, funcenv.key(0)).mean_return > 0


def test_a_network_without_a_name_trains_but_cannot_be_stored(tiny, tmp_path):
    config = dataclasses.replace(tiny, network=lambda config, env: make_actor_critic(config, env))
    learner = Learner(ppo, config)
    ours, theirs = learner.init(funcenv.key(0)), Learner(ppo, tiny).init(funcenv.key(0))
    same_states(ours.network.params, theirs.network.params)
    with pytest.raises(ValueError, match="lambda.* cannot be imported by name"):
        run.start(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_network_that_does_not_exist_is_named(tiny):
    with pytest.raises(ValueError, match="'no_module:net' cannot be imported"):
        Learner(ppo, dataclasses.replace(tiny, network="no_module:net"))

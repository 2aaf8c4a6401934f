"""The agents that come with the package: data of small size, which load and act as their files say."""

import pathlib
import shutil

import jax
import pytest

import funcenv
from funcenv.cli import main
from funcenv.train.runs.policy import load_player
from funcenv.train.runs.zoo import zoo_agents, zoo_file
from funcenv.train.stored_names import stored_code

FOLDER = pathlib.Path(funcenv.__file__).parent / "zoo"
MAX_BYTES = 10_000_000


def test_they_are_small_data_and_described():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MAX_BYTES
    assert {path.stem for path in FOLDER.glob("*.json")} == {path.stem for path in FOLDER.glob("*.safetensors")}
    for env_id, agent in zoo_agents().items():
        assert zoo_file(f"zoo/{env_id}").exists()
        assert not stored_code(agent["algorithm"], agent["config"]) and "signature" not in agent
        assert agent["results"]["episodes"] == 100 and agent["results"]["steps"] > 0


def test_every_agent_loads_without_a_warning():
    for env_id in zoo_agents():
        env, policy = load_player(f"zoo/{env_id}")
        action = jax.eval_shape(policy, env.observation_space.abstract_member(), funcenv.key(0))
        assert action.shape == env.action_space.shape


def test_an_agent_reaches_what_its_file_says():
    env, policy = load_player("zoo/CartPole")
    played = funcenv.evaluate(env, policy, num_episodes=20, key=funcenv.key(5))
    assert float(played.mean_return) > zoo_agents()["CartPole-v1"]["results"]["mean_return"] - 10


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zoo/CartPoel-v1", "the zoo has no agent of 'CartPoel-v1'; did you mean zoo/CartPole-v1? It has agents of "),
        ("zoo/Pusher-v5", "the zoo has no agent of 'Pusher-v5'; "),
        ("zoo/", "the zoo has no agent of ''; it has agents of "),
    ],
)
def test_an_unknown_agent_is_answered_with_those_that_there_are(name, said):
    with pytest.raises(ValueError, match="CartPole-v1") as raised:
        funcenv.load_policy(name)
    assert str(raised.value).startswith(said)


def test_a_file_of_the_user_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo").mkdir()
    shutil.copy(zoo_file("zoo/CartPole-v1"), "zoo/mine.safetensors")
    assert load_player("zoo/mine.safetensors")[0] == load_player("zoo/CartPole-v1")[0]
    (tmp_path / "zoo" / "CartPole-v1").mkdir()
    with pytest.raises(FileNotFoundError, match="it has no config.json"):
        funcenv.load_policy("zoo/CartPole-v1")


def test_play_shows_an_agent_of_the_zoo(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("funcenv.cli.play.play_in_terminal", lambda env, **options: shown.append((env, options)))
    assert main(["play", "CartPole-v1", "--agent", "--terminal"]) == 0
    env, options = shown[0]
    assert int(options["policy"](env.observation_space.sample())) in (0, 1) and not options["wait_for_start"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["Pusher-v5", "--agent"], 1, "the zoo has no agent of 'Pusher-v5'"),
        (["CartPole-v1", "--agent", "1"], 2, "--agent 1 is one of a run's agents; name the run with --watch RUN"),
        (["--watch", "runs/x", "--agent"], 2, "--watch runs/x needs a number after --agent"),
        (["CartPole-v1", "--agent", "--env-params", "gravity", "1"], 2, "leave --env-params out"),
    ],
)
def test_mistakes_are_reported(arguments, status, said, capsys):
    assert main(["play", *arguments]) == status
    assert said in capsys.readouterr().err

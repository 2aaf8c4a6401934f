"""The command `funcenv play`."""

import importlib

import pytest
from rich.console import Console

from funcenv import adapters, load_policy
from funcenv.cli import main
from funcenv.cli import play as command
from funcenv.train import ppo, run, stateful_policy
from tests.adapters.playing.conftest import Script


@pytest.fixture
def played(monkeypatch):
    """Return the games that the command started: how, the environment and the arguments."""
    games = []
    monkeypatch.setattr(command, "play", lambda env, **given: games.append(("window", env, given)))
    monkeypatch.setattr(command, "play_in_terminal", lambda env, **given: games.append(("terminal", env, given)))
    return games


def test_flags_reach_the_game(played):
    assert main(["play", "Taxi-v4", "--fps", "2", "--seed", "3", "--zoom", "0.5", "--no-wait", "--autostart"]) == 0
    ((where, env, given),) = played
    assert (where, env.spec.id, env.render_mode) == ("window", "Taxi-v4", "rgb_array")
    assert given == {"fps": 2.0, "seed": 3, "zoom": 0.5, "wait_on_player": False, "wait_for_start": False, "speed": 1.0}


@pytest.mark.parametrize(
    ("arguments", "least", "most"),
    [(["CartPole-v1"], 1 / 8, 1 / 4), (["CartPole-v1", "--wait"], 1, 1), (["MountainCar-v0"], 1, 1)],
)
def test_games_that_end_soon_begin_slowly(played, arguments, least, most):
    assert main(["play", *arguments]) == 0
    assert main(["play", *arguments, "--speed", "2"]) == 0
    (_, _, given), (_, _, asked) = played
    assert least <= given["speed"] <= most and asked["speed"] == 2


@pytest.mark.parametrize(
    ("arguments", "waits"),
    [
        (["CartPole-v1"], False),
        (["Taxi-v4"], True),
        (["CartPole-v1", "--wait"], True),
        (["Taxi-v4", "--no-wait"], False),
        (["arcade/Pong-v0"], False),
        (["MinAtar/Breakout-v1"], False),
    ],
)
def test_games_in_turns_wait_unless_told_otherwise(played, arguments, waits):
    assert main(["play", *arguments, "--terminal"]) == 0
    ((where, env, given),) = played
    assert (where, env.render_mode, given["wait_on_player"]) == ("terminal", "ansi", waits)
    assert given["wait_for_start"]


@pytest.mark.dear
def test_parameters_of_the_environment(played):
    assert main(["play", "CartPole-v1", "--env-params", "gravity", "1.6", "length", "1"]) == 0
    assert main(["play", "FrozenLake-v1", "--env-params", "is_slippery", "False", "map_name", "8x8"]) == 0
    pole, lake = (env.get_wrapper_attr("func_env").unwrapped for _, env, _ in played)
    assert (pole.gravity, pole.length) == (1.6, 1) and (lake.is_slippery, lake.map_name) == (False, "8x8")


def test_without_a_display_the_terminal_is_suggested(monkeypatch, capsys):
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert main(["play", "CartPole-v1"]) == 1
    assert "play in this terminal with funcenv play --terminal" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["CartPole-v1", "--save", "x.gif"], ["--save=x.gif"]])
def test_saving_is_the_work_of_another_command(arguments, capsys):
    assert main(["play", *arguments]) == 2
    assert "funcenv replay RUN --save x.gif saves episodes of a trained agent" in capsys.readouterr().err


@pytest.mark.dear
def test_an_agent_of_a_run_is_watched(tmp_path, monkeypatch, capsys):
    config = ppo.Config(num_envs=2, num_steps=8, total_timesteps=64, hidden_sizes=(8,), num_seeds=2)
    run.start(config, tmp_path / "run", replay_episodes=0, console=Console(quiet=True))
    seen, screen = [], Script(*[()] * 30)
    module = importlib.import_module("funcenv.adapters.playing.play")  # whose name a function has as well
    monkeypatch.setattr(module, "TerminalScreen", lambda *args, **options: screen)
    monkeypatch.setattr(screen, "show", lambda frame, score: seen.append(score))
    assert main(["play", "--watch", str(tmp_path / "run"), "--agent", "1", "--terminal", "--seed", "3"]) == 0
    env, act = adapters.make("CartPole-v1"), stateful_policy(load_policy(tmp_path / "run", agent=1))
    (observation, _), total, done = env.reset(seed=3), 0.0, False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total, done = total + reward, terminated or truncated
    episodes = [score for score in seen if score.episode == 1]
    assert max(score.episode_return for score in episodes) == total and episodes[0].message == ""
    assert main(["play", "--watch", str(tmp_path / "run"), "--agent", "2"]) == 1
    assert "there is no agent 2" in capsys.readouterr().err
    assert main(["play", "CartPole-v1", "--watch", str(tmp_path / "run")]) == 2
    assert "; leave ENV and --env-params out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("height", "arguments", "drawn"), [(60, [], None), (400, [], 200), (400, ["--fps", "5"], None), (200, [], None)]
)
def test_an_image_that_takes_too_long_is_drawn_smaller(played, monkeypatch, height, arguments, drawn):
    """A game of 50 frames a second leaves 0.04 seconds for an image, which takes 0.1."""
    monkeypatch.setattr("funcenv.cli.rehearsal._seconds", lambda call: 0.1)
    rendered = []
    make = adapters.make

    def recorded(watched, **given):
        rendered.append(given.get("render_height"))
        return make(watched, **{**given, "render_height": given.get("render_height") or height})

    monkeypatch.setattr("funcenv.cli.rehearsal.make", recorded)
    monkeypatch.setattr(command, "make", recorded)
    assert main(["play", "CartPole-v1", *arguments]) == 0
    assert rendered[-1] == drawn

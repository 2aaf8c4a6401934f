"""The command `funcenv play`."""

import pytest

from funcenv.adapters.playing import command
from funcenv.cli import main


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
    assert given == {"fps": 2.0, "seed": 3, "zoom": 0.5, "wait_on_player": False, "wait_for_start": False}


@pytest.mark.parametrize(
    ("arguments", "waits"),
    [
        (["CartPole-v1"], False),
        (["Taxi-v4"], True),
        (["CartPole-v1", "--wait"], True),
        (["Taxi-v4", "--no-wait"], False),
    ],
)
def test_games_in_turns_wait_unless_told_otherwise(played, arguments, waits):
    assert main(["play", *arguments, "--terminal"]) == 0
    ((where, env, given),) = played
    assert (where, env.render_mode, given["wait_on_player"]) == ("terminal", "ansi", waits)
    assert given["wait_for_start"]


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
    with pytest.raises(SystemExit):
        main(["play", *arguments])
    assert "funcenv replay RUN --save x.gif saves episodes of a trained agent" in capsys.readouterr().err

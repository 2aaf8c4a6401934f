"""The commands `funcenv record` and `funcenv verify DATASET`, and `funcenv play --record`."""

import json
import os
import shutil

import numpy as np
import pytest

from funcenv import adapters
from funcenv.cli import main
from funcenv.cli import play as play_command
from funcenv.datasets import Dataset

TINY = ["--num-envs", "4", "--num-steps", "16", "--total-timesteps", "128", "--hidden-sizes", "8", "--num-minibatches"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a short run of two agents."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["CartPole-v1", "--run-dir", str(folder), *TINY, "2", "--num-seeds", "2", "--replay-episodes=0"]
    assert main(["train", *arguments, "--final-episodes=0", "--max-episode-steps", "50"]) == 0
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return the folder of a dataset of random play."""
    folder = tmp_path_factory.mktemp("data") / "random"
    assert main(["record", "CartPole-v1", "--output", str(folder), "--num-episodes", "6"]) == 0
    return folder


def test_random_play_is_recorded_and_replayed(recorded, capsys):
    dataset = Dataset(recorded)
    assert len(dataset) == 6
    assert dataset.metadata.source["command"] == "funcenv record"
    assert main(["verify", str(recorded)]) == 0
    _, line, last = capsys.readouterr().out.splitlines()
    assert line == f"{recorded}: equal bit for bit: 6 episodes, {dataset.num_steps} steps"
    assert last.startswith("1 equal bit for bit; ")


@pytest.mark.dear
def test_an_agent_of_a_run_is_recorded(trained, tmp_path, capsys):
    output = str(tmp_path / "expert")
    arguments = ["record", "--policy", str(trained), "--output", output, "--num-episodes", "3", "--agent", "1"]
    assert main([*arguments, "--explore", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and printed.out.startswith(f"{output}: 3 episodes, ")
    dataset = Dataset(output)
    assert dataset.env.max_episode_steps == 50
    assert dataset.metadata.source["run"] == str(trained)
    assert main([*arguments, "--append", "--seed", "1", "--explore"]) == 0
    assert len(Dataset(output)) == 6
    assert main(["verify", output, "CliffWalking-v1", "--quiet"]) == 0


def test_a_changed_value_is_the_exit_status(recorded, tmp_path, capsys, monkeypatch):
    from funcenv.datasets.episode import RecordedEpisode
    from funcenv.datasets.writer import DatasetWriter

    episode = Dataset(recorded)[0]
    reward = episode.reward.copy()
    reward[4] = 7.0
    arrays = {**episode.arrays(), "reward": reward}
    changed = RecordedEpisode.from_arrays(arrays, {name: getattr(episode, name) for name in ("observation", "action")})
    with DatasetWriter(tmp_path / "bad", Dataset(recorded).env, "threefry", states=False) as writer:
        writer.add(changed)
    assert main(["verify", str(tmp_path / "bad"), "--json", "-"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["id"] == str(tmp_path / "bad") and result["outcome"] == "different"
    assert result["departure"] == {"episode": 0, "step": 5, "leaf": "reward", "recorded": [7.0], "replayed": [1.0]}


def test_progress_is_shown_in_a_terminal(recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(["record", "CartPole-v1", "--output", str(tmp_path / "d"), "--num-episodes", "2", "--no-states"]) == 0
    assert "\r2 episodes, " in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "d")]) == 0
    assert f" of {Dataset(tmp_path / 'd').num_steps} steps" in capsys.readouterr().err
    assert Dataset(tmp_path / "d")[0].state is None


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["record", "CartPole-v1"], 2, "needs a folder, got none; name it by --output"),
        (["record", "--output", "d"], 2, "name either an environment"),
        (["record", "CartPole-v1", "--policy", "runs/a", "--output", "d"], 2, "name either an environment"),
        (["record", "--policy", "a", "--env-params", "gravity", "2", "--output", "d"], 2, "leave --env-params out"),
        (["record", "--policy", "nowhere", "--output", "d"], 1, "nowhere"),
        (["record", "CartPoel-v1", "--output", "d"], 1, "did you mean CartPole-v1?"),
        (
            ["record", "CartPole-v1", "--output", "d", "--num-episodes", "0"],
            1,
            "num_episodes must be at least 1, got 0",
        ),
        (["record", "CartPole-v1", "--output", "{recorded}"], 1, "holds files already"),
        (["record", "CartPole-v1", "--output", "d", "--max-bytes", "100"], 1, "would exceed max_bytes=100"),
        (["record", "Pendulum-v1", "--output", "{recorded}", "--append"], 1, "holds other data: environment.env is"),
        (["verify", "{recorded}", "--against", "gymnasium"], 2, "datasets are replayed"),
        (["verify", "."], 1, "there is no dataset in ., because it has no dataset.json"),
    ],
)
def test_mistakes(arguments, status, message, recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([argument.format(recorded=recorded) for argument in arguments]) == status
    assert message in capsys.readouterr().err


def test_an_environment_of_the_current_folder_is_replayed_only_with_trust(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_mazes.py").write_text(
        "from funcenv.envs import CartPole\nclass Heavy(CartPole):\n    masspole: float = 0.5\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    flags = ["--output", "d", "--num-episodes", "2", "--max-steps", "30"]
    assert main(["record", "own_mazes:Heavy", *flags]) == 0
    assert main(["verify", "d"]) == 1
    assert "own_mazes:Heavy" in capsys.readouterr().err
    assert main(["verify", "d", "--trust-code"]) == 0


@pytest.mark.dear
def test_a_game_is_recorded(tmp_path, monkeypatch):
    def played(env, **given):
        env.reset(seed=1)
        for action in (0, 1, 2):
            env.step(action)
        env.reset()
        env.step(3)

    monkeypatch.setattr(play_command, "play", played)
    for count in (2, 4):
        assert main(["play", "Taxi-v4", "--record", str(tmp_path / "mine")]) == 0
        dataset = Dataset(tmp_path / "mine")
        assert len(dataset) == count and dataset.metadata.is_finished
    assert [episode.action.tolist() for episode in dataset] == [[0, 1, 2], [3]] * 2
    assert main(["verify", str(tmp_path / "mine")]) == 0


def test_what_is_moved_stays_readable(recorded, tmp_path):
    shutil.copytree(recorded, tmp_path / "elsewhere")
    assert len(Dataset(tmp_path / "elsewhere")) == 6
    assert np.isfinite(Dataset(tmp_path / "elsewhere").returns).all()
    assert "elsewhere" not in (tmp_path / "elsewhere" / "dataset.json").read_text()
    assert os.listdir(tmp_path / "elsewhere")
    assert adapters.make(Dataset(recorded).metadata.spec["id"]) is not None

"""The command `funcenv replay RUN`."""

import pytest
from PIL import Image

from funcenv.cli import main
from funcenv.train.runs.run import REPLAY_FILE

TINY = ["--num-envs", "4", "--num-steps", "16", "--total-timesteps", "128", "--hidden-sizes", "8", "--num-minibatches"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a short run of two agents."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["CartPole-v1", "--run-dir", str(folder), *TINY, "2", "--num-seeds", "2", "--replay-episodes=0"]
    arguments.append("--final-episodes=0")
    assert main(["train", *arguments]) == 0
    return folder


@pytest.mark.dear
def test_training_can_leave_out_the_replay(trained):
    assert not (trained / REPLAY_FILE).exists()


def test_the_replay_is_written_into_the_run_and_opened(trained, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    assert main(["replay", str(trained), "--num-episodes", "2", "--max-steps", "20"]) == 0
    page = trained / REPLAY_FILE
    assert opened == [page.resolve().as_uri()]
    assert "CartPole-v1, agent 0" in page.read_text() and str(page) in capsys.readouterr().out


def test_a_video_has_the_width_and_the_speed_that_are_asked_for(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    path = tmp_path / "a.gif"
    flags = ["--num-episodes", "1", "--max-steps", "4", "--width", "60", "--fps", "10", "--every", "2"]
    assert main(["replay", str(trained), *flags, "--save", str(path)]) == 0
    with Image.open(path) as image:
        assert image.width == 60 and image.n_frames == 3 and image.info["duration"] == 200
    assert "frame 2 of 3" in capsys.readouterr().err
    assert main(["replay", str(trained), "--fps", "0", "--save", str(path)]) == 1
    assert "fps must be a finite number above 0" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--no-open"], ["--save", "{}/a.gif"], []])
def test_nothing_is_opened_without_a_display(trained, tmp_path, monkeypatch, arguments):
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("opened"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, ":0") if arguments else monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    arguments = [argument.format(tmp_path) for argument in arguments]
    assert main(["replay", str(trained), "--num-episodes", "1", "--max-steps", "3", "--agent", "1", *arguments]) == 0
    assert (tmp_path / "a.gif").exists() == (len(arguments) == 2)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["replay"], 2, "replay needs RUN, the folder of a run"),
        (["replay", "no_such_run"], 1, "no_such_run is not a run"),
        (["replay", "{}", "--agent", "2"], 1, "there is no agent 2"),
        (["replay", "{}", "--save", "x.avi"], 1, "choose one of these suffixes"),
        (["replay", "{}", "--save", "nowhere/x.gif"], 1, "the folder nowhere does not exist"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(trained, arguments, status, message, capsys):
    assert main([argument.format(trained) for argument in arguments]) == status
    assert message in capsys.readouterr().err

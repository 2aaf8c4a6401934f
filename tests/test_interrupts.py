"""Commands that SIGINT or SIGTERM stops: a line, a status, and no traceback."""

import gc
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time

import pytest

from funcenv.cli import main
from funcenv.interrupts import Interrupted, note_requests, raise_interrupted

SMALL = [
    "--num-envs",
    "4",
    "--num-steps",
    "16",
    "--hidden-sizes",
    "8",
    "--num-minibatches",
    "2",
    "--final-episodes=0",
    "--replay-episodes",
    "0",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", "CartPole-v1", "--run-dir", str(folder), "--total-timesteps", "64", *SMALL]) == 0
    return str(folder)


def stopped(arguments, until, *numbers):
    """Run a command, send it signals when its output matches, and return its status and the rest of its output."""
    command = [sys.executable, "-m", "funcenv", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        seen = b""
        while not re.search(until, seen):
            more = os.read(process.stdout.fileno(), 4096)
            assert more, seen.decode()
            seen += more
        for number in numbers:
            process.send_signal(number)
        rest = process.stdout.read().decode()
    return process.returncode, seen.decode() + rest


def assert_quiet(text, lines_after):
    assert "Traceback" not in text and "Error" not in text and "Fatal" not in text
    assert len(text.splitlines()) <= lines_after, text


@pytest.mark.parametrize("command", [[sys.executable, "-m", "funcenv"], [f"{sysconfig.get_path('scripts')}/funcenv"]])
def test_an_interrupt_during_the_import_of_the_package_is_one_line(tmp_path, command):
    (tmp_path / "jax.py").write_text("import signal, time\nsignal.raise_signal(signal.SIGINT)\ntime.sleep(60)\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*command, "list"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "funcenv: interrupted\n")


@pytest.mark.parametrize(
    ("number", "status", "until"), [(signal.SIGINT, 130, b"loading"), (signal.SIGTERM, 143, b"compiling")]
)
def test_training_that_is_left_before_its_loop_leaves_no_folder(tmp_path, number, status, until):
    flags = ["--runs", str(tmp_path / "runs"), "--no-compile-cache", *SMALL]
    code, text = stopped(["train", "CartPole-v1", *flags], until, number)
    assert code == status and "funcenv train: interrupted" in text
    assert_quiet(text, 6)
    if until == b"compiling":
        assert "before anything was saved; the same command begins again" in text
        assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_training_says_that_it_saves_and_stops(tmp_path, number, status):
    folder = str(tmp_path / "run")
    flags = ["--run-dir", folder, "--total-timesteps", "1e9", *SMALL]
    code, text = stopped(["train", "CartPole-v1", *flags], rb"elapsed", number)
    assert code == status and f"stopped and saved; resume it with: funcenv train --resume {folder}" in text
    assert "stopping: this call is finished and the agent is saved" in text
    assert "Traceback" not in text and (tmp_path / "run" / "checkpoints").is_dir()


def test_a_second_request_stops_training_at_once(tmp_path):
    flags = ["--run-dir", str(tmp_path / "run"), "--total-timesteps", "1e9", *SMALL]
    code, text = stopped(["train", "CartPole-v1", *flags], rb"elapsed", signal.SIGINT, signal.SIGTERM)
    assert code in (130, 143) and "Traceback" not in text


@pytest.mark.parametrize(
    ("command", "until"),
    [
        (["evaluate", "{}", "--num-episodes", "100000", "--explore"], b"evaluating"),
        (["replay", "{}", "--num-episodes", "500", "--no-open", "--save", "{}/x.gif"], b"recording"),
        (["bench", "CartPole-v1", "--seconds", "10"], b"measuring"),
        (["check", "CartPole-v1"], b"CartPole-v1: "),
        (["play", "CarRacing-v3", "--terminal"], b"preparing"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_is_left_at_once(trained, command, until):
    arguments = [argument.format(trained) for argument in command]
    code, text = stopped(arguments, until, signal.SIGINT)
    assert code == 130 and f"funcenv {arguments[0]}: interrupted" in text
    assert_quiet(text, 3)


def test_a_game_is_left_through_an_exception(monkeypatch, capsys):
    def play(env, **options):
        signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("funcenv.cli.play.play", play)
    assert main(["play", "CartPole-v1"]) == 143
    assert capsys.readouterr().err.splitlines() == ["funcenv play: interrupted"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_interrupt_in_a_callback_of_the_garbage_collector_is_not_lost(capfd):
    def callback(phase, info):
        gc.callbacks.clear()
        signal.raise_signal(signal.SIGTERM)

    kept, end = list(gc.callbacks), time.monotonic() + 30
    try:
        with pytest.raises(Interrupted), raise_interrupted():
            gc.callbacks.append(callback)
            gc.collect()
            while time.monotonic() < end:  # until the signal arrives again
                pass
    finally:
        gc.callbacks[:] = kept
    assert capfd.readouterr().err == ""


def test_a_second_request_acts_as_before():
    said, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), note_requests(lambda: said.append(1)) as requests:
            signal.raise_signal(signal.SIGINT)
            assert requests == [signal.SIGINT]
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert said == [1]

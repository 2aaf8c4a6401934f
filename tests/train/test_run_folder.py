"""A run folder belongs to one run and one process, and its metrics are in order."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from funcenv.cli import main
from funcenv.train import ppo, run
from funcenv.train.runs.lock import RunLockedError, locked
from funcenv.train.runs.metrics import read_metrics

HEADER = "update,seed,env_steps,mean_return"


def write_metrics(folder, *rows):
    path = folder / "metrics.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_runs_that_start_in_one_second_have_folders_of_their_own(tmp_path):
    folders = [run.make_folder(tmp_path / "runs", ppo.Config(learning_rate=rate)) for rate in (1e-3, 1e-2, 1e-1)]
    assert len(set(folders)) == 3 and all(folder.is_dir() for folder in folders)
    assert {folder.parent for folder in folders} == {tmp_path / "runs"}


def test_a_folder_that_is_being_written_is_refused_with_one_line(tiny, tmp_path, console):
    folder = tmp_path / "run"
    folder.mkdir()
    with locked(folder), pytest.raises(RunLockedError) as caught:
        run.start(tiny, folder, console=console)
    assert str(caught.value).startswith(f"{folder} is being written by process {os.getpid()} on ")
    assert "\n" not in str(caught.value) and not (folder / "config.json").exists()


def test_a_resume_beside_a_live_run_is_refused_and_changes_nothing(tiny, tmp_path, console, monkeypatch):
    folder = tmp_path / "run"

    def interfere(*arguments):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        with pytest.raises(RunLockedError, match=f"process {os.getpid()}"):
            run.resume(folder, console=console)
        assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        raise KeyError("end of the test")

    monkeypatch.setattr(run, "_train", interfere)
    with pytest.raises(KeyError, match="end of the test"):
        run.start(tiny, folder, console=console)
    with locked(folder):  # an error releases the lock
        pass


def test_a_killed_process_leaves_no_lock(tmp_path):
    code = "import pathlib, sys\nfrom funcenv.train.runs.lock import locked\n"
    code += "with locked(pathlib.Path(sys.argv[1])):\n    print('locked', flush=True)\n    sys.stdin.read()\n"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(RunLockedError, match=f"process {process.pid} on"), locked(tmp_path):
            pass
        process.kill()
        assert process.wait() == -signal.SIGKILL
    with locked(tmp_path):
        pass


def test_what_a_kill_leaves_at_the_very_start_does_not_stop_the_next_start(tiny, tmp_path, console, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (".config-0123.partial.json", ".lock", ".lock-owner"):
        (folder / name).write_text("left by a kill")
    monkeypatch.setattr(run, "_train", lambda *arguments: "trained")
    assert run.start(tiny, folder, console=console) == "trained"
    assert not list(folder.glob(".config*")) and (folder / "config.json").exists()
    with pytest.raises(FileExistsError, match="exists already; choose another folder, or resume"):
        run.start(tiny, folder, console=console)


def test_rows_in_order_are_read_without_an_incomplete_last_one(tmp_path):
    path = write_metrics(tmp_path, "1,0,64,1.0", "1,1,64,1.0", "2,0,128,2.0", "2,1,128")
    assert [(row["update"], row["seed"]) for row in read_metrics(path)] == [("1", "0"), ("1", "1"), ("2", "0")]


@pytest.mark.parametrize("row", ["1,0,64,1.0", "1,1,64,1.0", "2,0,128", "2,0,128,1.0,5", "x,0,128,1.0", ""])
def test_a_row_out_of_order_or_of_another_length_is_named(tmp_path, row):
    path = write_metrics(tmp_path, "1,0,64,1.0", "1,1,64,1.0", row, "3,0,192,1.0")
    with pytest.raises(ValueError, match=r"^line 4 of .*metrics\.csv does not follow the line before it; several"):
        read_metrics(path)


def test_of_two_commands_that_resume_one_run_exactly_one_goes_on(tmp_path):
    folder, small = (
        str(tmp_path / "run"),
        ["--num-envs", "4", "--num-steps", "8", "--replay-episodes=0", "--final-episodes=0"],
    )
    start = ["FrozenLake-v1", "--algo", "q_learning", "--run-dir", folder, "--total-timesteps", "64", *small]
    assert main(["train", *start]) == 0
    command = [sys.executable, "-m", "funcenv", "train", "--resume", folder, "--total-timesteps", "1e9"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    try:
        while all(process.poll() is None for process in processes):
            time.sleep(0.05)
        refused, other = sorted(processes, key=lambda process: process.poll() is None)
        line = refused.stdout.read().splitlines()[-1]
        assert refused.returncode == 1 and line.startswith("funcenv train: ") and f"process {other.pid} on" in line
        while "elapsed" not in other.stdout.readline():
            assert other.poll() is None
        other.send_signal(signal.SIGTERM)
        assert "stopped and saved" in other.communicate()[0] and other.returncode == 143
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
    updates = [int(row["update"]) for row in read_metrics(pathlib.Path(folder) / "metrics.csv")]
    assert updates == sorted(set(updates)) and len(updates) > 2

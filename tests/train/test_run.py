"""Runs write folders that can be read, that are resumed bit for bit, and that survive interruptions."""

import csv
import dataclasses
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import Pendulum
from funcenv.train import ppo, run
from funcenv.train.loop import Learner
from funcenv.train.runs import checkpoint, course
from funcenv.train.runs.metrics import CLOCK_COLUMNS
from tests.support.training import same_states


class NanReward(Pendulum):
    """A pendulum with a NaN reward at a few angles, which it first meets after some updates."""

    def reward(self, state, action, next_state):
        return jnp.where(
            jnp.abs(jnp.cos(next_state.theta) - 0.5) < 0.006, jnp.nan, super().reward(state, action, next_state)
        )


class BrokenScene(Pendulum):
    """A pendulum whose scene has a mistake."""

    def scene(self, state):
        raise ValueError("no such colour")


funcenv.register("test/NanReward-v0", NanReward)
funcenv.register("test/BrokenScene-v0", BrokenScene)
funcenv.register("test/Easy-v0", Pendulum, max_episode_steps=5, reward_threshold=-1e6)


@pytest.fixture(scope="module")
def uninterrupted(tiny, tmp_path_factory):
    """Return a run that was not interrupted."""
    return run.start(tiny, tmp_path_factory.mktemp("runs") / "whole", checkpoint_seconds=0)


def repeatable_columns(folder):
    """Return the columns that are the same in every run."""
    with open(folder / "metrics.csv") as file:
        return [
            {name: value for name, value in row.items() if name not in CLOCK_COLUMNS} for row in csv.DictReader(file)
        ]


def assert_same(a, b):
    assert a.finished and b.finished
    for x, y in zip(jax.tree.leaves(a.state), jax.tree.leaves(b.state), strict=True):
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        np.testing.assert_array_equal(x, y)
    assert repeatable_columns(a.folder) == repeatable_columns(b.folder)


def interrupt(monkeypatch, after_calls, action):
    """Call `action` after some compiled calls of two updates each."""
    calls, advance = [], Learner.advance

    def interrupted(self, state, num_updates, *donate):
        calls.append(1)
        result = advance(self, state, 2, *donate)
        if len(calls) == after_calls:
            action()
        return result

    monkeypatch.setattr(Learner, "advance", interrupted)


def test_a_run_leaves_its_folder(uninterrupted, tiny):
    assert {path.name for path in uninterrupted.folder.iterdir()} == {
        "config.json",
        "metrics.csv",
        "learning_curve.png",
        "replay.html",
        "checkpoints",
        ".lock",
    }
    written = json.loads((uninterrupted.folder / "config.json").read_text())
    assert ppo.Config.from_json(written["config"]) == tiny
    assert written["versions"]["jax"] == jax.__version__ and written["device"]["platform"] == "cpu"
    rows = repeatable_columns(uninterrupted.folder)
    assert [(int(row["update"]), int(row["seed"])) for row in rows] == [(i, s) for i in range(1, 13) for s in (0, 1)]
    assert {"env_steps", "mean_return", "policy_loss", "approx_kl", "entropy", "explained_variance"} <= set(rows[0])
    assert (uninterrupted.folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert len(checkpoint.checkpoints(uninterrupted.folder / "checkpoints")) <= checkpoint.MAX_CHECKPOINTS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_between_calls_and_resuming_is_bitwise(
    uninterrupted, tiny, tmp_path, console, monkeypatch, number
):
    before = signal.getsignal(number)  # SIGINT is ignored if a shell runs the tests in the background
    with monkeypatch.context() as patch:
        interrupt(patch, 2, lambda: signal.raise_signal(number))
        stopped = run.start(tiny, tmp_path / "run", console=console)
    assert stopped.signal_number == number and not stopped.finished
    assert signal.getsignal(number) is before
    assert len(repeatable_columns(stopped.folder)) == 8
    assert_same(run.resume(stopped.folder, console=console), uninterrupted)


def test_a_signal_after_the_last_update_stops_before_the_evaluation(tiny, tmp_path, console, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt(patch, 6, lambda: signal.raise_signal(signal.SIGINT))
        stopped = run.start(tiny, tmp_path / "run", console=console)
    assert len(repeatable_columns(stopped.folder)) == 24 and stopped.signal_number == signal.SIGINT
    assert not (stopped.folder / "replay.html").exists()
    assert run.resume(stopped.folder, console=console).finished and (stopped.folder / "replay.html").exists()


def test_a_crash_between_checkpoints_loses_nothing(uninterrupted, tiny, tmp_path, console, monkeypatch):
    class Crash(Exception):
        pass

    def crash():
        raise Crash

    with monkeypatch.context() as patch:
        interrupt(patch, 3, lambda: None)
        patch.setattr(checkpoint, "save", _save_once_then(checkpoint.save, crash))
        with pytest.raises(Crash):
            run.start(tiny, tmp_path / "run", checkpoint_seconds=0, console=console)
    assert len(repeatable_columns(tmp_path / "run")) == 8  # two calls wrote rows, but only the first was saved
    assert_same(run.resume(tmp_path / "run", console=console), uninterrupted)


def _save_once_then(save, crash):
    saved = []

    def saving(*arguments):
        if saved:
            crash()
        saved.append(1)
        return save(*arguments)

    return saving


@pytest.mark.dear
def test_kill_9_leaves_a_run_that_can_be_resumed(uninterrupted, tiny, tmp_path, console):
    code = f"""
import json, pathlib, sys
from funcenv.train import loop, ppo, run
from funcenv.train.runs import checkpoint
advance = loop.Learner.advance
loop.Learner.advance = lambda self, state, num_updates, *donate: advance(self, state, 1, *donate)
save = checkpoint.save
def say(folder, number, state):
    print(number, flush=True)
    return save(folder, number, state)
checkpoint.save = say
config = ppo.Config.from_json(json.loads({json.dumps(tiny.to_json())!r}))
run.start(config, {str(tmp_path / "run")!r}, checkpoint_seconds=0)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.strip() == "5":  # while the fifth checkpoint is being written
                process.kill()
                break
        process.stdout.read()
    assert process.wait() == -signal.SIGKILL
    assert_same(run.resume(tmp_path / "run", console=console), uninterrupted)


# The undisturbed run comes from a fixture for all tests; the same kernels make the same bits.
pytestmark = pytest.mark.fast_path


def test_a_finished_run_is_left_as_it_is(uninterrupted, console):
    before = {
        path: path.stat().st_mtime_ns for path in sorted(uninterrupted.folder.rglob("*")) if path.suffix != ".csv"
    }
    again = run.resume(uninterrupted.folder, console=console)
    assert again.finished and again.mean_return == pytest.approx(uninterrupted.mean_return, rel=1e-5)
    assert before == {
        path: path.stat().st_mtime_ns for path in sorted(uninterrupted.folder.rglob("*")) if path.suffix != ".csv"
    }


def test_a_finished_run_gets_what_it_lacks(uninterrupted, tmp_path, console):
    folder = tmp_path / "run"
    shutil.copytree(uninterrupted.folder, folder)
    for name in ("replay.html", "learning_curve.png"):
        (folder / name).unlink()
    left = [folder / name for name in ("learning_curve.partial.png", "config.json.partial", "replay.partial.html")]
    for path in left:
        path.write_text("left by a kill")
    (folder / "checkpoints" / ".partial-00000099.orbax").mkdir()
    assert_same(run.resume(folder, console=console), uninterrupted)
    assert {path.name for path in folder.rglob("*")} == {path.name for path in uninterrupted.folder.rglob("*")}
    assert "recording 3 episodes" in console.file.getvalue() and "training" not in console.file.getvalue()


def test_a_finished_run_is_given_more_steps(uninterrupted, tiny, tmp_path, console):
    folder = tmp_path / "run"
    shutil.copytree(uninterrupted.folder, folder)
    longer = dataclasses.replace(tiny, total_timesteps=64 * 15)
    before = repeatable_columns(folder)
    result = run.resume(folder, config=longer, console=console)
    assert result.finished and result.env_steps == 64 * 15 and run.read_config(folder)[1] == longer
    rows = repeatable_columns(folder)
    assert rows[: len(before)] == before and len(rows) == 2 * 15
    assert json.loads((folder / "config.json").read_text())["extended"][0]["to"] == 64 * 15
    assert "recording 3 episodes" in console.file.getvalue()  # the replay is that of the new agent
    with pytest.raises(run.ConfigMismatchError, match="total_timesteps of .* can only grow: it is 960, got 768"):
        run.resume(folder, config=tiny)


def test_a_full_disk_is_named_with_the_last_good_checkpoint(tiny, tmp_path, console, monkeypatch):
    write = checkpoint._write

    def write_twice(partial, state):
        if len(written) == 2:
            (partial / "begun").mkdir(parents=True)
            raise ValueError("RESOURCE_EXHAUSTED: Error writing local file: No space left on device")  # of tensorstore
        written.append(partial)
        write(partial, state)

    written = []
    interrupt(monkeypatch, 0, lambda: None)
    monkeypatch.setattr(checkpoint, "_write", write_twice)
    with pytest.raises(run.DiskFullError) as caught:
        run.start(tiny, tmp_path / "run", checkpoint_seconds=0, console=console)
    last = checkpoint.checkpoints(tmp_path / "run" / "checkpoints")[-1]
    assert f"the last good checkpoint is {last}. Free some space" in str(caught.value)
    assert f"go on with: funcenv train --resume {tmp_path / 'run'}" in str(caught.value)
    assert not list((tmp_path / "run" / "checkpoints").glob(".partial*"))
    monkeypatch.setattr(checkpoint, "_write", write)
    assert run.resume(tmp_path / "run", console=console).finished


def test_a_checkpoint_that_cannot_be_written_prints_nothing(tmp_path, capfd, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("orbax.checkpoint.StandardCheckpointHandler.finalize", full)
    with pytest.raises(OSError, match="No space left") as caught:
        checkpoint.save(tmp_path, 1, {"x": jnp.zeros(3)})
    assert caught.value.errno == errno.ENOSPC and not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


def test_a_disk_that_is_full_from_the_start_is_named(tiny, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run, "write_config", full)
    with pytest.raises(run.DiskFullError, match="there is no checkpoint yet. .* go on with: funcenv train --run-dir"):
        run.start(tiny, tmp_path / "run")


@pytest.mark.dear
def test_when_it_was_solved_survives_a_resume(tmp_path, console, monkeypatch):
    config = ppo.Config(
        env_id="test/Easy-v0", num_envs=4, num_steps=16, total_timesteps=64 * 8, hidden_sizes=(8,), num_minibatches=2
    )
    with monkeypatch.context() as patch:
        interrupt(patch, 2, lambda: signal.raise_signal(signal.SIGINT))
        stopped = run.start(config, tmp_path / "run", console=console)
    resumed = run.resume(tmp_path / "run", console=console)
    assert stopped.solved_at_steps is not None and resumed.solved_at_steps == stopped.solved_at_steps
    assert run.resume(tmp_path / "run", console=console).solved_at_steps == stopped.solved_at_steps


def test_the_page_of_a_run_shows_episodes_of_its_first_agent(uninterrupted, tiny):
    learner, state = run.load(uninterrupted.folder)
    evaluation = funcenv.evaluate(learner.env, learner.agent(state), 3, funcenv.key(0))
    text = (uninterrupted.folder / "replay.html").read_text()
    data = json.loads(text.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    assert [episode["return"] for episode in data["episodes"]] == evaluation.episode_return.tolist()
    assert data["title"] == "CartPole-v1, agent 0"


def test_a_mistake_in_the_scene_is_reported_before_training(tmp_path):
    config = ppo.Config(env_id="test/BrokenScene-v0", num_envs=2, num_steps=8, total_timesteps=64, hidden_sizes=(8,))
    with pytest.raises(ValueError, match="no such colour"):
        run.start(config, tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.csv").exists()
    assert run.start(config, tmp_path / "other", replay_episodes=0).finished
    assert not (tmp_path / "other" / "replay.html").exists()


def test_a_damaged_checkpoint_is_passed_over_and_named(uninterrupted, tiny, tmp_path, console):
    folder = tmp_path / "run"
    shutil.copytree(uninterrupted.folder, folder)
    newest = checkpoint.checkpoints(folder / "checkpoints")[-1]
    victim = max((path for path in newest.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-10])
    (folder / "checkpoints" / ".partial-00000099").mkdir()  # left by a kill during a write
    assert_same(run.resume(folder, console=console), uninterrupted)
    assert "is damaged" in console.file.getvalue() and newest.name in console.file.getvalue()


def test_the_error_says_that_no_checkpoint_can_be_read(uninterrupted, tmp_path, console):
    folder = tmp_path / "run"
    shutil.copytree(uninterrupted.folder, folder)
    for path in checkpoint.checkpoints(folder / "checkpoints"):
        (path / "digests.json").unlink()
    with pytest.raises(checkpoint.NoCheckpointError, match="holds no checkpoint that can be read"):
        run.resume(folder, console=console)


def test_the_checkpoint_of_another_configuration_is_refused(tmp_path):
    checkpoint.save(tmp_path, 1, {"theta": jnp.zeros(3)})
    others = {
        "position is missing there, has shape \\(3,\\) here": {"position": jnp.zeros(3)},
        "theta has shape \\(3,\\) there, has shape \\(4,\\) here": {"theta": jnp.zeros(4)},
        "count is missing there, has shape \\(2,\\) here": {"theta": jnp.zeros(3), "count": jnp.zeros(2)},
        "theta has shape \\(3,\\) there, is missing here": {},
    }
    for difference, other in others.items():
        with pytest.raises(checkpoint.NoCheckpointError, match=f"update-00000001 does not fit .*: {difference}, as it"):
            checkpoint.restore_latest(tmp_path, other, "threefry2x32")


def test_an_existing_folder_is_not_overwritten(uninterrupted, tiny):
    before = (uninterrupted.folder / "metrics.csv").read_bytes()
    with pytest.raises(FileExistsError, match="exists already; choose another folder, or resume the run"):
        run.start(tiny, uninterrupted.folder)
    assert (uninterrupted.folder / "metrics.csv").read_bytes() == before


def test_resuming_with_another_configuration_is_refused(uninterrupted, tiny):
    other = dataclasses.replace(tiny, learning_rate=0.5)
    with pytest.raises(run.ConfigMismatchError, match="learning_rate is 0.001 there, 0.5 here"):
        run.resume(uninterrupted.folder, config=other)


def test_a_bad_configuration_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="did you mean"):
        run.start(ppo.Config(env_id="CartPoel-v1"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


EMPTY = '{"algorithm": "ppo", "config": {}, "key": {"impl": "threefry"}}'


@pytest.mark.parametrize("text", ["{", "{}", '{"algorithm": "ppo", "config": {"colour": 1}}', EMPTY])
def test_a_damaged_config_is_named(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config.json cannot be understood"):
        run.read_config(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a run"):
        run.read_config(tmp_path / "nowhere")


def test_saving_takes_a_small_part_of_a_run(tiny, tmp_path, monkeypatch):
    """After a save a run trains for many times as long, unless the time between checkpoints is given."""
    saved, save = [], course.Course.save
    monkeypatch.setattr(course.Course, "save", lambda self, state: [saved.append(self), save(self, state)])
    monkeypatch.setattr(course, "MAX_UPDATES_PER_CALL", 1)
    monkeypatch.setattr(course, "_CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(course, "_SAVES_BETWEEN", 1e9)
    run.start(tiny, tmp_path / "default", replay_episodes=0)
    assert len(saved) == 2  # after the first update, and at the end
    run.start(tiny, tmp_path / "given", replay_episodes=0, checkpoint_seconds=0)
    assert len(saved) == 2 + tiny.num_updates + 1


@pytest.mark.parametrize("checkpoint_seconds", [0.0, 30.0])
@pytest.mark.dear
def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_finite_state(
    checkpoint_seconds, tiny, tmp_path, console
):
    config = dataclasses.replace(tiny, env_id="test/NanReward-v0", normalize_reward=False)
    with pytest.raises(
        run.TrainingDivergedError, match=r"the loss is nan at update \d+, environment step \d+, seed \d"
    ):
        run.start(config, tmp_path / "run", checkpoint_seconds=checkpoint_seconds, console=console)
    learner, state = run.load(tmp_path / "run")
    assert 0 < (done := learner.num_updates_done(state)) < 12
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.network.params))
    same_states(state, learner.advance(learner.init(funcenv.key(config.seed)), done)[0])


def test_runs_are_named_after_task_and_time():
    folder = run.new_folder("runs", ppo.Config(env_id="lab/Maze-v3", seed=7))
    assert folder.parent == pathlib.Path("runs") and folder.name.startswith("lab-Maze-v3-ppo-seed7-")
    assert os.sep not in folder.name


def test_a_run_that_used_its_cpu_time_goes_on_as_if_it_had_not_stopped(uninterrupted, tiny, tmp_path):
    stopped = run.start(tiny, tmp_path / "run", max_cpu_seconds=0)
    assert not stopped.finished and stopped.signal_number is None and stopped.env_steps < uninterrupted.env_steps
    assert_same(run.resume(tmp_path / "run"), uninterrupted)

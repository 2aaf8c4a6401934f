"""Metrics for TensorBoard and for Weights & Biases."""

import csv
import dataclasses
import importlib.util
import math
import signal
import sys
import types

import pytest
from rich.console import Console
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from funcenv.cli import main
from funcenv.train import ppo, run
from funcenv.train.loop import Learner
from funcenv.train.runs.logs import LogOptions

CONFIG = ppo.Config(
    num_envs=2, num_steps=16, num_minibatches=1, total_timesteps=32 * 6, hidden_sizes=(8,), num_seeds=2, eval_every=64,
    eval_episodes=2,
)  # fmt: skip


def events_of(folder):
    """Return the points of all event files of a folder: `{(name, step): value}`, the last of each."""
    points = {}
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            body = data[12 : 12 + length]
            assert int.from_bytes(data[12 + length : 16 + length], "little") == masked_crc32c(body)
            event = Event.FromString(body)
            points |= {(value.tag, event.step): value.simple_value for value in event.summary.value}
            data = data[16 + length :]
    return points


def rows_of(folder, seed):
    with open(folder / "metrics.csv") as file:
        return [row for row in csv.DictReader(file) if row["seed"] == str(seed)]


@pytest.mark.dear
def test_event_files_hold_what_the_metrics_file_holds(tmp_path, monkeypatch):
    advance, calls = Learner.advance, []

    def one_by_one(self, state, num_updates, *donate):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return advance(self, state, 1, *donate)

    monkeypatch.setattr(Learner, "advance", one_by_one)
    shared = {"replay_episodes": 0, "logs": LogOptions(tensorboard=True), "console": Console(quiet=True)}
    folder = tmp_path / "run"
    assert not run.start(CONFIG, folder, **shared).finished
    assert run.resume(folder, **shared).finished
    for seed in (0, 1):
        points, rows = events_of(folder / "tensorboard" / f"seed{seed}"), rows_of(folder, seed)
        assert len(rows) == 6 and {step for _, step in points if step} == {int(row["env_steps"]) for row in rows}
        for row in rows:
            step = int(row["env_steps"])
            assert points["loss", step] == pytest.approx(float(row["loss"]), rel=1e-6)
            evaluated = not math.isnan(float(row["eval_return"]))
            assert (("eval_return", step) in points) == evaluated
            assert ("mean_return", step) in points or math.isnan(float(row["mean_return"]))


def test_weights_and_biases_gets_means_and_seeds(tmp_path, monkeypatch):
    begun, logged, finished = [], [], []
    fake = types.ModuleType("wandb")
    fake.__spec__ = importlib.util.spec_from_loader("wandb", None)
    session = types.SimpleNamespace(
        log=lambda values, step: logged.append((step, values)), finish=lambda: finished.append(1)
    )
    fake.init = lambda **options: begun.append(options) or session
    monkeypatch.setitem(sys.modules, "wandb", fake)
    config = dataclasses.replace(CONFIG, total_timesteps=64, eval_every=0)
    run.start(
        config, tmp_path / "my run", replay_episodes=0, logs=LogOptions(wandb="poles"), console=Console(quiet=True)
    )
    assert begun[0]["project"] == "poles" and (begun[0]["id"], begun[0]["resume"]) == ("my-run", "allow")
    assert begun[0]["config"]["num_seeds"] == 2 and finished == [1]
    step, values = logged[-1]
    rows = [rows_of(tmp_path / "my run", seed)[-1] for seed in (0, 1)]
    assert step == int(rows[0]["env_steps"])
    assert values["loss"] == pytest.approx(sum(float(row["loss"]) for row in rows) / 2, rel=1e-5)
    assert values["seed1/loss"] == pytest.approx(float(rows[1]["loss"]), rel=1e-6)


@pytest.mark.parametrize(
    ("flags", "module", "remedy"),
    [
        (["--tensorboard"], "tensorboardX", 'pip install "funcenv[tensorboard]"'),
        (["--wandb", "poles"], "wandb", "pip install wandb"),
    ],
)
def test_a_missing_package_is_named_before_anything_is_written(tmp_path, monkeypatch, capsys, flags, module, remedy):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == module else find_spec(name))
    assert main(["train", "CartPole-v1", "--run-dir", str(tmp_path / "run"), *flags]) == 1
    assert remedy in capsys.readouterr().err and not (tmp_path / "run").exists()

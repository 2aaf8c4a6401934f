"""Training runs that are killed at random moments and resumed: `python benchmarks/studies/kills.py [--kills 7]`.

Each algorithm first trains undisturbed. Other runs with the same configuration are then killed (`--signal SIGKILL`) or
interrupted (`SIGINT`, `SIGTERM`) at random moments and resumed, until there were enough of these. Every run that ends
must have the parameters, the rest of its train state and the metrics of the undisturbed one, bit for bit, and no signal
may lose more than the compiled call that had not been saved. The script ends with an error otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import traceback
from typing import Any

os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # every process compiles the same programs

import jax
import numpy as np
from rich.console import Console

from funcenv.interrupts import leave_at_once
from funcenv.train import run
from funcenv.train.algorithm import algorithm_names, find_algorithm
from funcenv.train.loop import Learner
from funcenv.train.runs import checkpoint
from funcenv.train.runs.metrics import CLOCK_COLUMNS, read_metrics

BEFORE_TRAINING = 0.2
"""The part of the kills that come while the process starts and compiles."""

SMALL = {"num_envs": 4, "num_steps": 8, "hidden_sizes": (8,)}
REPLAY = {**SMALL, "num_steps": 2, "buffer_size": 512, "minibatch_size": 8, "learning_starts": 64}
SETTINGS = {
    "dqn": REPLAY,
    "ppo": {**SMALL, "num_minibatches": 2, "num_seeds": 2, "normalize_observation": True},
    "pqn": {**SMALL, "num_minibatches": 2},
    "q_learning": {"num_envs": 4, "num_steps": 8, "env_id": "FrozenLake-v1"},
    "plr": {**SMALL, "num_minibatches": 2, "level_buffer": 16},
    "recurrent_ppo": {**SMALL, "num_minibatches": 2, "memory_size": 8},
    "reinforce": SMALL,
    "sac": {**REPLAY, "env_id": "Pendulum-v1"},
    "simba": {**REPLAY, "env_id": "Pendulum-v1", "residual_width": 8},
    "td3": {**REPLAY, "env_id": "Pendulum-v1"},
    "tqc": {**REPLAY, "env_id": "Pendulum-v1"},
}
BEGINS = "an update begins"
NUM_UPDATES = 2000  # at least eight compiled calls


class Run:
    """A process that starts or resumes the run in a folder; what it prints tells where it is."""

    def __init__(self, algorithm: str, folder: pathlib.Path) -> None:
        read, write = os.pipe()
        self.pid = os.fork()  # This process has all imports, but has not started JAX.
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.close(read)
            train(algorithm, folder, write)
        os.close(write)
        self.output, self.said, self.started = os.fdopen(read), "", time.monotonic()

    def wait_for_training(self) -> float:
        """Return the seconds from the start to the first update, or to the end of a run that has none left."""
        for line in self.output:
            self.said += line
            if BEGINS in line:
                break
        return time.monotonic() - self.started

    def end(self) -> float:
        """Wait for the end and return the seconds from the start."""
        said = self.said + self.output.read()
        _, status = os.waitpid(self.pid, 0)
        if status:
            raise SystemExit(f"a run failed with status {status}: {said}")
        return time.monotonic() - self.started

    def kill_after(self, seconds: float, number: int) -> bool:
        """Send the process a signal after some seconds, and return whether it ended by it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(0.001)
        os.kill(self.pid, number)  # a process that has ended stays until it is waited for
        said = self.said + self.output.read()
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, -number, 128 + number):
            raise SystemExit(f"a run failed with status {code}: {said}")
        return code != 0


def train(algorithm: str, folder: pathlib.Path, output: int) -> None:
    """Start or resume a run in this process, write what identifies its result, and end."""
    console, advance = Console(file=os.fdopen(output, "w", buffering=1), width=200), Learner.advance

    def tell_and_advance(*arguments: Any) -> Any:
        console.print(BEGINS)
        return advance(*arguments)

    Learner.advance = tell_and_advance
    options: dict[str, Any] = {"checkpoint_seconds": 0, "replay_episodes": 0, "console": console}
    try:
        with leave_at_once(lambda: "interrupted"):  # as the command does
            if (folder / "config.json").exists():
                result = run.resume(folder, **options)
            else:
                result = run.start(config_of(algorithm), folder, **options)
        if result.signal_number is not None:
            os._exit(128 + result.signal_number)
        (folder / "digest").write_text(digest(result.state))
        os._exit(0)
    except BaseException:
        console.print(traceback.format_exc(), markup=False)
        os._exit(1)


def config_of(algorithm: str) -> object:
    """Return a small configuration."""
    settings = SETTINGS[algorithm]
    steps = NUM_UPDATES * settings["num_envs"] * settings["num_steps"]
    return find_algorithm(algorithm).Config(**settings, total_timesteps=steps)


def digest(state: object) -> str:
    """Return the SHA-256 digest of all bits of a train state."""
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        found.update(np.asarray(jax.random.key_data(leaf) if is_key else leaf).tobytes())
    return found.hexdigest()


def outcome(folder: pathlib.Path) -> tuple[str, list[list[str]]]:
    """Return what every run of a configuration must have in common."""
    rows = read_metrics(folder / "metrics.csv")
    kept = [[value for name, value in row.items() if name not in CLOCK_COLUMNS] for row in rows]
    return (folder / "digest").read_text(), kept


def lost_updates(folder: pathlib.Path) -> int:
    """Return how many updates in the metrics a killed run must do again, which are those of one call at most."""
    saved = checkpoint.checkpoints(folder / "checkpoints")
    number = int(saved[-1].name.rpartition("-")[2]) if saved else 0
    path = folder / "metrics.csv"
    lost = [row for row in read_metrics(path) if int(row["update"]) > number] if path.exists() else []
    if len({row["wall_seconds"] for row in lost}) > 1:  # the rows of a call are written with one time
        raise SystemExit(f"a kill lost more than a call: {folder} was saved at {number} of {lost[-1]['update']}")
    return len({row["update"] for row in lost})


def measure(algorithm: str, num_kills: int, number: int, draw: random.Random, folder: pathlib.Path) -> dict[str, int]:
    """Send runs of an algorithm a signal, and return how many of these hit what."""
    whole = Run(algorithm, folder / "whole")
    training = whole.wait_for_training()
    seconds = whole.end() - training
    expected = outcome(folder / "whole")
    counts = {"kills": 0, "starting": 0, "writing": 0, "lost": 0, "runs": 0}
    while counts["kills"] < num_kills:
        path = folder / str(counts["runs"])
        process = Run(algorithm, path)
        is_early = draw.random() < BEFORE_TRAINING
        if not is_early:
            process.wait_for_training()
        if process.kill_after(draw.uniform(0, training if is_early else seconds), number):
            counts["kills"] += 1
            counts["starting"] += is_early
            counts["writing"] += any((path / "checkpoints").glob(".partial-*"))
            counts["lost"] = max(counts["lost"], lost_updates(path))
        else:
            compare(path, expected)
            counts["runs"] += 1
    Run(algorithm, path).end()  # goes on after the last kill
    compare(path, expected)
    counts["runs"] += 1
    return counts


def compare(folder: pathlib.Path, expected: tuple[str, list[list[str]]]) -> None:
    """Raise unless a run has the result of the undisturbed one."""
    digest, rows = outcome(folder)
    if (digest, rows) != expected:
        what = "train state" if digest != expected[0] else "metrics"
        raise SystemExit(f"{folder} ended with a {what} other than that of the run that was not disturbed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithms", nargs="+", choices=algorithm_names(), default=algorithm_names())
    parser.add_argument("--kills", type=int, default=7, help="kills of each algorithm")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    parser.add_argument("--signal", choices=("SIGKILL", "SIGINT", "SIGTERM"), default="SIGKILL")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    print("| algorithm | kills | while starting | while a checkpoint was written | most updates lost | equal runs |")
    print("|---|---|---|---|---|---|", flush=True)
    for algorithm in arguments.algorithms:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
            counts = measure(algorithm, arguments.kills, signal.Signals[arguments.signal], draw, pathlib.Path(folder))
        print(
            f"| {algorithm} | {counts['kills']} | {counts['starting']} | {counts['writing']} | {counts['lost']} of "
            f"{NUM_UPDATES:,} | {counts['runs']} of {counts['runs']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

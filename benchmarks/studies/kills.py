"""Training runs that are killed at random moments and resumed: `python benchmarks/studies/kills.py [--kills 50]`.

Each algorithm first trains undisturbed. Other runs with the same configuration are then killed (SIGKILL) or interrupted
(SIGINT, SIGTERM) at random moments and resumed, until there were enough of these. Every run that ends must have the
parameters, the rest of its train state and the metrics of the undisturbed one, bit for bit, and no signal may lose more
than the compiled call that had not been saved. Some runs compile while they are killed, the others find their programs
on the disk.

`--meetings` counts processes that meet in pairs: two runs that start in the same second, two that resume one run, and
one that resumes a run which another process still trains. Each must have a folder of its own, or be refused with one
line. The script ends with an error otherwise.
"""

from __future__ import annotations

import argparse
import datetime
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
import matplotlib.figure  # noqa: F401  (the processes of a study share what takes half a second to import)
import numpy as np
import orbax.checkpoint  # noqa: F401
import scipy.linalg  # noqa: F401
from isolated import keep_rows
from rich.console import Console

from funcenv._compile.disk_cache import enable_disk_cache
from funcenv.interrupts import leave_at_once
from funcenv.train import run
from funcenv.train.algorithm import algorithm_names, find_algorithm
from funcenv.train.loop import Learner
from funcenv.train.runs import checkpoint
from funcenv.train.runs.lock import RunLockedError
from funcenv.train.runs.metrics import CLOCK_COLUMNS, read_metrics

BEFORE_TRAINING = 0.2
"""The part of the kills that come while a process starts."""
COMPILING = 0.04
"""The part of the runs that find no compiled programs."""

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
    "ars": {**SMALL, "num_steps": 40},  # in fewer, no pole falls, and no copy is better than another
    "alphazero": {**SMALL, "num_minibatches": 2, "num_simulations": 4},
    "sac": {**REPLAY, "env_id": "Pendulum-v1"},
    "simba": {**REPLAY, "env_id": "Pendulum-v1", "residual_width": 8},
    "td3": {**REPLAY, "env_id": "Pendulum-v1"},
    "tqc": {**REPLAY, "env_id": "Pendulum-v1"},
}
BEGINS = "an update begins"
NUM_UPDATES = 400  # at least three compiled calls
SIGNALS = ("SIGINT", "SIGTERM", "SIGKILL")
MEETINGS = ("two runs start in one second", "two processes resume one run", "a process resumes a live run")
REFUSED = 3  # status of a process that finds a run locked


class Run:
    """A process that starts or resumes the run in a folder; what it prints tells where it is.

    Args:
        algorithm: Name of the algorithm.
        folder: The folder of the run; with `is_root`, a folder in which the process makes that of its run.
        programs: Where compiled programs are kept.
        is_root: See `folder`.
    """

    def __init__(self, algorithm: str, folder: pathlib.Path, programs: pathlib.Path, *, is_root: bool = False) -> None:
        read, write = os.pipe()
        self.pid = os.fork()  # This process has all imports, but has not started JAX.
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.close(read)
            enable_disk_cache(programs)
            train(algorithm, run.make_folder(folder, config_of(algorithm)) if is_root else folder, write)
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
        if self.is_refused():
            raise SystemExit(f"a run was refused: {self.said}")
        return time.monotonic() - self.started

    def is_refused(self) -> bool:
        """Wait for the end and return whether the run was refused, with one line, because another process writes it."""
        self.said += self.output.read()
        _, status = os.waitpid(self.pid, 0)
        code, num_lines = os.waitstatus_to_exitcode(status), len(self.said.splitlines())
        if code not in (0, REFUSED) or (code == REFUSED and num_lines != 1):
            raise SystemExit(f"a run failed with status {code} and {num_lines} lines: {self.said}")
        return code == REFUSED

    def kill_after(self, seconds: float, number: int) -> tuple[bool, bool]:
        """Send the process a signal after some seconds, and return whether it had ended, and whether its run has."""
        deadline, has_ended = time.monotonic() + seconds, False
        while time.monotonic() < deadline and not has_ended:
            has_ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            time.sleep(0.001)
        os.kill(self.pid, number)  # a process that has ended stays until it is waited for
        said = self.said + self.output.read()
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, -number, 128 + number):
            raise SystemExit(f"a run failed with status {code}: {said}")
        return has_ended, code == 0


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
    except RunLockedError as error:
        console.print(str(error), soft_wrap=True, markup=False)
        os._exit(REFUSED)
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


class Undisturbed:
    """A run from its start to its end, with compiled programs on the disk, that others are compared with.

    Attributes:
        programs: Where compiled programs are kept.
        compiling: Seconds to the first update where all programs are compiled.
        starting: Seconds to the first update.
        training: Seconds from the first update to the end.
        outcome: What all runs of the configuration must have in common.
    """

    def __init__(self, algorithm: str, folder: pathlib.Path) -> None:
        self.programs = folder / "programs"
        first = Run(algorithm, folder / "first", self.programs)
        self.compiling = first.wait_for_training()
        first.end()
        whole = Run(algorithm, folder / "whole", self.programs)
        self.starting = whole.wait_for_training()
        self.training = whole.end() - self.starting
        self.outcome = outcome(folder / "whole")
        compare(folder / "first", self.outcome)


def measure(
    algorithm: str, like: Undisturbed, num_kills: int, number: int, draw: random.Random, folder: pathlib.Path
) -> dict[str, int]:
    """Send runs of an algorithm a signal, and return how many of these hit what."""
    counts = {"kills": 0, "starting": 0, "compiling": 0, "writing": 0, "lost": 0, "runs": 0}
    programs = like.programs
    while counts["kills"] < num_kills:
        path = folder / str(counts["runs"])
        if not path.exists():
            is_compiling = draw.random() < COMPILING
            programs = folder / f"programs-{counts['runs']}" if is_compiling else like.programs
        process = Run(algorithm, path, programs)
        compiles, is_early = not programs.exists(), draw.random() < BEFORE_TRAINING
        if compiles:
            moment = draw.uniform(0, like.compiling)
        elif is_early:
            moment = draw.uniform(0, like.starting)
        else:
            process.wait_for_training()
            moment = draw.uniform(0, like.training)
        had_ended, is_complete = process.kill_after(moment, number)
        if not had_ended:
            counts["kills"] += 1
            counts["compiling"] += compiles
            counts["starting"] += is_early and not compiles
            counts["writing"] += any((path / "checkpoints").glob(".partial-*"))
        if is_complete:  # also where a signal came while the run wrote its last files
            compare(path, like.outcome)
            counts["runs"] += 1
        else:
            counts["lost"] = max(counts["lost"], lost_updates(path))
    if not is_complete:
        Run(algorithm, path, programs).end()  # goes on after the last kill
        compare(path, like.outcome)
        counts["runs"] += 1
    return counts


def meet(algorithm: str, like: Undisturbed, kind: str, folder: pathlib.Path) -> int:
    """Let two processes meet, check the runs that they leave, and return how many processes were refused."""
    if kind == MEETINGS[0]:
        pair = [Run(algorithm, folder, like.programs, is_root=True) for _ in range(2)]
        refused = [process.is_refused() for process in pair]
        paths = list(folder.iterdir())
        if len(paths) != 2:
            raise SystemExit(f"two runs have {len(paths)} folders: {paths}")
    else:
        live, paths = Run(algorithm, folder, like.programs), [folder]
        live.wait_for_training()
        if kind == MEETINGS[1]:
            live.kill_after(like.training / 2, signal.SIGTERM)
            live = Run(algorithm, folder, like.programs)
        refused = [process.is_refused() for process in (Run(algorithm, folder, like.programs), live)]
    if all(refused):
        raise SystemExit(f"both processes were refused: {kind}")
    for path in paths:
        compare(path, like.outcome)
    return sum(refused)


def compare(folder: pathlib.Path, expected: tuple[str, list[list[str]]]) -> None:
    """Raise unless a run has the result of the undisturbed one."""
    digest, rows = outcome(folder)
    if (digest, rows) != expected:
        what = "train state" if digest != expected[0] else "metrics"
        raise SystemExit(f"{folder} ended with a {what} other than that of the run that was not disturbed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithms", nargs="+", choices=algorithm_names(), default=sorted(SETTINGS))
    parser.add_argument("--kills", type=int, default=7, help="kills of each algorithm by each signal")
    parser.add_argument("--signals", nargs="+", choices=SIGNALS, default=SIGNALS)
    parser.add_argument("--meetings", type=int, default=0, help="how often two processes meet in each way")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    parser.add_argument("--keep", action="store_true", help="keep the rows in benchmarks/studies/results/kills.json")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    order = [f"{name}: {algorithm}" for algorithm in sorted(SETTINGS) for name in (*SIGNALS, *MEETINGS)]

    def tell(algorithm: str, name: str, counts: dict[str, int]) -> None:
        print(f"| {name} | {algorithm} | {' | '.join(map(str, counts.values()))} |", flush=True)
        row = {"row": f"{name}: {algorithm}", "updates": NUM_UPDATES, **counts, "date": str(datetime.date.today())}
        if arguments.keep:
            keep_rows("kills", [row], "row", order)

    print(f"runs of {NUM_UPDATES:,} updates", file=sys.stderr)
    print(
        "| signal | algorithm | kills | starting | compiling | writing a checkpoint | most updates lost | equal runs |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for algorithm in arguments.algorithms:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            like = Undisturbed(algorithm, folder)
            for name in arguments.signals:
                place = folder / name
                place.mkdir()
                tell(algorithm, name, measure(algorithm, like, arguments.kills, signal.Signals[name], draw, place))
            for kind in MEETINGS if arguments.meetings else ():
                places = [folder / f"{MEETINGS.index(kind)}-{index}" for index in range(arguments.meetings)]
                refused = sum(meet(algorithm, like, kind, place) for place in places)
                tell(algorithm, kind, {"meetings": arguments.meetings, "refused": refused})


if __name__ == "__main__":
    main()

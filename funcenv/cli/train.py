"""The command `funcenv train [ENV]`, which trains an agent, or continues a run."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import sys
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from funcenv.checks import require_size
from funcenv.cli.flags import Threads, TrustCode
from funcenv.cli.settings import chosen_algorithm, find_algorithm, read_config, read_options
from funcenv.cli.table import UsageError
from funcenv.files import write_text
from funcenv.interrupts import leave_at_once
from funcenv.printable import printable


@dataclasses.dataclass(frozen=True, kw_only=True)
class Processes(Threads):
    """The other processes of a run, if there are several."""

    section: ClassVar[str] = "several processes"

    distributed: bool = False
    """train in several processes, which SLURM, Open MPI, Kubernetes or a TPU pod has started"""
    coordinator: Annotated[str | None, "HOST:PORT"] = None
    """address of the first of several processes, which you have started yourself"""
    num_processes: int | None = None
    """number of these processes"""
    process_id: int | None = None
    """number of this process, from 0"""
    connect_seconds: int = 120
    """time that the processes have to find each other"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Logs:
    """Where metrics are logged beside the folder of the run."""

    section: ClassVar[str] = "logs"

    tensorboard: bool = False
    """write event files for TensorBoard to the folder of the run as well"""
    wandb: Annotated[str | None, "PROJECT"] = None
    """project of Weights & Biases that the run is logged to as well"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folder:
    """The folder of a run, and what is written there."""

    section: ClassVar[str] = "run folder"

    run_dir: Annotated[str | None, "FOLDER"] = None
    """folder of this run; by default a folder in --runs, named after the task and the time"""
    runs: Annotated[str, "FOLDER"] = "runs"
    """folder for runs"""
    checkpoint_seconds: float | None = None
    """time between checkpoints; by default 30, or more where saving would take over a twentieth of the run; one is
    also written at the end and when the run is stopped"""
    replay_episodes: int = 3
    """episodes of the trained agent in replay.html, 0 for no replay"""
    final_episodes: int = 100
    """largest number of episodes at the end that say whether the saved agents solve the task, greedy and exploring;
    fewer if they would take more than a tenth of the run's steps, 0 for none"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(Processes, Logs, Folder, TrustCode):
    """Train an agent, and write the run to a folder."""

    section: ClassVar[str] = "run"

    algo: str | None = None
    """algorithm: alphazero, ars, bc, dqn, iql, plr, ppo, pqn, q_learning, recurrent_ppo, reinforce, sac, simba, td3,
    tqc, that of a package, or module:name; by default the best that was measured for ENV, or ppo; bc and iql learn
    from a --dataset"""
    quiet: bool = False
    """print the last line only, which says how the run ended"""
    json: Annotated[str | None, "FILE"] = None
    """file for the outcome; "-" prints it, and nothing else"""
    resume: Annotated[str | None, "RUN"] = None
    """continue the run in this folder, which was stopped, or which gets more --total-timesteps"""


def run(arguments: Sequence[str]) -> int:
    """Train, and return the exit status."""
    typed = read_options("train", Options, arguments)
    options: Options = typed.options
    is_quiet = options.quiet or options.json == "-"
    if not typed.wants_help:
        if not is_quiet:
            print("loading JAX and the packages for training", flush=True)
        _connect(options)

    from rich.console import Console

    from funcenv.train.algorithm import find_algorithm as find_stored
    from funcenv.train.devices import ProcessLostError
    from funcenv.train.runs import run
    from funcenv.train.runs.logs import LogOptions

    name, saved = chosen_algorithm(typed), None
    if options.resume is not None:
        name, saved, _ = run.read_config(pathlib.Path(options.resume), options.trust_code)
        if options.algo not in (None, name):
            raise UsageError(f"{options.resume} was started with --algo {name}, not {options.algo}; leave --algo out")
    algorithm = find_algorithm(name) if saved is None else find_stored(name)
    config = read_config(typed, algorithm, name, saved)
    shared: dict[str, Any] = {
        "checkpoint_seconds": options.checkpoint_seconds,
        "replay_episodes": require_size("--replay-episodes", options.replay_episodes, minimum=0),
        "final_episodes": require_size("--final-episodes", options.final_episodes, minimum=0),
        "logs": LogOptions(options.tensorboard, options.wandb),
        "console": Console(quiet=True) if is_quiet else None,
    }
    if options.json not in (None, "-") and not pathlib.Path(str(options.json)).parent.is_dir():
        raise FileNotFoundError(f"--json: there is no folder {pathlib.Path(str(options.json)).parent}; make it first")
    named = options.resume or options.run_dir
    folder = run.make_folder(options.runs, config, algorithm) if named is None else pathlib.Path(named)
    is_alone = not (options.distributed or options.num_processes)
    is_ours = named is None or (options.resume is None and is_alone and not folder.exists())
    try:
        with leave_at_once(lambda: _interrupted(folder, is_ours)):
            if options.resume is not None:
                result = run.resume(folder, config=config, trust_code=options.trust_code, **shared)
            else:
                result = run.start(config, folder, algorithm=algorithm, **shared)
    except ProcessLostError as error:  # at the end of Python, JAX would wait for that process and then abort
        print(f"funcenv train: {error}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(1)
    finally:
        if named is None:
            with contextlib.suppress(OSError):  # it stays where something is in it
                folder.rmdir()
    _report_outcome(result, options, is_quiet)
    return 0 if result.signal_number is None else 128 + int(result.signal_number)


def _interrupted(folder: pathlib.Path, is_ours: bool) -> str:
    """Return what is said of a run that ends at once; a folder of our own without a checkpoint is deleted."""
    if not any((folder / "checkpoints").glob("*")):
        if is_ours:
            shutil.rmtree(folder, ignore_errors=True)
            return "funcenv train: interrupted before anything was saved; the same command begins again"
        return f"funcenv train: interrupted before anything was saved; begin with: funcenv train --resume {folder}"
    return f"funcenv train: interrupted; what is saved is in {folder}; go on with: funcenv train --resume {folder}"


def _report_outcome(result: Any, options: Options, is_quiet: bool) -> None:
    """Print how the run ended, and write it as JSON; one of several processes does."""
    from funcenv.train.devices import is_first

    if not is_first():
        return
    if options.json is not None:
        text = json.dumps(result.figures, indent=2)
        if options.json == "-":
            print(text)
            return
        write_text(options.json, text + "\n")
    if is_quiet:
        print(printable(f"{result.folder}: {result.summary}"))
        return
    _print_outcome(result)


def _print_outcome(result: Any) -> None:
    """Print where the run is and what to do next."""
    from funcenv.train.runs.run import REPLAY_FILE

    if result.signal_number is not None:
        print(printable(f"stopped and saved; resume it with: funcenv train --resume {result.folder}"))
        return
    print(printable(f"everything is in {result.folder}"))
    if (result.folder / REPLAY_FILE).exists():
        print(printable(f"watch it: {result.folder / REPLAY_FILE}"))
    other = "" if result.final is None else " --seed 1"
    print(printable(f"evaluate it over other episodes: funcenv evaluate {result.folder}{other}"))
    print(printable(result.summary))


def _connect(options: Options) -> None:
    """Make this process one of several, if a flag says so, before JAX starts."""
    if not options.distributed and (options.coordinator, options.num_processes, options.process_id) == (None,) * 3:
        return
    if options.resume is None and options.run_dir is None:
        raise UsageError("several processes need a folder, got none; name it by --run-dir or --resume")
    from funcenv.train.devices import connect

    connect(options.coordinator, options.num_processes, options.process_id, options.connect_seconds)

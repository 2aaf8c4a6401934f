"""Training runs that report progress and write a folder from which they can be repeated, resumed and evaluated.

    runs/CartPole-v1-ppo-.../
        config.json           the algorithm, its configuration, and the versions and device of the run
        metrics.csv           a row for each update of each seed
        learning_curve.png
        evaluation.json       returns of whole episodes of the trained agents, greedy and exploring, if asked for
        replay.html           episodes of the trained agent, if its environment has a scene
        checkpoints/          the newest train states, and the best agents so far

A run may be stopped at any moment and resumed. Its parameters and metrics are bit for bit those of a run that was never
stopped.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import importlib
import math
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from rich.console import Console

from funcenv._compile import store
from funcenv.counted import counted
from funcenv.interrupts import note_requests
from funcenv.memory import describe_device, device_memory
from funcenv.random import key as new_key
from funcenv.registry import spec
from funcenv.replay import can_draw
from funcenv.train.algorithm import Algorithm, algorithm_of
from funcenv.train.devices import is_first, lost_processes, wait_for_all
from funcenv.train.loop import Learner
from funcenv.train.memory import estimate_memory, memory_warning
from funcenv.train.runs import checkpoint
from funcenv.train.runs.agent_replay import RecordOptions, record_agent
from funcenv.train.runs.course import Course, TrainingDivergedError, advance, donates, restore
from funcenv.train.runs.final import episodes_to_play, evaluate_final, read_final
from funcenv.train.runs.folder import (
    CHECKPOINTS,
    CONFIG_FILE,
    describe_run,
    extend_config,
    holds_files,
    make_folder,
    new_folder,
    note_memory,
    read_config,
    remove_partial_files,
    write_config,
)
from funcenv.train.runs.lock import RunLockedError, locked
from funcenv.train.runs.logs import NO_LOGS, LogOptions
from funcenv.train.runs.metrics import MetricsFile, draw_learning_curve, read_metrics
from funcenv.train.runs.progress import ProgressReport
from funcenv.train.runs.result import RunResult, ends_solved, read_result

__all__ = [
    "ConfigMismatchError",
    "DiskFullError",
    "RunLockedError",
    "RunResult",
    "TrainingDivergedError",
    "load",
    "make_folder",
    "new_folder",
    "read_config",
    "resume",
    "start",
]

REPLAY_FILE = "replay.html"
CURVE_FILE = "learning_curve.png"

STOPPING = "stopping: this call is finished and the agent is saved; a second Ctrl-C stops at once"


class ConfigMismatchError(ValueError):
    """A run is resumed with a configuration other than its own."""


class DiskFullError(OSError):
    """The disk has no space left for the files of a run."""


def start(
    config: Any,
    folder: str | os.PathLike[str],
    *,
    algorithm: str | Algorithm | None = None,
    checkpoint_seconds: float | None = None,
    replay_episodes: int = 3,
    final_episodes: int = 0,
    max_cpu_seconds: float = math.inf,
    logs: LogOptions = NO_LOGS,
    console: Console | None = None,
) -> RunResult:
    """Start a run and train to the end, or until SIGINT or SIGTERM.

    Args:
        config: A configuration, for example `funcenv.train.algorithms.ppo.Config(...)`.
        folder: Where to write. It must be empty, or not exist.
        algorithm: An `Algorithm` or its name; by default the module that defines the class of `config`.
        checkpoint_seconds: Time between checkpoints; by default 30, or as much more as keeps saving, of a large replay
            buffer, at a twentieth of the run's time. One is also written at the end and when the run is stopped.
        replay_episodes: Number of episodes of the trained agent in `replay.html`, 0 for no replay.
        final_episodes: Largest number of whole episodes that each trained agent plays at the end, greedy and exploring;
            fewer if they would take more than a tenth of the run's steps. `RunResult.final` holds their returns, by
            which the task counts as solved. 0 for none.
        max_cpu_seconds: CPU time of this call after which the run is saved and stops, as after a signal.
        logs: Where metrics are written beside `metrics.csv`.
        console: Where progress is printed.

    Raises:
        FileExistsError: The folder is not empty.
        RunLockedError: Another process writes to the folder.
        ValueError: The algorithm, or a function in the configuration, cannot be found again by its name; or the run
            should stop at a threshold that its environment has not.
        TrainingDivergedError: The loss became NaN. The newest checkpoint holds the last finite state.
        DiskFullError: The disk is full. Earlier checkpoints stay valid.
        ImportError: A package that `logs` needs is missing.
    """
    folder, console = pathlib.Path(folder), _console(console)
    logs.require()
    _require_empty(folder)
    algorithm = algorithm_of(config) if algorithm is None else algorithm
    if config.stop_at_threshold and spec(config.env_id).reward_threshold is None:
        raise ValueError(f"{config.env_id} has no threshold at which to stop; leave stop_at_threshold out")
    learner, description = Learner(algorithm, config), describe_run(algorithm, config)  # check both before writing
    wait_for_all("begin the run")  # all have seen that the folder is empty
    key = new_key(config.seed)
    with _owned(folder):
        if is_first():
            _require_empty(folder)  # another process may have finished a run there since
            with _disk_errors(folder):
                remove_partial_files(folder)
                write_config(folder, description)
        return _train(
            learner,
            lambda announce: _first_state(learner, key, announce),
            key,
            folder,
            checkpoint_seconds,
            _Limits(replay_episodes, final_episodes, time.process_time() + max_cpu_seconds),
            logs,
            console,
        )


def resume(
    folder: str | os.PathLike[str],
    *,
    config: Any = None,
    checkpoint_seconds: float | None = None,
    replay_episodes: int = 3,
    final_episodes: int = 0,
    max_cpu_seconds: float = math.inf,
    logs: LogOptions = NO_LOGS,
    console: Console | None = None,
    trust_code: bool = False,
) -> RunResult:
    """Continue a run that was stopped, or give it more steps.

    A finished run is not trained further; its learning curve and its replay are made if they are missing.

    Args:
        folder: The folder of the run.
        config: If given, it must equal the configuration of the run, but for `total_timesteps`, which may be larger.
            The learning rate is annealed over the new number of steps.
        checkpoint_seconds: See `start`.
        replay_episodes: See `start`.
        final_episodes: See `start`.
        max_cpu_seconds: See `start`.
        logs: See `start`.
        console: See `start`.
        trust_code: Also import the code that a run of somebody else names.

    Raises:
        funcenv.names.UntrustedCodeError: The run names code, and somebody else made it.
        ConfigMismatchError: `config` is not the configuration of the run.
        FileNotFoundError: The folder holds no run.
        RunLockedError: Another process writes to the folder.
        funcenv.train.runs.checkpoint.NoCheckpointError: No checkpoint can be read.
        DiskFullError: The disk is full. Earlier checkpoints stay valid.
        ImportError: A package that `logs` needs is missing.
    """
    folder, console = pathlib.Path(folder), _console(console)
    logs.require()
    algorithm, saved, key = read_config(folder, trust_code)
    if config is not None:
        _require_extension(folder, saved, config)
    is_longer = config is not None and config.total_timesteps > saved.total_timesteps
    if is_longer:
        saved = dataclasses.replace(saved, total_timesteps=config.total_timesteps)
    learner = Learner(algorithm, saved)
    wait_for_all("resume the run")  # all have read the configuration

    def state(announce: Callable[[Any], None]) -> Any:
        has_checkpoint = checkpoint.checkpoints(folder / CHECKPOINTS)
        state = restore(learner, folder, key, console) if has_checkpoint else learner.init(key)
        announce(state)
        return state

    with _owned(folder):
        if is_longer and is_first():
            with _disk_errors(folder):
                extend_config(folder, saved)
        limits = _Limits(replay_episodes, final_episodes, time.process_time() + max_cpu_seconds)
        return _train(learner, state, key, folder, checkpoint_seconds, limits, logs, console)


def load(
    folder: str | os.PathLike[str], console: Console | None = None, *, trust_code: bool = False
) -> tuple[Learner, Any]:
    """Return the learner and the newest train state of a run; `learner.agent(state)` is its trained agent.

    Code that a run of somebody else names is imported only if `trust_code` is true.
    """
    folder = pathlib.Path(folder)
    algorithm, config, key = read_config(folder, trust_code)
    learner = Learner(algorithm, config)
    return learner, restore(learner, folder, key, console or Console())


class _Limits(NamedTuple):
    """How many episodes a run plays after training, and when it stops before its end."""

    replay_episodes: int
    final_episodes: int
    end: float  # the CPU time of the process, `time.process_time`, at which training stops


def _train(
    learner: Learner,
    get_state: Callable[[Callable[[Any], None]], Any],
    key: jax.Array,
    folder: pathlib.Path,
    checkpoint_seconds: float | None,
    limits: _Limits,
    logs: LogOptions,
    console: Console,
) -> RunResult:
    """Train in compiled calls until the end of the run or a signal, then write plot, evaluation and replay.

    Args:
        learner: The algorithm.
        get_state: Returns the first train state, and announces the shapes of its leaves as soon as they are known.
        key: The root key of the run.
        folder: The folder of the run.
        checkpoint_seconds: See `start`.
        limits: How many episodes are played at the end, and when training stops before it.
        logs: See `start`.
        console: See `start`.
    """
    replay_episodes, final_episodes, end = limits
    config, threshold = learner.config, spec(learner.config.env_id).reward_threshold
    title = f"{config.env_id} x {config.num_seeds} seeds" if config.num_seeds > 1 else config.env_id
    has_replay = replay_episodes > 0 and can_draw(learner.env)
    report = ProgressReport(title, config.num_updates * config.batch_size, console, config.num_seeds, threshold)
    signals: list[int] = []
    with _disk_errors(folder), lost_processes(), report:
        if config.total_timesteps > report.total_steps:
            report.say(
                f"training {report.total_steps:,} of {config.total_timesteps:,} steps, "
                f"in whole batches of {config.batch_size:,}"
            )
        report.enter("compiling" if store.folder() is None else "preparing")  # what is kept may need no compiling
        if has_replay:  # report a mistake in the scene before training
            jax.eval_shape(lambda key: learner.env.scene(learner.env.initial(key)), new_key(0))
        wall, cpu = time.perf_counter(), time.process_time()
        with store.announced_stages(report.enter):
            state = get_state(lambda shapes: _announce_memory(learner, shapes, folder, report))
        done = learner.num_updates_done(state)
        if is_first():
            remove_partial_files(folder)
        metrics_file = MetricsFile(folder / "metrics.csv", is_written=is_first())
        metrics_file.keep_until(done)
        wait_for_all("continue the metrics")
        is_solved = config.stop_at_threshold and ends_solved(read_metrics(metrics_file.path), config, threshold)
        must_train = done < config.num_updates and not is_solved
        if must_train:
            course = Course(learner, key, folder, metrics_file, report, threshold, console)
            with store.announced_stages(report.enter):
                state = learner.compile(state, donates(config))
            course.begin(state)
            metrics_file.add_time(time.perf_counter() - wall, time.process_time() - cpu)
            course.logs = logs.open(folder, config, done * config.batch_size) if is_first() else []
            with contextlib.closing(course), note_requests(lambda: report.say(STOPPING)) as signals:
                state = advance(course, state, checkpoint_seconds, signals, end)
                report.enter("saving")
                done, is_solved = learner.num_updates_done(state), course.is_solved
                course.save(state)
        wait_for_all("end the run")
        rows, curve, replay = read_metrics(metrics_file.path), folder / CURVE_FILE, folder / REPLAY_FILE
        if is_first() and rows and (must_train or not curve.exists()):
            draw_learning_curve(curve, rows, title, threshold)
        is_finished = done == config.num_updates or is_solved
        if jax.process_count() == 1:  # several processes may have heard of a signal at different times
            is_finished = is_finished and not signals
        agents = learner.agents(state) if (has_replay or final_episodes) and is_finished else None
        if agents is not None and final_episodes:
            _evaluate_final(learner, state, agents, final_episodes, folder, report)
        if is_first() and agents is not None and has_replay and (must_train or not replay.exists()):
            report.enter(f"recording {counted(replay_episodes, 'episode')}")
            record_agent(learner, agents, RecordOptions(replay_episodes)).save(replay)
        report.enter("finished" if is_finished else "stopped")
    return read_result(folder, state, config, threshold, [] if is_finished else signals, is_finished)


def _first_state(learner: Learner, key: jax.Array, announce: Callable[[Any], None]) -> Any:
    """Return a new state; if programs must be compiled, that of the updates compiles at the same time.

    The shapes of its leaves are announced before a compilation, and otherwise with the state.
    """
    announced: list[bool] = []

    def tell(shapes: Any) -> None:
        announce(shapes)
        announced.append(True)

    def compile_updates(shapes: Any) -> None:
        tell(shapes)
        learner.start_compiling(shapes, donates(learner.config), _import_for_the_end)

    if learner.mesh is not None:  # whose programs do not compile at the same time
        tell(learner.template(key))
    state = learner.init(key, compile_updates)
    if not announced:
        tell(state)
    return state


def _announce_memory(learner: Learner, shapes: Any, folder: pathlib.Path, report: ProgressReport) -> None:
    """Say which device runs and what the run takes of its memory, and add that to `config.json`."""
    devices = jax.devices() if learner.mesh is None else list(learner.mesh.devices.flat)
    count = 1 if learner.mesh is None else len(devices)
    estimate = estimate_memory(learner.algorithm, learner.config, learner.env, shapes, count)
    report.say(f"{describe_device(devices[0], count)}; the run takes about {estimate}")
    if warning := memory_warning(estimate, devices[0]):
        report.say(warning)
    if is_first():
        with _disk_errors(folder):
            note_memory(folder, estimate._asdict(), device_memory(devices[0]))


def _import_for_the_end() -> None:
    """Import what writes checkpoints and curves, each of which takes half a second."""
    for name in ("matplotlib.figure", "orbax.checkpoint"):
        importlib.import_module(name)


def _evaluate_final(
    learner: Learner, state: Any, agents: Any, limit: int, folder: pathlib.Path, report: ProgressReport
) -> None:
    """Evaluate the trained agents, unless that was done before or no episode of theirs has ended."""
    config, done, rows = learner.config, learner.num_updates_done(state), read_metrics(folder / "metrics.csv")
    if config.plays_episodes:
        length = np.mean([float(row["mean_length"]) for row in rows[-config.num_seeds :]] or [np.nan])
    else:
        length = config.mean_episode_length
    if np.isnan(length) or read_final(folder, done) is not None:
        return
    exploring = learner.agents(state, explore=True)
    if is_first():
        num_episodes = episodes_to_play(limit, int(rows[-1]["env_steps"]), float(length))
        report.enter(f"evaluating {counted(num_episodes, 'episode')}, greedy and exploring")
        evaluate_final(learner, agents, exploring, num_episodes, folder, done)


def _console(console: Console | None) -> Console:
    """Return the console of a run; one of several processes reports."""
    return (console or Console()) if is_first() else Console(quiet=True)


def _require_extension(folder: pathlib.Path, saved: Any, config: Any) -> None:
    """Raise unless a configuration differs from that of the run in a larger number of steps only."""
    ours, theirs = saved.to_json(), config.to_json()
    different = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    if different == ["total_timesteps"] and config.total_timesteps < saved.total_timesteps:
        raise ConfigMismatchError(
            f"total_timesteps of {folder} can only grow: it is {saved.total_timesteps}, got {config.total_timesteps}"
        )
    if different not in ([], ["total_timesteps"]):
        differences = ", ".join(f"{name} is {ours.get(name)!r} there, {theirs.get(name)!r} here" for name in different)
        raise ConfigMismatchError(
            f"{folder} was started with another configuration: {differences}; leave these out, or start a new run"
        )


def _require_empty(folder: pathlib.Path) -> None:
    if folder.exists() and holds_files(folder):
        raise FileExistsError(
            f"{folder} exists already; choose another folder, or resume the run: funcenv train --resume {folder}"
        )


@contextlib.contextmanager
def _owned(folder: pathlib.Path) -> Iterator[None]:
    """Make the folder of a run and hold its lock; the first of several processes does."""
    with contextlib.ExitStack() as stack:
        if is_first():
            with _disk_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(folder))
        yield


@contextlib.contextmanager
def _disk_errors(folder: pathlib.Path) -> Iterator[None]:
    """Say where a disk is full or a limit is reached, and how to go on."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        saved = checkpoint.checkpoints(folder / CHECKPOINTS)
        last = f"the last good checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"
        again = "resume" if (folder / CONFIG_FILE).exists() else "run-dir"
        raise DiskFullError(
            f"no space is left on the disk of {folder}; {last}. Free some space and go on with: "
            f"funcenv train --{again} {folder}"
        ) from error

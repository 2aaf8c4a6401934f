"""Training runs that report progress and write a folder from which they can be repeated, resumed and evaluated.

    runs/CartPole-v1-ppo-.../
        config.json           the algorithm, its configuration, and the versions and device of the run
        metrics.csv           a row for each update of each seed
        learning_curve.png
        replay.html           episodes of the trained agent, if its environment has a scene
        checkpoints/          the newest train states

A run may be stopped at any moment and resumed. Its parameters and metrics are bit for bit those of a run that was never
stopped.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from funcenv.random import impl_name
from funcenv.random import key as new_key
from funcenv.registry import spec
from funcenv.replay import can_draw
from funcenv.train import checkpoint
from funcenv.train.agent_replay import RecordOptions, record_agent
from funcenv.train.algorithm import Algorithm, algorithm_name, algorithm_of, find_algorithm
from funcenv.train.loop import MAX_UPDATES_PER_CALL, Learner, Metrics
from funcenv.train.metrics import MetricsFile, draw_learning_curve, read_metrics
from funcenv.train.progress import ProgressReport

SECONDS_PER_CALL = 0.5
"""The target duration of one compiled call. Progress is reported, and signals are handled, between calls."""

REPLAY_FILE = "replay.html"


class TrainingDivergedError(RuntimeError):
    """The loss became NaN or infinite."""


class ConfigMismatchError(ValueError):
    """A run is resumed with a configuration other than its own."""


@dataclasses.dataclass(frozen=True)
class RunResult:
    """The outcome of a run."""

    folder: pathlib.Path
    state: Any  # the train state; every leaf has a leading axis [num_seeds]
    finished: bool  # False if a signal stopped the run
    signal_number: int | None  # the signal that stopped it
    mean_return: float  # of recent episodes, mean over seeds; NaN before the first episode ends
    solved_at_steps: int | None  # environment steps at which the mean return of every seed reached the threshold
    solved_after_seconds: float | None  # wall time at which it did


def new_folder(root: str | os.PathLike[str], config: Any, algorithm: str | Algorithm | None = None) -> pathlib.Path:
    """Return a descriptive name for the folder of a run: `CartPole-v1-ppo-seed0-20260131-120000` in `root`."""
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    name = algorithm_name(algorithm_of(config) if algorithm is None else algorithm)
    return pathlib.Path(root) / re.sub("[/:]", "-", f"{config.env_id}-{name}-seed{config.seed}-{now}")


def start(
    config: Any,
    folder: str | os.PathLike[str],
    *,
    algorithm: str | Algorithm | None = None,
    checkpoint_seconds: float = 30.0,
    replay_episodes: int = 3,
    console: Console | None = None,
) -> RunResult:
    """Start a run and train to the end, or until SIGINT or SIGTERM.

    Args:
        config: A configuration, for example `funcenv.train.ppo.Config(...)`.
        folder: Where to write. It must be empty, or not exist.
        algorithm: An `Algorithm` or its name; by default the module that defines the class of `config`.
        checkpoint_seconds: Time between checkpoints. One is also written at the end and when the run is stopped.
        replay_episodes: Number of episodes of the trained agent in `replay.html`, 0 for no replay.
        console: Where progress is printed.

    Raises:
        FileExistsError: The folder is not empty.
        ValueError: The algorithm, or a function in the configuration, cannot be found again by its name.
        TrainingDivergedError: The loss became NaN. The newest checkpoint holds the last finite state.
    """
    folder = pathlib.Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} exists already; choose another folder, or resume the run: funcenv train --resume {folder}"
        )
    algorithm = algorithm_of(config) if algorithm is None else algorithm
    learner, description = Learner(algorithm, config), _describe(algorithm, config)  # check both before writing
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "config.json.partial"
    partial.write_text(json.dumps(description, indent=2) + "\n")
    os.replace(partial, folder / "config.json")
    state = learner.init(new_key(config.seed))
    return _train(learner, state, folder, checkpoint_seconds, replay_episodes, console or Console())


def resume(
    folder: str | os.PathLike[str],
    *,
    config: Any = None,
    checkpoint_seconds: float = 30.0,
    replay_episodes: int = 3,
    console: Console | None = None,
) -> RunResult:
    """Continue a run that was stopped. A finished run is not changed.

    Args:
        folder: The folder of the run.
        config: If given, it must equal the configuration of the run.
        checkpoint_seconds: See `start`.
        replay_episodes: See `start`.
        console: See `start`.

    Raises:
        ConfigMismatchError: `config` is not the configuration of the run.
        FileNotFoundError: The folder holds no run.
        funcenv.train.checkpoint.NoCheckpointError: No checkpoint can be read.
    """
    folder, console = pathlib.Path(folder), console or Console()
    algorithm, saved, key = read_config(folder)
    ours, theirs = saved.to_json(), saved.to_json() if config is None else config.to_json()
    if ours != theirs:
        differences = ", ".join(
            f"{name} is {ours.get(name)!r} there, {theirs.get(name)!r} here"
            for name in {**ours, **theirs}
            if ours.get(name) != theirs.get(name)
        )
        raise ConfigMismatchError(
            f"{folder} was started with another configuration: {differences}; leave these out, or start a new run"
        )
    learner = Learner(algorithm, saved)
    has_checkpoint = checkpoint.checkpoints(folder / "checkpoints")
    state = _restore(learner, folder, key, console) if has_checkpoint else learner.init(key)
    return _train(learner, state, folder, checkpoint_seconds, replay_episodes, console)


def load(folder: str | os.PathLike[str], console: Console | None = None) -> tuple[Learner, Any]:
    """Return the learner and the newest train state of a run; `learner.agent(state)` is its trained agent."""
    folder = pathlib.Path(folder)
    algorithm, config, key = read_config(folder)
    learner = Learner(algorithm, config)
    return learner, _restore(learner, folder, key, console or Console())


def read_config(folder: pathlib.Path) -> tuple[str, Any, jax.Array]:
    """Return the name of the algorithm, the configuration and the root key of a run.

    Raises:
        FileNotFoundError: The folder holds no run.
        ValueError: `config.json` cannot be understood.
    """
    path = folder / "config.json"
    if not path.exists():
        raise FileNotFoundError(f"{folder} is not a run: it has no config.json; name a folder that funcenv train wrote")
    try:
        written = json.loads(path.read_text())
        algorithm = written["algorithm"]
        config = find_algorithm(algorithm).Config.from_json(written["config"])
        return algorithm, config, new_key(config.seed, written["key"]["impl"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be understood: {error}; restore it, or start a new run") from error


def _train(
    learner: Learner,
    state: Any,
    folder: pathlib.Path,
    checkpoint_seconds: float,
    replay_episodes: int,
    console: Console,
) -> RunResult:
    """Train in compiled calls until the end of the run or a signal, then write the plot and the replay."""
    config, threshold = learner.config, spec(learner.config.env_id).reward_threshold
    has_replay = replay_episodes > 0 and can_draw(learner.env)
    if has_replay:  # report a mistake in the scene before training
        jax.eval_shape(lambda key: learner.env.scene(learner.env.initial(key)), new_key(0))
    metrics_file = MetricsFile(folder / "metrics.csv")
    done = learner.num_updates_done(state)
    metrics_file.keep_until(done)
    if done == config.num_updates:
        return _result(folder, state, config, threshold, [])

    title = f"{config.env_id} x {config.num_seeds} seeds" if config.num_seeds > 1 else config.env_id
    total_steps = config.num_updates * config.batch_size
    last_save, num_updates = time.perf_counter(), 1
    with _stop_requests() as signals, ProgressReport(title, total_steps, console) as report:
        while done < config.num_updates and not signals:
            wall, cpu = time.perf_counter(), time.process_time()
            next_state, metrics = learner.advance(state, num_updates)
            _require_finite(learner, state, metrics, folder)
            state = next_state
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            metrics_file.append(done + 1, metrics, wall, cpu)
            report.report(int(metrics["env_steps"][-1, 0]), float(metrics["mean_return"][-1].mean()))
            # The duration of the first call includes compilation. A second call of a few updates shows their speed.
            advanced = learner.num_updates_done(state) - done
            at_target_speed = advanced * SECONDS_PER_CALL / max(wall, 1e-6)
            num_updates = 4 if num_updates == 1 else int(np.clip(at_target_speed, 1, MAX_UPDATES_PER_CALL))
            done += advanced
            if time.perf_counter() - last_save >= checkpoint_seconds:
                checkpoint.save(folder / "checkpoints", done, state)
                last_save = time.perf_counter()

    checkpoint.save(folder / "checkpoints", done, state)
    if rows := read_metrics(metrics_file.path):
        draw_learning_curve(folder / "learning_curve.png", rows, title, threshold)
    is_finished = done == config.num_updates
    if has_replay and is_finished:
        record_agent(learner, state, RecordOptions(replay_episodes)).save(folder / REPLAY_FILE)
    return _result(folder, state, config, threshold, [] if is_finished else signals)


def _result(folder: pathlib.Path, state: Any, config: Any, threshold: float | None, signals: list[int]) -> RunResult:
    """Return the outcome of a run; its returns are read from the metrics file, which covers all of its parts."""
    rows = read_metrics(folder / "metrics.csv")
    returns = np.array([float(row["mean_return"]) for row in rows]).reshape(-1, config.num_seeds)
    is_solved = (returns >= (np.inf if threshold is None else threshold)).all(axis=1)
    solved = rows[is_solved.argmax() * config.num_seeds] if is_solved.any() else None
    return RunResult(
        folder=folder,
        state=state,
        finished=not signals,
        signal_number=signals[0] if signals else None,
        mean_return=float(returns[-1].mean()) if rows else float("nan"),
        solved_at_steps=int(solved["env_steps"]) if solved else None,
        solved_after_seconds=float(solved["wall_seconds"]) if solved else None,
    )


def _require_finite(learner: Learner, before: Any, metrics: Metrics, folder: pathlib.Path) -> None:
    """Raise if an update's loss is not finite, after saving the state before that update."""
    if "loss" not in metrics or np.isfinite(metrics["loss"]).all():
        return
    is_bad = ~np.isfinite(metrics["loss"])
    index = int(is_bad.any(axis=1).argmax())
    seed = int(is_bad[index].argmax())
    last_finite = learner.advance(before, index)[0] if index else before
    done = learner.num_updates_done(last_finite)
    saved = checkpoint.save(folder / "checkpoints", done, last_finite)
    raise TrainingDivergedError(
        f"the loss is {metrics['loss'][index, seed]} at update {done + 1}, "
        f"environment step {metrics['env_steps'][index, seed]}, seed {seed}; "
        f"the state before it is kept in {saved}. Try a lower learning_rate or max_grad_norm"
    )


def _restore(learner: Learner, folder: pathlib.Path, key: jax.Array, console: Console) -> Any:
    template = jax.eval_shape(learner.init, key)
    state, messages = checkpoint.restore_latest(folder / "checkpoints", template, impl_name(key))
    for message in messages:
        console.print(f"[yellow]warning:[/] {message}", highlight=False)
    return state


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """Yield a list of the SIGINT and SIGTERM received; a second signal of the same number acts at once."""
    requests: list[int] = []
    previous: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        requests.append(number)
        signal.signal(number, previous[number])

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, note)
    except ValueError:  # only the main thread may handle signals
        yield requests
        return
    try:
        yield requests
    finally:
        for handled, handler in previous.items():
            signal.signal(handled, handler)


def _describe(algorithm: str | Algorithm, config: Any) -> dict[str, Any]:
    """Return the contents of `config.json`."""
    device = jax.devices()[0]
    packages = ("funcenv", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
    return {
        "algorithm": algorithm_name(algorithm),
        "config": config.to_json(),
        "key": {"seed": config.seed, "impl": impl_name(new_key(config.seed))},
        "versions": {
            "python": platform.python_version(),
            **{package: importlib.metadata.version(package) for package in packages},
        },
        "device": {
            "platform": device.platform,
            "kind": device.device_kind,
            "count": jax.device_count(),
            "machine": platform.platform(),
        },
        "x64": jnp.zeros(()).dtype == "float64",
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }

"""A run: training that shows its progress and leaves a folder from which it can be repeated, resumed and evaluated.

    runs/CartPole-v1-ppo-.../
        config.json           the configuration, and the versions and device it ran with
        metrics.csv           a row for each update of each seed
        learning_curve.png
        replay.html           a page that plays episodes of the trained agent, where its environment can be drawn
        checkpoints/          the newest train states

A run may be stopped at any moment and resumed: the parameters and metrics are bit for bit those of a run that was
never stopped.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import importlib.metadata
import json
import os
import pathlib
import platform
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

import funcenv
from funcenv.random import impl_name
from funcenv.replay import can_draw
from funcenv.train import checkpoint
from funcenv.train.loop import MAX_UPDATES_PER_CALL, Learner, Metrics
from funcenv.train.metrics import MetricsFile, draw_learning_curve, read_metrics
from funcenv.train.progress import ProgressReport
from funcenv.train.replay_command import record_agent

CHUNK_SECONDS = 0.5
"""How long one call of the compiled program should take: how often progress is shown and a request to stop is heard."""


class TrainingDivergedError(RuntimeError):
    """The loss became NaN or infinite."""


class ConfigMismatchError(ValueError):
    """A run is resumed with another configuration than it was started with."""


@dataclasses.dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    folder: pathlib.Path
    state: Any  # the train state; every leaf has a leading axis [num_seeds]
    finished: bool  # False where a signal stopped it
    signal_number: int | None  # which one
    mean_return: float  # of the last episodes, mean over seeds
    solved_at_steps: int | None  # environment steps at which the mean return reached the threshold in every seed
    solved_after_seconds: float | None  # and the wall time since the run began


def new_folder(root: str | os.PathLike[str], config: Any, algorithm: str = "ppo") -> pathlib.Path:
    """A name for a run that says what it is, below `root`: `CartPole-v1-ppo-seed0-20260131-120000`."""
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    task = config.env_id.replace("/", "-").replace(":", "-")
    return pathlib.Path(root) / f"{task}-{algorithm}-seed{config.seed}-{now}"


def start(
    config: Any,
    folder: str | os.PathLike[str],
    *,
    algorithm: str = "ppo",
    checkpoint_seconds: float = 30.0,
    replay_episodes: int = 3,
    console: Console | None = None,
) -> RunResult:
    """Train from the beginning.

    Args:
        config: of the algorithm, say `funcenv.train.ppo.Config(...)`.
        folder: where to write; it must not exist yet, or be empty.
        algorithm: name of a module in `funcenv.train`.
        checkpoint_seconds: how often the state is saved, besides at the end and when the run is stopped.
        replay_episodes: how many episodes of the trained agent `replay.html` shows, 0 for none.
        console: where progress is shown.

    Raises:
        FileExistsError: the folder holds something.
        TrainingDivergedError: the loss became NaN; the last finite state is in the newest checkpoint.
    """
    folder = pathlib.Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} exists already; choose another folder, or go on with it: funcenv train --resume {folder}"
        )
    learner = Learner(_module(algorithm), config)  # before anything is written: it checks the configuration
    folder.mkdir(parents=True, exist_ok=True)
    _write_config(folder, algorithm, config)
    state = learner.init(funcenv.key(config.seed))
    return _train(learner, state, folder, checkpoint_seconds, replay_episodes, console or Console())


def resume(
    folder: str | os.PathLike[str],
    *,
    config: Any = None,
    checkpoint_seconds: float = 30.0,
    replay_episodes: int = 3,
    console: Console | None = None,
) -> RunResult:
    """Go on with a run that was stopped; a finished one is left as it is.

    Args:
        folder: of the run.
        config: what the caller believes the configuration to be, if anything.
        checkpoint_seconds: as for `start`.
        replay_episodes: as for `start`.
        console: as for `start`.

    Raises:
        ConfigMismatchError: `config` is not the one the run was started with.
        FileNotFoundError: there is no run there.
        funcenv.train.checkpoint.NoCheckpointError: no checkpoint can be read.
    """
    folder, console = pathlib.Path(folder), console or Console()
    algorithm, saved, _ = read_config(folder)
    if config is not None and config != saved:
        ours, theirs = dataclasses.asdict(saved), dataclasses.asdict(config)
        differences = ", ".join(
            f"{name} is {ours[name]!r} there, {theirs[name]!r} here" for name in ours if ours[name] != theirs[name]
        )
        raise ConfigMismatchError(
            f"{folder} was started with another configuration: {differences}; leave these out, or start a new run"
        )
    learner = Learner(_module(algorithm), saved)
    if checkpoint.checkpoints(folder / "checkpoints"):
        state = _restore(learner, folder, console)
    else:  # stopped before the first checkpoint: the beginning is as good
        state = learner.init(read_config(folder)[2])
    return _train(learner, state, folder, checkpoint_seconds, replay_episodes, console)


def load(folder: str | os.PathLike[str], console: Console | None = None) -> tuple[Learner, Any]:
    """The learner and the newest train state of a run, say for `learner.agent(state)`."""
    folder = pathlib.Path(folder)
    algorithm, config, _ = read_config(folder)
    learner = Learner(_module(algorithm), config)
    return learner, _restore(learner, folder, console or Console())


def read_config(folder: pathlib.Path) -> tuple[str, Any, jax.Array]:
    """The algorithm, the configuration and the root key of a run.

    Raises:
        FileNotFoundError: the folder holds no run.
        ValueError: `config.json` cannot be understood.
    """
    path = folder / "config.json"
    if not path.exists():
        raise FileNotFoundError(f"{folder} is not a run: it has no config.json; name a folder that funcenv train left")
    try:
        written = json.loads(path.read_text())
        algorithm = written["algorithm"]
        config = _module(algorithm).Config.from_json(written["config"])
        return algorithm, config, funcenv.key(config.seed, written["key"]["impl"])
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
    """Advance in chunks until the end, or until a signal asks to stop."""
    config, threshold = learner.config, funcenv.spec(learner.config.env_id).reward_threshold
    drawn = replay_episodes > 0 and can_draw(learner.env)
    if drawn:  # a scene that cannot be drawn is better heard of now
        jax.eval_shape(lambda key: learner.env.scene(learner.env.initial(key)), funcenv.key(0))
    metrics_file = MetricsFile(folder / "metrics.csv")
    done = learner.num_updates_done(state)
    metrics_file.keep_until(done)
    title = f"{config.env_id} x {config.num_seeds} seeds" if config.num_seeds > 1 else config.env_id
    total_steps = config.num_updates * config.batch_size
    solved = _solved_before(metrics_file.path, threshold, config.num_seeds)
    mean_return, last_save, num_updates = float("nan"), time.perf_counter(), 1
    if done == config.num_updates:
        last = [float(row["mean_return"]) for row in read_metrics(metrics_file.path)[-config.num_seeds :]]
        return RunResult(folder, state, True, None, float(np.mean(last)), *(solved or (None, None)))

    with _stop_requests() as requests, ProgressReport(title, total_steps, console) as report:
        while done < config.num_updates and not requests:
            wall, cpu = time.perf_counter(), time.process_time()
            following, metrics = learner.advance(state, num_updates)
            _require_finite(learner, state, metrics, folder)
            state = following
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            metrics_file.append(done + 1, metrics, wall, cpu)
            advanced = learner.num_updates_done(state) - done
            first_call, done = num_updates == 1, done + advanced
            mean_return = float(metrics["mean_return"][-1].mean())
            solved = solved or _solved(metrics, threshold, metrics_file.wall_seconds)
            report.advance(int(metrics["env_steps"][-1, 0]), mean_return)
            # The first call compiles, so its time says nothing: try a few updates next.
            num_updates = 4 if first_call else _updates_in(CHUNK_SECONDS, wall / advanced)
            if time.perf_counter() - last_save >= checkpoint_seconds:
                checkpoint.save(folder / "checkpoints", done, state)
                last_save = time.perf_counter()

    checkpoint.save(folder / "checkpoints", done, state)
    if metrics_file.path.exists():
        draw_learning_curve(metrics_file.path, folder / "learning_curve.png", title, threshold)
    if drawn and done == config.num_updates:
        record_agent(learner, state, replay_episodes).save(folder / "replay.html")
    return RunResult(
        folder=folder,
        state=state,
        finished=done == config.num_updates,
        signal_number=requests[0] if requests and done < config.num_updates else None,
        mean_return=mean_return,
        solved_at_steps=solved[0] if solved else None,
        solved_after_seconds=solved[1] if solved else None,
    )


def _solved(metrics: Metrics, threshold: float | None, seconds: float) -> tuple[int, float] | None:
    """When every seed had reached the threshold, if that was in these updates."""
    if threshold is None:
        return None
    reached = (metrics["mean_return"] >= threshold).all(axis=1)
    return (int(metrics["env_steps"][reached.argmax(), 0]), seconds) if reached.any() else None


def _solved_before(path: pathlib.Path, threshold: float | None, num_seeds: int) -> tuple[int, float] | None:
    """As `_solved`, for what a run that is resumed has written."""
    if threshold is None or not path.exists():
        return None
    rows = read_metrics(path)
    for i in range(0, len(rows), num_seeds):
        if all(float(row["mean_return"]) >= threshold for row in rows[i : i + num_seeds]):
            return int(rows[i]["env_steps"]), float(rows[i]["wall_seconds"])
    return None


def _updates_in(seconds: float, seconds_per_update: float) -> int:
    return int(np.clip(seconds / max(seconds_per_update, 1e-6), 1, MAX_UPDATES_PER_CALL))


def _require_finite(learner: Learner, before: Any, metrics: Metrics, folder: pathlib.Path) -> None:
    """Raise if the loss is not finite, with the state before that update saved."""
    bad = ~np.isfinite(metrics["loss"])
    if not bad.any():
        return
    index = int(bad.any(axis=1).argmax())
    seed = int(bad[index].argmax())
    last_finite = learner.advance(before, index)[0] if index else before
    done = learner.num_updates_done(last_finite)
    saved = checkpoint.save(folder / "checkpoints", done, last_finite)
    raise TrainingDivergedError(
        f"the loss is {metrics['loss'][index, seed]} at update {done + 1}, "
        f"environment step {metrics['env_steps'][index, seed]}, seed {seed}; "
        f"the state before it is kept in {saved}. Try a lower learning_rate or max_grad_norm"
    )


def _restore(learner: Learner, folder: pathlib.Path, console: Console) -> Any:
    key = read_config(folder)[2]
    template = jax.eval_shape(learner.init, key)
    state, messages = checkpoint.restore_latest(folder / "checkpoints", template, impl_name(key))
    for message in messages:
        console.print(f"[yellow]warning:[/] {message}", highlight=False)
    return state


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """A list that SIGINT and SIGTERM are noted in; a second one of the same kind acts at once."""
    requests: list[int] = []
    previous: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        requests.append(number)
        signal.signal(number, previous[number])

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, note)
    except ValueError:  # not the main thread: signals are somebody else's business
        yield requests
        return
    try:
        yield requests
    finally:
        for wanted, handler in previous.items():
            signal.signal(wanted, handler)


def _write_config(folder: pathlib.Path, algorithm: str, config: Any) -> None:
    device = jax.devices()[0]
    packages = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
    written = {
        "algorithm": algorithm,
        "config": config.to_json(),
        "key": {"seed": config.seed, "impl": impl_name(funcenv.key(config.seed))},
        "versions": {
            "funcenv": funcenv.__version__,
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
    temporary = folder / "config.json.partial"
    temporary.write_text(json.dumps(written, indent=2) + "\n")
    os.replace(temporary, folder / "config.json")


def _module(algorithm: str) -> Any:
    return importlib.import_module(f"funcenv.train.{algorithm}")

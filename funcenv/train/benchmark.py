"""Benchmarks: an algorithm trained in all tasks of a suite, in one folder that can be continued at any time.

    FOLDER/
        benchmark.json        the suite, and the configuration of every task
        runs/ID/              a run for each task, as `funcenv.train.runs.run` writes it
        results/ID.json       what its agents reach: learning curves, returns of all episodes, cost
        summary.json          scores over all tasks
        summary.png           interquartile means, performance profiles, sample efficiency
        curves.png            the learning curves of each task

A task is finished when its file in `results/` is written, and its run may be deleted then.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from funcenv._jax import clear_caches
from funcenv.files import as_file_name, write_text
from funcenv.train.reports.aggregate import bootstrap_interval, interquartile_mean
from funcenv.train.reports.measured import EPISODES, measure_run
from funcenv.train.reports.panels import Scored, draw_learning_curves, draw_summary
from funcenv.train.runs import run
from funcenv.train.runs.course import TrainingDivergedError
from funcenv.train.suites import references, scores_of

BENCHMARK_FILE = "benchmark.json"
RESULTS = "results"
SHARES = np.linspace(0.0, 1.0, 51)
"""The parts of a task's steps at which the curves of sample efficiency have points."""


class BenchmarkMismatchError(ValueError):
    """A folder holds a benchmark with other tasks or settings."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The tasks of a benchmark: a configuration for each, and how its agents are evaluated."""

    suite: str
    label: str  # the name of the algorithm in tables and pictures
    algorithms: Mapping[str, str]  # the name of the algorithm of each id
    configs: Mapping[str, Any]  # the configuration of each id
    num_episodes: int = 100  # that each agent plays after training

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        runs = {
            env_id: {"algorithm": self.algorithms[env_id], **config.to_json()}
            for env_id, config in self.configs.items()
        }
        return {"suite": self.suite, "label": self.label, "num_episodes": self.num_episodes, "runs": runs}


class Progress(NamedTuple):
    """The state of a benchmark: results, and what is left."""

    results: dict[str, dict[str, Any]]  # the results of finished tasks, by id
    left: list[str]  # ids that are not finished
    diverged: dict[str, str]  # what ended the training of an id for good
    signal_number: int | None  # the signal that stopped it


def run_benchmark(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    max_cpu_seconds: float = math.inf,
    console: Console | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Progress:
    """Train and evaluate what is not finished yet, task by task, and write the results and pictures of all that is.

    After each task, JAX forgets the compiled programs of this process.

    Args:
        plan: What to train.
        folder: Where to write. It must hold the same benchmark, or nothing.
        max_cpu_seconds: CPU time of this call. A run that it ends is saved, and the next call continues it.
        console: Where the progress of runs is printed; by default nowhere.
        say: Called with a line before each task.

    Raises:
        BenchmarkMismatchError: The folder holds another benchmark.
        FileExistsError: The folder holds something else.
        OSError: The folder cannot be written to.
    """
    folder, end = pathlib.Path(folder), time.process_time() + max_cpu_seconds
    _prepare(plan, folder)
    signal_number, diverged = None, {}
    finished = read_results(folder, plan.configs)
    for number, (env_id, config) in enumerate(plan.configs.items(), start=1):
        if env_id in finished:
            continue
        seconds = end - time.process_time()
        if seconds <= 0:
            break
        budget = "" if math.isinf(seconds) else f", {format_hours(seconds)} left"
        say(f"task {number} of {len(plan.configs)}: {env_id} with {plan.algorithms[env_id]}{budget}")
        try:
            outcome = _train(plan, env_id, config, folder, seconds, console or Console(quiet=True))
        except TrainingDivergedError as error:
            diverged[env_id] = str(error)
            say(f"{env_id}: {error}")
            continue
        if not outcome.finished:
            signal_number = outcome.signal_number
            break
        say(f"{env_id}: playing {plan.num_episodes} episodes with each agent")
        result = {"env_id": env_id, **measure_run(outcome.folder, plan.num_episodes)}
        _write_lines(_result_file(folder, env_id), result)
        finished[env_id] = result
        clear_caches()  # the next task takes the memory of this one's programs
    results = {env_id: finished[env_id] for env_id in plan.configs if env_id in finished}
    left = [env_id for env_id in plan.configs if env_id not in results]
    return Progress(results, left, diverged, signal_number)


def read_benchmark(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the contents of `benchmark.json`, and the results of the finished tasks by their ids.

    Raises:
        FileNotFoundError: The folder holds no benchmark.
        ValueError: A file is damaged.
    """
    path = pathlib.Path(folder) / BENCHMARK_FILE
    if not path.exists():
        raise FileNotFoundError(f"{folder} is no benchmark: it has no {BENCHMARK_FILE}; funcenv benchmark writes one")
    contents = _read(path)
    if not {"suite", "label", "num_episodes", "runs"} <= set(contents):
        raise ValueError(f"{path} is damaged; restore it, or begin in another folder")
    return contents, read_results(pathlib.Path(folder), contents["runs"])


def read_results(folder: pathlib.Path, env_ids: Any) -> dict[str, dict[str, Any]]:
    """Return the results of those ids that are finished.

    Raises:
        ValueError: A file is damaged.
    """
    paths = {env_id: _result_file(folder, env_id) for env_id in env_ids}
    results = {env_id: _read(path) for env_id, path in paths.items() if path.exists()}
    for env_id, result in results.items():
        if not {"returns", "curve_steps", "curve_returns", "cpu_seconds", EPISODES} <= set(result):
            raise ValueError(f"{paths[env_id]} is damaged; delete it, and the same command writes it again")
    return results


def summarize(results: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of each task and the score over all that have a reference, as JSON values.

    Means are interquartile means over agents, with stratified bootstrap intervals if there are several agents.
    """
    tasks = []
    for env_id, result in results.items():
        returns, reference = np.array(result["returns"])[:, None], references().get(env_id)
        mean = float(interquartile_mean(returns))
        tasks.append(
            {
                "env_id": env_id,
                **{name: result[name] for name in ("algorithm", "steps", "cpu_seconds")},
                "num_agents": len(returns),
                "interquartile_mean": mean,
                "interval": _interval(returns),
                "reference": None if reference is None else reference.reference,
                "reference_by": None if reference is None else reference.text,
                "score": None if reference is None else reference.scores(mean),
            }
        )
    found = scored("", results)
    score = None
    if found is not None:
        score = {"interquartile_mean": float(interquartile_mean(found.final)), "interval": _interval(found.final)}
    return {"tasks": tasks, "score": score}


def scored(label: str, results: Mapping[str, dict[str, Any]]) -> Scored | None:
    """Return the scores of the tasks that have a reference; None if there is no such task."""
    final, curves = [], []
    for env_id, result in results.items():
        scores = scores_of(env_id, np.array(result["returns"]))
        if scores is not None:
            steps, returns = np.array(result["curve_steps"]), np.array(result["curve_returns"]).T
            shares = steps / result["planned_steps"]
            final.append(scores)
            curves.append([scores_of(env_id, np.interp(SHARES, shares, one)) for one in returns])
    if not final:
        return None
    return Scored(label, np.array(final).T, np.array(curves).swapaxes(0, 1), SHARES)


def write_summary(
    folder: pathlib.Path, plan: Plan, progress: Progress, beside: Mapping[str, Mapping[str, dict[str, Any]]]
) -> dict[str, Any]:
    """Write the figures and pictures of finished tasks, and return the figures.

    Args:
        folder: The folder of the benchmark.
        plan: Its plan.
        progress: How far it is.
        beside: Results of other benchmarks, by their labels, which the summary also shows, in the tasks of all.
    """
    figures = {"suite": plan.suite, "label": plan.label, **summarize(progress.results)}
    figures |= {"left": progress.left, "diverged": progress.diverged}
    write_text(folder / "summary.json", json.dumps(figures, indent=2) + "\n")
    if not progress.results:
        return figures
    notes = {env_id: (one.reference, one.by) for env_id, one in references().items() if one.source}
    draw_learning_curves(folder / "curves.png", progress.results, notes=notes)
    every = {plan.label: progress.results, **beside}
    common = [env_id for env_id in progress.results if all(env_id in results for results in every.values())]
    shown = [scored(label, {env_id: results[env_id] for env_id in common}) for label, results in every.items()]
    if all(one is not None for one in shown):
        draw_summary(folder / "summary.png", plan.suite, [one for one in shown if one is not None])
    return figures


def format_hours(seconds: float) -> str:
    """Return the text of a CPU time.

    >>> format_hours(5400.0), format_hours(90.0)
    ('1.5 CPU-hours', '0.025 CPU-hours')
    """
    return f"{seconds / 3600:.2g} CPU-hours"


def _prepare(plan: Plan, folder: pathlib.Path) -> None:
    """Make the folder of a benchmark, or check that it holds this one."""
    path, planned = folder / BENCHMARK_FILE, json.loads(json.dumps(plan.to_json()))
    if path.exists():
        found, _ = read_benchmark(folder)
        difference = _difference(found, planned)
        if difference is not None:
            raise BenchmarkMismatchError(
                f"{folder} holds a benchmark with other settings: {difference}; name another folder with --output"
            )
    elif folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} holds something else than a benchmark; name another folder with --output")
    (folder / RESULTS).mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_text(path, json.dumps(planned, indent=1) + "\n")


def _difference(found: dict[str, Any], planned: dict[str, Any]) -> str | None:
    """Return the first setting in which two plans differ, in words, or None."""
    for name in ("suite", "num_episodes"):
        if found[name] != planned[name]:
            return f"{name} is {found[name]} there, {planned[name]} here"
    if list(found["runs"]) != list(planned["runs"]):
        return f"its tasks are {', '.join(found['runs'])} there, {', '.join(planned['runs'])} here"
    for env_id, ours in planned["runs"].items():
        theirs = found["runs"][env_id]
        for name in {**ours, **theirs}:
            if ours.get(name) != theirs.get(name):
                return f"{name} of {env_id} is {theirs.get(name)} there, {ours.get(name)} here"
    return None


def _train(
    plan: Plan, env_id: str, config: Any, folder: pathlib.Path, seconds: float, console: Console
) -> run.RunResult:
    """Start the run of a task, or continue it."""
    place = folder / "runs" / as_file_name(env_id)
    shared: dict[str, Any] = {"replay_episodes": 0, "max_cpu_seconds": seconds, "console": console}
    if (place / "config.json").exists():
        return run.resume(place, config=config, **shared)
    return run.start(config, place, algorithm=plan.algorithms[env_id], **shared)


def _interval(scores: Any) -> list[float] | None:
    """Return the interval of an interquartile mean, or None if there is one agent."""
    return list(map(float, bootstrap_interval(interquartile_mean, scores))) if len(scores) > 1 else None


def _result_file(folder: pathlib.Path, env_id: str) -> pathlib.Path:
    return folder / RESULTS / f"{as_file_name(env_id)}.json"


def _read(path: pathlib.Path) -> dict[str, Any]:
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(contents, dict):
            return contents
    except ValueError:
        pass
    raise ValueError(f"{path} is damaged: it holds no JSON object; delete it, and the same command writes it again")


def _write_lines(path: pathlib.Path, contents: dict[str, Any]) -> None:
    """Write JSON with one line for each field."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in contents.items())
    write_text(path, f"{{\n{lines}\n}}\n")

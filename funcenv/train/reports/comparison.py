"""Runs read for comparison: what they were, how their returns developed, and which of them differ in the seed alone."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcenv.printable import printable
from funcenv.registry import spec
from funcenv.struct import NDArray
from funcenv.train.reports.aggregate import bootstrap_interval, interquartile_mean, probability_of_improvement
from funcenv.train.reports.environments import environment_warnings
from funcenv.train.runs.final import read_final
from funcenv.train.runs.folder import CONFIG_FILE, read_config
from funcenv.train.runs.metrics import format_return, read_metrics, scores

_SAME_METHOD = ("seed", "num_seeds")  # settings in which runs of one method may differ
MIN_AGENTS = 3
"""The smallest number of agents of a method for which intervals and probabilities are given."""


@dataclasses.dataclass(frozen=True, eq=False)
class RunRecord:
    """One run, read from its folder."""

    folder: pathlib.Path
    algorithm: str
    config: dict[str, Any]
    description: dict[str, Any]  # all of config.json
    threshold: float | None
    env_steps: NDArray  # [num_points], of each agent
    returns: NDArray  # [num_points, num_agents]: of evaluations, or else of recent episodes
    is_evaluated: bool
    wall_seconds: float
    cpu_seconds: float
    steps_per_second: float  # of all agents together, the median over updates
    greedy: tuple[float, ...] | None  # mean return of each trained agent without exploration, if it was evaluated

    @property
    def env_id(self) -> str:
        """The environment."""
        return str(self.config["env_id"])

    @property
    def final(self) -> NDArray:
        """The last return of each agent, `[num_agents]`."""
        return self.returns[-1]


@dataclasses.dataclass(frozen=True, eq=False)
class Method:
    """Runs that differ in nothing but their seeds."""

    label: str
    runs: tuple[RunRecord, ...]

    @property
    def env_id(self) -> str:
        """The environment."""
        return self.runs[0].env_id

    @property
    def final(self) -> NDArray:
        """The last return of each agent of all runs, `[num_agents, 1]`."""
        return np.concatenate([run.final for run in self.runs])[:, None]

    @property
    def greedy(self) -> list[float] | None:
        """The mean return of each trained agent without exploration, or None unless all runs were evaluated so."""
        returns = [run.greedy for run in self.runs]
        return None if None in returns else [value for one in returns if one is not None for value in one]

    def curve(self) -> tuple[NDArray, NDArray]:
        """Return environment steps `[num_points]` and returns `[num_agents, 1, num_points]`.

        The points are those of the shortest run, between which longer ones are interpolated.
        """
        steps = min((run.env_steps for run in self.runs), key=lambda steps: steps[-1])
        curves = [np.interp(steps, run.env_steps, returns) for run in self.runs for returns in run.returns.T]
        return steps, np.array(curves)[:, None]

    def solved_at(self) -> int | None:
        """Return the steps at which the last run had reached the threshold with all its agents, or None."""
        reached = []
        for run in self.runs:
            is_solved = (run.returns >= (np.inf if run.threshold is None else run.threshold)).all(axis=1)
            reached.append(int(run.env_steps[is_solved.argmax()]) if is_solved.any() else None)
        return None if None in reached else max(one for one in reached if one is not None)


def read_run(folder: str | os.PathLike[str], *, trust_code: bool = False) -> RunRecord:
    """Read a run; code that a run of somebody else names is imported only if `trust_code` is true.

    Raises:
        FileNotFoundError: The folder holds no run.
        ValueError: `config.json` cannot be understood, or no episode has ended yet.
    """
    folder = pathlib.Path(folder)
    algorithm, config, _ = read_config(folder, trust_code)
    rows = read_metrics(folder / "metrics.csv")
    num_seeds = config.num_seeds
    rows = rows[: len(rows) // num_seeds * num_seeds]
    returns, first = scores(rows, num_seeds), rows[::num_seeds]
    final = read_final(folder, int(rows[-1]["update"])) if rows else None
    known = np.flatnonzero(~np.isnan(returns).any(axis=1))
    is_evaluated = bool(rows) and "eval_return" in rows[0]
    if not len(known) and final is not None:  # the run has learned from a dataset, and played at its end alone
        returns[-1], known, is_evaluated = final.greedy, np.array([len(returns) - 1]), True
    if not len(known):
        remedy = "train it further" if config.plays_episodes else "train it with --eval-every"
        raise ValueError(f"{folder} has no returns yet, as no episode has ended; {remedy}, or leave it out")
    description = json.loads((folder / CONFIG_FILE).read_text())
    return RunRecord(
        folder=folder,
        algorithm=algorithm,
        config=description["config"],
        description=description,
        threshold=spec(config.env_id).reward_threshold,
        env_steps=np.array([float(row["env_steps"]) for row in first])[known],
        returns=returns[known],
        is_evaluated=is_evaluated,
        wall_seconds=float(rows[-1]["wall_seconds"]),
        cpu_seconds=float(rows[-1]["cpu_seconds"]),
        steps_per_second=float(np.median([float(row["steps_per_second"]) for row in first])),
        greedy=None if final is None else final.greedy,
    )


def group_runs(runs: Iterable[RunRecord]) -> list[Method]:
    """Return the runs by methods: those that differ in their seeds alone belong together."""
    groups: dict[str, list[RunRecord]] = {}
    for run in runs:
        groups.setdefault(json.dumps([run.algorithm, _settings(run)], sort_keys=True), []).append(run)
    grouped = list(groups.values())
    labels = [printable(label) for label in _labels([group[0] for group in grouped])]
    return [Method(label, tuple(group)) for label, group in zip(labels, grouped, strict=True)]


def differences(runs: Sequence[RunRecord]) -> dict[str, list[Any]]:
    """Return the settings in which runs differ, with the value in each; None where an algorithm lacks a setting."""
    settings = [{"algorithm": run.algorithm, **_settings(run)} for run in runs]
    names = dict.fromkeys(itertools.chain.from_iterable(settings))
    table = {name: [one.get(name) for one in settings] for name in names}
    return {name: values for name, values in table.items() if any(value != values[0] for value in values)}


def compare(methods: Sequence[Method]) -> dict[str, Any]:
    """Return the figures that `funcenv compare` prints: of each method, and of each pair in the same environment.

    Sentences on environments that differ under one id are under "environments".
    """
    return {
        "methods": [_figures(method) for method in methods],
        "differences": differences([method.runs[0] for method in methods]),
        "environments": environment_warnings(
            (printable(run.folder.name), run.env_id, run.description.get("environment", {}))
            for method in methods
            for run in method.runs
        ),
        "improvements": [
            _improvement(one, other)
            for one, other in itertools.combinations(methods, 2)
            if one.env_id == other.env_id and one.runs[0].is_evaluated == other.runs[0].is_evaluated
        ],
    }


def format_interval(interval: Sequence[float | None]) -> str:
    """Return the text of an interval, empty if it is unknown.

    >>> format_interval([474.2, 500.0]), format_interval([None, None])
    ('[474.2, 500.0]', '')
    """
    low, high = interval
    return "" if low is None or high is None else f"[{format_return(low)}, {format_return(high)}]"


def improvement_text(one: dict[str, Any]) -> str:
    """Return a sentence on the probability of an improvement.

    >>> improvement_text({"of": "A", "over": "B", "env": "X-v0", "probability": 0.5, "interval": [0.25, 0.75]})
    'A is better than B with probability 0.50 [0.25, 0.75]'
    >>> improvement_text({"of": "A", "over": "B", "env": "X-v0", "probability": None, "interval": [None, None]})
    'A and B: too few agents to say which is better; train at least 3 of each with --num-seeds'
    """
    if one["probability"] is None:
        remedy = f"train at least {MIN_AGENTS} of each with --num-seeds"
        return f"{one['of']} and {one['over']}: too few agents to say which is better; {remedy}"
    low, high = one["interval"]
    return f"{one['of']} is better than {one['over']} with probability {one['probability']:.2f} [{low:.2f}, {high:.2f}]"


def _figures(method: Method) -> dict[str, Any]:
    run, final = method.runs[0], method.final
    low, high = (None, None) if len(final) < MIN_AGENTS else map(float, bootstrap_interval(interquartile_mean, final))
    return {
        "label": method.label,
        "runs": [str(one.folder) for one in method.runs],
        "env": method.env_id,
        "algorithm": run.algorithm,
        "num_agents": len(final),
        "env_steps": int(min(one.env_steps[-1] for one in method.runs)),
        "judged_by": "evaluations" if run.is_evaluated else "the last 100 episodes",
        "final_returns": final[:, 0].tolist(),
        "greedy_returns": method.greedy,
        "interquartile_mean": float(interquartile_mean(final)),
        "interval": [low, high],
        "worst": float(final.min()),
        "best": float(final.max()),
        "threshold": run.threshold,
        "solved_at": method.solved_at(),
        "wall_seconds": sum(one.wall_seconds for one in method.runs),
        "cpu_seconds": sum(one.cpu_seconds for one in method.runs),
        "steps_per_second": float(np.median([one.steps_per_second for one in method.runs])),
        "device": run.description["device"]["kind"],
    }


def _improvement(one: Method, other: Method) -> dict[str, Any]:
    names = {"of": one.label, "over": other.label, "env": one.env_id}
    if min(len(one.final), len(other.final)) < MIN_AGENTS:
        return {**names, "probability": None, "interval": [None, None]}
    low, high = bootstrap_interval(probability_of_improvement, one.final, other.final)
    probability = probability_of_improvement(one.final, other.final)
    return {**names, "probability": probability, "interval": [float(low), float(high)]}


def _settings(run: RunRecord) -> dict[str, Any]:
    return {name: value for name, value in run.config.items() if name not in _SAME_METHOD}


def _labels(runs: Sequence[RunRecord]) -> list[str]:
    """Return a label of each run, different from all others: what sets it apart.

    Environment and algorithm are named where they differ, and settings where both are the same.
    """
    table = differences(runs)
    heads = [[str(table[name][i]) for name in ("env_id", "algorithm") if name in table] for i in range(len(runs))]
    labels = [""] * len(runs)
    for head in {tuple(one) for one in heads}:
        places = [i for i, one in enumerate(heads) if tuple(one) == head]
        for i, words in zip(places, _settings_apart([runs[i] for i in places]), strict=True):
            labels[i] = ", ".join([*head, *words]) or f"{runs[i].env_id}, {runs[i].algorithm}"
    return labels


def _settings_apart(runs: Sequence[RunRecord]) -> list[list[str]]:
    """Return the settings that set each run apart from the others, which have its environment and algorithm."""
    texts: list[list[str]] = [[] for _ in runs]
    for name, values in differences(runs).items():
        longer = [[*text, f"{name} {value}"] for text, value in zip(texts, values, strict=True)]
        if len(set(map(tuple, longer))) > len(set(map(tuple, texts))):
            texts = longer
    return texts

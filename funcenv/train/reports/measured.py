"""The results of a run as JSON values: curves, returns over whole episodes, and CPU seconds."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np

from funcenv.registry import spec
from funcenv.rollout import MAX_EVALUATION_STEPS
from funcenv.train.presets import preset
from funcenv.train.runs.final import agent_figures
from funcenv.train.runs.folder import read_config
from funcenv.train.runs.metrics import read_metrics, scores
from funcenv.train.runs.policy import load_agents
from funcenv.train.runs.result import solved_updates

MAX_POINTS = 60
"""The largest number of points of a learning curve."""

EPISODES = "episode_returns"
"""The field with the return of every episode, `[num_agents, num_episodes]`."""

EVALUATIONS = "evaluations"
"""The field with what the agents of a run with `eval_every` had during it: returns `[num_evaluations, num_agents]`."""

_FREE = ("seed", "num_seeds", "eval_every", "eval_episodes")  # settings in which a run may differ from its preset


def measure_run(
    folder: pathlib.Path, num_episodes: int = 100, max_steps: int = MAX_EVALUATION_STEPS, *, trust_code: bool = False
) -> dict[str, Any]:
    """Return what the agents of a run reach over whole episodes, what they cost, and their learning curves.

    Args:
        folder: The folder of the run, which may have been stopped before its end.
        num_episodes: Number of episodes that each saved agent plays, with its most likely actions.
        max_steps: Where episodes are stopped that do not end.
        trust_code: Also import the code that a run of somebody else names.
    """
    algorithm, config, _ = read_config(folder, trust_code)
    learner, agents = load_agents(folder, trust_code=trust_code)
    played = list(agent_figures(learner, agents, num_episodes, max_steps=max_steps))
    rows = read_metrics(folder / "metrics.csv")
    rows = rows[: len(rows) // config.num_seeds * config.num_seeds]
    first = rows[:: config.num_seeds]
    returns = np.array([float(row["mean_return"]) for row in rows]).reshape(-1, config.num_seeds)
    steps = np.array([int(row["env_steps"]) for row in first])
    is_solved = solved_updates(returns, spec(config.env_id).reward_threshold)
    known = np.flatnonzero(~np.isnan(returns).any(axis=1))
    kept = known[np.unique(np.linspace(0, len(known) - 1, MAX_POINTS).astype(int))]
    compile_seconds, cpu_seconds = costs(first)
    return {
        **settings(algorithm, config),
        "steps": int(steps[-1]),
        "episodes": num_episodes,
        "returns": [round(one["mean_return"], 4) for one in played],
        "deviations": [round(one["std_return"], 4) for one in played],
        "solved_at": int(steps[is_solved.argmax()]) if is_solved.any() else None,
        "compile_seconds": compile_seconds,
        "cpu_seconds": cpu_seconds,
        "curve_steps": steps[kept].tolist(),
        "curve_returns": [[float(f"{value:.4g}") for value in point] for point in returns[kept]],
        "curve_cpu_seconds": [round(float(first[index]["cpu_seconds"]), 1) for index in kept],
        **_evaluations(rows, config),
        EPISODES: [[float(f"{value:.6g}") for value in one["returns"]] for one in played],
    }


def settings(algorithm: str, config: Any) -> dict[str, Any]:
    """Return the settings of a run as `measure_run` gives them.

    Args:
        algorithm: The name of its algorithm.
        config: Its configuration.
    """
    return {
        "algorithm": algorithm,
        "other_settings": _other_settings(algorithm, config),
        "planned_steps": config.total_timesteps,
    }


def costs(rows: list[dict[str, str]]) -> tuple[float, float]:
    """Return the CPU seconds before training began, which is mostly compilation, and those of the whole run.

    The first call is taken to train as fast as the median of the others.

    Args:
        rows: A row of metrics for each update; the updates of one compiled call have the same times.

    >>> row = lambda seconds: {"cpu_seconds": str(seconds)}
    >>> costs([row(12.0), row(16.0), row(16.0), row(18.0)])
    (10.0, 18.0)
    """
    clock = np.array([float(row["cpu_seconds"]) for row in rows])
    ends = np.flatnonzero(np.append(clock[1:] != clock[:-1], True))  # the last update of each call
    per_update = np.diff(clock[ends]) / np.diff(ends)
    training = float((ends[0] + 1) * np.median(per_update)) if len(per_update) else 0.0
    return round(float(max(clock[0] - training, 0)), 1), round(float(clock[-1]), 1)


def _evaluations(rows: list[dict[str, str]], config: Any) -> dict[str, Any]:
    """Return the mean returns that agents had without exploration during a run, or nothing if it did not evaluate."""
    if not config.eval_every:
        return {}
    returns = scores(rows, config.num_seeds)
    evaluated = np.flatnonzero(~np.isnan(returns).any(axis=1))
    return {
        EVALUATIONS: {
            "episodes": config.eval_episodes,
            "steps": [int(rows[index * config.num_seeds]["env_steps"]) for index in evaluated],
            "returns": [[float(f"{value:.6g}") for value in returns[index]] for index in evaluated],
        }
    }


def _other_settings(algorithm: str, config: Any) -> dict[str, Any]:
    """Return the settings in which a configuration differs from the preset of its environment."""
    started_from = preset(config.env_id, algorithm, from_pixels=config.pixels > 0)
    return {
        name: value
        for name, value in dataclasses.asdict(config).items()
        if name not in _FREE and value != getattr(started_from, name)
    }

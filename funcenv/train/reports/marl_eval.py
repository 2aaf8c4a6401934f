"""Results in the JSON layout of marl-eval, which other tools read as well.

The layout is `{environment: {task: {algorithm: {run: {"step_0": {...}, ..., "absolute_metrics": {...}}}}}}`, as in
https://github.com/instadeepai/marl-eval. Each metric is a list, here of one mean over episodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcenv.struct import NDArray
from funcenv.train.reports.comparison import Method

ENVIRONMENT = "funcenv"
METRIC = "mean_episode_return"
MAX_POINTS = 100
"""The largest number of points of a run; longer curves are thinned out evenly."""


class AgentCurve(NamedTuple):
    """The learning curve of one agent."""

    task: str
    algorithm: str
    run: str  # unique among the agents of an algorithm in a task
    env_steps: NDArray  # [num_points]
    returns: NDArray  # [num_points]


def marl_eval_data(curves: Iterable[AgentCurve]) -> dict[str, Any]:
    """Return the curves in the layout of marl-eval; the absolute metric is the best return of an agent.

    >>> curve = AgentCurve("CartPole-v1", "ppo", "seed_0", np.array([64.0, 128.0]), np.array([20.0, 30.0]))
    >>> data = marl_eval_data([curve])["funcenv"]["CartPole-v1"]["ppo"]["seed_0"]
    >>> data["step_1"], data["absolute_metrics"]
    ({'step_count': 128, 'mean_episode_return': [30.0]}, {'mean_episode_return': [30.0]})
    """
    tasks: dict[str, Any] = {}
    for curve in curves:
        points = np.unique(np.linspace(0, len(curve.env_steps) - 1, MAX_POINTS).round().astype(int))
        entry: dict[str, Any] = {
            f"step_{number}": {"step_count": int(curve.env_steps[i]), METRIC: [float(curve.returns[i])]}
            for number, i in enumerate(points)
        }
        entry["absolute_metrics"] = {METRIC: [float(np.max(curve.returns))]}
        tasks.setdefault(curve.task, {}).setdefault(curve.algorithm, {})[curve.run] = entry
    return {ENVIRONMENT: tasks}


def agent_curves(methods: Sequence[Method]) -> list[AgentCurve]:
    """Return the learning curve of every agent."""
    names = [method.label.removeprefix(method.env_id).lstrip(", ") or method.runs[0].algorithm for method in methods]
    return [
        AgentCurve(run.env_id, name, f"{run.folder.resolve().name}-agent{i}", run.env_steps, returns)
        for name, method in zip(names, methods, strict=True)
        for run in method.runs
        for i, returns in enumerate(run.returns.T)
    ]

"""The command `funcenv compare RUN...`, which prints the figures of several runs side by side."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from funcenv.train.comparison import Method, compare, group_runs, read_run
from funcenv.train.marl_eval import AgentCurve, marl_eval_data
from funcenv.train.metrics import format_return

_WIDTH = 200  # columns of a file or a pipe


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """Where the figures are written."""

    json: str | None = None
    """file for all figures, "-" for standard output instead of the table"""
    marl_eval: str | None = None
    """file for the learning curves in the JSON layout of marl-eval"""


def compare_runs(
    folders: Sequence[str | os.PathLike[str]], options: CompareOptions, console: Console | None = None
) -> dict[str, Any]:
    """Print the final returns of runs with their intervals, and return them.

    Runs that differ in their seeds alone are taken together, with all their agents.

    Raises:
        FileNotFoundError: A folder holds no run, or there is no folder for a file.
        ValueError: No episode has ended in a run.
    """
    for flag, file in (("--json", options.json), ("--marl-eval", options.marl_eval)):
        if file not in (None, "-") and not pathlib.Path(str(file)).parent.is_dir():
            raise FileNotFoundError(f"{flag}: there is no folder {pathlib.Path(str(file)).parent}; make it first")
    methods = group_runs(read_run(folder) for folder in folders)
    figures = compare(methods)
    if options.marl_eval is not None:
        pathlib.Path(options.marl_eval).write_text(json.dumps(marl_eval_data(agent_curves(methods)), indent=1) + "\n")
    if options.json == "-":
        print(json.dumps(figures, indent=2))
        return figures
    _print(figures, console or _console())
    if options.json is not None:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")
    return figures


def agent_curves(methods: Sequence[Method]) -> list[AgentCurve]:
    """Return the learning curve of every agent."""
    names = [method.label.removeprefix(method.env_id).lstrip(", ") or method.runs[0].algorithm for method in methods]
    return [
        AgentCurve(run.env_id, name, f"{run.folder.resolve().name}-agent{i}", run.env_steps, returns)
        for name, method in zip(names, methods, strict=True)
        for run in method.runs
        for i, returns in enumerate(run.returns.T)
    ]


def format_interval(interval: Sequence[float | None]) -> str:
    """Return the text of an interval, empty if it is unknown.

    >>> format_interval([474.2, 500.0]), format_interval([None, None])
    ('[474.2, 500.0]', '')
    """
    low, high = interval
    return "" if low is None or high is None else f"[{format_return(low)}, {format_return(high)}]"


def format_seconds(seconds: float) -> str:
    """Return the text of a duration.

    >>> format_seconds(9.84), format_seconds(75), format_seconds(7260)
    ('9.8 s', '1:15 min', '2:01 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02} h"


def _console() -> Console:
    """Return a console that is wide enough for every line, unless it is a terminal."""
    console = Console(file=sys.stdout)
    return console if console.is_terminal else Console(file=sys.stdout, width=_WIDTH)


def _print(figures: dict[str, Any], console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method", overflow="fold", min_width=16)
    for name in ("agents", "steps", "final [95% interval]", "solved at", "steps/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in figures["methods"]:
        table.add_row(
            Text(one["label"]),
            str(one["num_agents"]),
            f"{one['env_steps']:,}",
            Text(f"{format_return(one['interquartile_mean'])} {format_interval(one['interval'])}".strip()),
            "" if one["solved_at"] is None else f"{one['solved_at']:,}",
            f"{one['steps_per_second']:,.0f}",
        )
    console.print(table)
    judged = dict.fromkeys(one["judged_by"] for one in figures["methods"])
    console.print(
        f"final: interquartile mean over agents of the mean return in {' or '.join(judged)}, with a bootstrap interval",
        style="dim",
        highlight=False,
    )
    for one in figures["improvements"]:
        console.print(improvement_text(one), highlight=False, markup=False)


def improvement_text(one: dict[str, Any]) -> str:
    """Return a sentence on the probability of an improvement.

    >>> improvement_text({"of": "A", "over": "B", "env": "X-v0", "probability": 0.5, "interval": [0.25, 0.75]})
    'A is better than B with probability 0.50 [0.25, 0.75]'
    """
    low, high = one["interval"]
    return f"{one['of']} is better than {one['over']} with probability {one['probability']:.2f} [{low:.2f}, {high:.2f}]"

"""The command `funcenv compare RUN ...`, which prints the figures of several runs side by side."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from funcenv.cli.flags import TrustCode, Word, read
from funcenv.files import write_text
from funcenv.train.reports.comparison import (
    compare,
    format_interval,
    group_runs,
    improvement_text,
    read_run,
)
from funcenv.train.reports.marl_eval import agent_curves, marl_eval_data
from funcenv.train.runs.metrics import format_return

PIPE_COLUMNS = 200
"""The width of the table in a file or a pipe."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(TrustCode):
    """Print the final returns of runs with their intervals. Runs that differ only in seed are pooled."""

    runs: Annotated[tuple[str, ...], Word("RUN")]
    """the folders of runs"""
    json: Annotated[str | None, "FILE"] = None
    """file for all figures, "-" for standard output instead of the table"""
    marl_eval: Annotated[str | None, "FILE"] = None
    """file for the learning curves in the JSON layout of marl-eval"""


def run(arguments: Sequence[str]) -> int:
    """Compare the runs that the arguments name, and return the exit status."""
    options: Options = read("compare", Options, arguments)
    for flag, file in (("--json", options.json), ("--marl-eval", options.marl_eval)):
        if file not in (None, "-") and not pathlib.Path(str(file)).parent.is_dir():
            raise FileNotFoundError(f"{flag}: there is no folder {pathlib.Path(str(file)).parent}; make it first")
    methods = group_runs(read_run(folder, trust_code=options.trust_code) for folder in options.runs)
    figures = compare(methods)
    if options.marl_eval is not None:
        write_text(options.marl_eval, json.dumps(marl_eval_data(agent_curves(methods)), indent=1) + "\n")
    if options.json == "-":
        print(json.dumps(figures, indent=2))
        return 0
    _print(figures, wide_console())
    if options.json is not None:
        write_text(options.json, json.dumps(figures, indent=2) + "\n")
    return 0


def wide_console() -> Console:
    """Return a console that is wide enough for every line, unless it is a terminal."""
    console = Console(file=sys.stdout)
    return console if console.is_terminal else Console(file=sys.stdout, width=PIPE_COLUMNS)


def _print(figures: dict[str, Any], console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method", overflow="fold", min_width=16)
    for name in ("agents", "steps", "final [95% interval]", "greedy", "threshold at", "steps/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in figures["methods"]:
        table.add_row(
            Text(one["label"]),
            str(one["num_agents"]),
            f"{one['env_steps']:,}",
            Text(f"{format_return(one['interquartile_mean'])} {format_interval(one['interval'])}".strip()),
            "" if one["greedy_returns"] is None else format_return(float(np.mean(one["greedy_returns"]))),
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
    if any(one["greedy_returns"] is not None for one in figures["methods"]):
        text = (
            "greedy: mean return of the saved agents over whole episodes, without exploration, as evaluate plays them"
        )
        console.print(text, style="dim", highlight=False)
    for sentence in figures["environments"]:
        console.print(f"the environments differ: {sentence}", style="yellow", highlight=False, markup=False)
    for one in figures["improvements"]:
        console.print(improvement_text(one), highlight=False, markup=False)

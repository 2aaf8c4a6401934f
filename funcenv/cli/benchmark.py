"""The command `funcenv benchmark SUITE`, which trains in all tasks of a suite and scores the agents."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from funcenv.checks import require_size
from funcenv.cli.flags import Flag, Reading, Threads
from funcenv.cli.settings import Typed, find_algorithm, read_options, read_shared_settings
from funcenv.cli.table import UsageError
from funcenv.files import as_file_name, write_text
from funcenv.interrupts import leave_at_once
from funcenv.printable import printable
from funcenv.train.suites import SUITES, find_suite

BEST = "presets"
"""The label of a benchmark in which each task has the algorithm that reaches most in the zoo."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(Threads):
    """Train in all tasks of a suite, write results and pictures to one folder, and print the scores.

    The same command continues a benchmark that was stopped; finished tasks are not repeated.
    """

    section: ClassVar[str] = "run"

    algo: str | None = None
    """algorithm: one of funcenv train's, or module:name; by default each task has the best that was measured for it"""
    seeds: int = 3
    """independent agents in each task, trained side by side in one program"""
    budget: Annotated[float | None, "CPU-HOURS"] = None
    """CPU time of this call, after which the benchmark is saved and stops; by default there is no limit"""
    num_episodes: int = 100
    """episodes that each agent plays after training, with its most likely actions"""
    output: Annotated[str | None, "FOLDER"] = None
    """folder of the benchmark; by default one in suites/ that is named after suite and algorithm"""
    beside: Annotated[tuple[str, ...], "FOLDER"] = ()
    """folders of other benchmarks, which the summary compares with this one"""
    quiet: bool = False
    """print the last line only"""
    json: Annotated[str | None, "FILE"] = None
    """file for the figures; "-" prints them, and nothing else"""


SUITE = Flag("suite", "arguments", f"the tasks: {', '.join(SUITES)}", dataclasses.MISSING, Reading("SUITE"), True)


def run(arguments: Sequence[str]) -> int:
    """Run or continue a benchmark, and return the exit status."""
    typed = read_options("benchmark", Options, arguments)
    options: Options = typed.options
    is_quiet = options.quiet or options.json == "-"
    if not (is_quiet or typed.wants_help):
        print("loading JAX and the packages for training", flush=True)

    from rich.console import Console

    from funcenv.train.benchmark import format_hours, read_benchmark, run_benchmark, write_summary

    plan, skipped = _plan(typed)
    _require_places(options)
    beside = {}
    for other in options.beside:
        contents, results = read_benchmark(other)
        beside[f"{contents['label']} ({pathlib.Path(other).name})"] = results
    folder = pathlib.Path(options.output or f"suites/{as_file_name(f'{plan.suite}-{plan.label}')}")
    again = shlex.join(["funcenv", "benchmark", *arguments])
    for env_id, reason in skipped.items():
        print(printable(f"without {env_id}: {reason}"), file=sys.stderr, flush=True)
    with leave_at_once(lambda: f"funcenv benchmark: interrupted; go on with: {again}"):
        progress = run_benchmark(
            plan,
            folder,
            max_cpu_seconds=math.inf if options.budget is None else 3600 * options.budget,
            console=Console(quiet=is_quiet),
            say=(lambda text: None) if is_quiet else lambda text: print(printable(text), flush=True),
        )
        figures = write_summary(folder, plan, progress, beside) | {"folder": str(folder)}
    if options.json == "-":
        print(json.dumps(figures, indent=2))
    else:
        if options.json is not None:
            write_text(options.json, json.dumps(figures, indent=2) + "\n")
        if not is_quiet:
            _print(figures)
        print(printable(_last_line(figures)))
    if progress.left:
        reason = "stopped and saved" if progress.signal_number else "it is not finished"
        if progress.signal_number is None and options.budget is not None and not progress.diverged:
            reason = f"the {format_hours(3600 * options.budget)} are used up"
        print(printable(f"{reason}, {', '.join(progress.left)} left; go on with: {again}"), file=sys.stderr)
    if progress.signal_number is not None:
        return 128 + progress.signal_number
    return 1 if progress.diverged else 0


def _plan(typed: Typed) -> tuple[Any, dict[str, str]]:
    """Return what to train, and why tasks of the suite are left out that the algorithm cannot learn."""
    from funcenv.train.benchmark import Plan
    from funcenv.train.presets import default_algorithm, preset

    options: Options = typed.options
    algorithm = None if options.algo is None else find_algorithm(options.algo)
    given = read_shared_settings(typed, SUITE, algorithm, options.algo or "")
    suite = given.pop("suite", None)
    if suite is None:
        raise UsageError(f"benchmark needs SUITE, one of {', '.join(SUITES)}: funcenv benchmark classic")
    if options.budget is not None and not 0 < options.budget < math.inf:
        raise UsageError(f"--budget must be above 0 CPU-hours, got {options.budget:g}; leave it out for no limit")
    try:
        env_ids = find_suite(suite)
        given["num_seeds"] = require_size("--seeds", options.seeds)
        num_episodes = require_size("--num-episodes", options.num_episodes)
        params, from_pixels = given.pop("env_params", {}), given.get("pixels", 0) > 0
        names = {one: options.algo or default_algorithm(one, from_pixels=from_pixels) for one in env_ids}
        presets = {env_id: preset(env_id, name, from_pixels=from_pixels) for env_id, name in names.items()}
        configs = {
            env_id: dataclasses.replace(one, env_params=one.env_params | params, **given)
            for env_id, one in presets.items()
        }
    except ValueError as error:
        raise UsageError(str(error)) from error
    skipped: dict[str, str] = {}
    for env_id, config in configs.items():
        try:
            config.make_env()
        except ValueError as error:
            if len(skipped) == len(configs) - 1:
                raise
            skipped[env_id] = str(error)
    kept = {env_id: config for env_id, config in configs.items() if env_id not in skipped}
    return Plan(suite, options.algo or BEST, {one: names[one] for one in kept}, kept, num_episodes), skipped


def _require_places(options: Options) -> None:
    """Raise before training if a file could not be written after it."""
    if options.json not in (None, "-") and not pathlib.Path(str(options.json)).parent.is_dir():
        raise FileNotFoundError(f"--json: there is no folder {pathlib.Path(str(options.json)).parent}; make it first")


def _last_line(figures: dict[str, Any]) -> str:
    """Return the score over all tasks, and where everything is."""
    tasks, score = figures["tasks"], figures["score"]
    if score is None:
        return f"{figures['suite']} with {figures['label']}: no task is finished; everything is in {figures['folder']}"
    interval = "" if score["interval"] is None else " [{:.2f}, {:.2f}]".format(*score["interval"])
    return (
        f"{figures['suite']} with {figures['label']}: score {score['interquartile_mean']:.2f}{interval} over "
        f"{len(tasks)} of {len(tasks) + len(figures['left'])} tasks; everything is in {figures['folder']}"
    )


def _print(figures: dict[str, Any]) -> None:
    """Print a table of the tasks."""
    from rich.table import Table
    from rich.text import Text

    from funcenv.cli.compare import wide_console
    from funcenv.train.reports.comparison import format_interval
    from funcenv.train.runs.metrics import format_return

    if not figures["tasks"]:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", no_wrap=True)
    table.add_column("algorithm")
    for name in ("agents", "steps", "return [95% interval]", "score", "CPU-s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("score 1")
    for one in figures["tasks"]:
        interval = format_interval(one["interval"] or [None, None])
        reference = "" if one["reference"] is None else f"{format_return(one['reference'])}: {one['reference_by']}"
        table.add_row(
            one["env_id"],
            Text(one["algorithm"]),
            str(one["num_agents"]),
            f"{one['steps']:,}",
            Text(f"{format_return(one['interquartile_mean'])} {interval}".strip()),
            "" if one["score"] is None else f"{one['score']:.2f}",
            f"{one['cpu_seconds']:.0f}",
            Text(reference),
        )
    console = wide_console()
    console.print(table)
    about = "return: interquartile mean over agents that play whole episodes with their most likely actions; score: 0"
    console.print(f"{about} for a random policy, 1 for the last column", style="dim", highlight=False)

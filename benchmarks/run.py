"""The benchmarks: `python benchmarks/run.py [TABLE ...]`, with the tables of `rows.py`, by default those of the suite.

Each row starts one worker for funcenv and one for each other library, which take turns on one core. The figures are
CPU seconds and the medians of their ratios. They are printed as tables and written to a JSON file after every row.
`--write-docs` writes the page and the plots of the suite.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import machine
from goals import digits, judge
from harness import HERE, ONE_CORE, Worker, compare, microseconds, place_on, start_seconds, write_json
from libraries import CACHE, REQUIREMENTS, LibraryError, add_pythons
from programs import FULL, QUICK, Program, Row, Table
from rows import SUITE, TABLES

RESULTS = CACHE / "bench" / "results.json"
DOCS = HERE.parent / "docs"


def main(arguments: list[str] | None = None) -> None:
    """Measure the tables that were asked for, and report them."""
    options = _parse(arguments)
    results = json.loads(options.json.read_text()) if options.update and options.json.exists() else {}
    if not options.report_only:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
            os.environ.pop(name, None)  # so that compile times are those of a first run
        results.update(_header(options))
        for name in options.tables:
            results[name] = []
            for row in _measured(TABLES[name], options):
                results[name].append(row)
                write_json(options.json, results)
    results["goals"] = judge(results)
    write_json(options.json, results)
    for goal in results["goals"]:
        if goal["verdict"] != "not run":
            print(f"{goal['verdict']:<8} {goal['what']}: {goal['measured']} (goal: {goal['goal']})")
    print(f"results: {options.json}")
    if options.write_docs:
        from report import write_docs

        for path in write_docs(results, DOCS):
            print(f"written: {path.relative_to(HERE.parent)}")


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    about = "\n".join(f"  {name:<10} {table.about}" for name, table in TABLES.items())
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\ntables:\n{about}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="by default " + ", ".join(SUITE))
    parser.add_argument("--full", action="store_true", help="measure all environments at every size, and longer")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="measure rows whose names contain a TEXT"
    )
    parser.add_argument("--programs", nargs="+", metavar="NAME", help="measure the first program of a row and these")
    parser.add_argument("--rounds", type=int, help="turns of each program")
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="change options of the workers that have them, such as num_steps=100",
    )
    parser.add_argument("--core", type=int, help="the core to run on; by default the last")
    parser.add_argument("--all-cores", action="store_true", help="do not pin; let every library use its threads")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS, help="file for the results")
    parser.add_argument("--update", action="store_true", help="keep the tables of --json that are not measured")
    parser.add_argument("--report-only", action="store_true", help="measure nothing; judge and report --json")
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks_suite.md and its plots")
    add_pythons(parser)
    options = parser.parse_args(arguments)
    options.tables = options.tables or list(SUITE)
    unknown = sorted(set(options.tables) - set(TABLES))
    if unknown:
        parser.error(f"there is no table {', '.join(unknown)}; the tables are {', '.join(TABLES)}")
    if options.report_only:
        options.update = True
        if not options.json.exists():
            parser.error(f"--report-only needs results, but {options.json} does not exist; leave it out to measure")
    return options


def _setting(text: str) -> tuple[str, Any]:
    """Read a setting, whose value is JSON or a word."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _header(options: argparse.Namespace) -> dict[str, Any]:
    import jax

    import funcenv

    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "mode": "full" if options.full else "quick",
        "command": "make bench-full" if options.full else "make bench ARGS=--write-docs",
        "arguments": [argument for argument in sys.argv[1:] if not argument.startswith("/")],
        "machine": machine.describe(),
        "flags": machine.flags() | ({} if options.all_cores else ONE_CORE),
        "pinned_to_one_core": not options.all_cores and hasattr(os, "sched_setaffinity"),
        "versions": {"funcenv": funcenv.__version__, "jax": jax.__version__, "python": sys.version.split()[0]},
        "requirements": REQUIREMENTS,
    }


def _measured(table: Table, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure the rows of a table that were asked for, print their figures, and yield them."""
    plan = FULL if options.full else QUICK
    rounds = options.rounds or table.rounds or (plan.compile_rounds if table.is_start else plan.rounds)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    is_pinned = not (options.all_cores or table.uses_threads)
    if is_pinned:
        place_on(options.core)
    print(f"\n{table.about}, {rounds} rounds\n\n{_HEAD}", flush=True)
    for row in table.rows(plan):
        if not any(text in row.name for text in options.only):
            continue
        programs = [_with_settings(program, dict(options.set)) for program in _chosen(row, options.programs)]
        measure = _starts if table.is_start else _turns
        peers = measure(programs, rounds, ONE_CORE if is_pinned else {}, dict(options.python))
        for name, figures in peers.items():
            print(_line(row.name, name, figures), flush=True)
        yield {**row.labels, "peers": peers}
    if cores is not None:
        os.sched_setaffinity(0, cores)


def _chosen(row: Row, names: list[str] | None) -> list[Program]:
    return [one for one in row.programs if one is row.programs[0] or names is None or one.name in names]


def _with_settings(program: Program, settings: dict[str, Any]) -> Program:
    return dataclasses.replace(
        program, options={name: settings.get(name, value) for name, value in program.options.items()}
    )


def _turns(programs: list[Program], rounds: int, variables: dict[str, str], pythons: dict[str, str]) -> dict[str, Any]:
    """Let the programs of a row take turns, and return the figures of each, or its error."""
    workers: list[Worker] = []
    absent = {}
    for program in programs:
        try:
            workers.append(program.start(variables, pythons))
        except LibraryError as error:
            absent[program.name] = {"error": str(error)}
    try:
        return (compare(workers, rounds) if workers else {}) | absent
    except LibraryError as error:
        return {workers[0].name: {"error": str(error)}} | absent


def _starts(programs: list[Program], rounds: int, variables: dict[str, str], pythons: dict[str, str]) -> dict[str, Any]:
    """Start the programs anew in each round, with one cache of compiled programs a round, and return medians."""
    found: dict[str, list[dict[str, Any]]] = {program.name: [] for program in programs}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            cache = {
                "JAX_COMPILATION_CACHE_DIR": folder,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            }
            for program in programs:
                try:
                    worker = program.start(variables | cache, pythons)
                except LibraryError as error:
                    return {program.name: {"error": str(error)}}
                worker.close()
                found[program.name].append(start_seconds(worker.facts) | {"result": worker.facts.get("result")})
    return {name: {key: _median([each[key] for each in turns]) for key in turns[0]} for name, turns in found.items()}


def _median(values: list[Any]) -> Any:
    """Return the median of numbers, or of each entry of dictionaries, or the last of other values."""
    if isinstance(values[0], dict):
        return {key: _median([value[key] for value in values]) for key in values[0]}
    return statistics.median(values) if isinstance(values[0], float) else values[-1]


_COLUMNS = (
    "row",
    "program",
    "steps a CPU-s",
    "CPU-us a step",
    "the first is faster by",
    "prepare + first result, CPU-s",
)
_HEAD = f"| {' | '.join((*_COLUMNS, 'compile, CPU-s', 'wall, s', 'result'))} |\n|{'---|' * (len(_COLUMNS) + 3)}"


def _line(row: str, program: str, figures: dict[str, Any]) -> str:
    """Return the figures of a program as a row of a Markdown table."""
    if "error" in figures:
        return f"| {row} | {program} | absent: {figures['error']} |"
    cells = [row, program]
    if "steps_per_cpu_second" in figures:
        low, high = figures["ratio_range"]
        cells += [digits(figures["steps_per_cpu_second"]), digits(microseconds(figures))]
        cells += [f"{digits(figures['ratio_of_first'])} ({digits(low)} to {digits(high)})"]
    else:
        cells += ["", "", ""]
    cells.append(f"{figures['prepare_cpu']:.2f} + {figures['first_cpu']:.2f}")
    cells.append(f"{figures['compile_cpu']:.2f}" if "compile_cpu" in figures else "")
    cells.append(f"{figures['wall']:.3f}" if "wall" in figures else "")
    result = figures.get("result")
    cells.append("" if result is None else json.dumps(result))
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()

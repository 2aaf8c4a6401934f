"""The benchmark suite: all measurements against all peers, by `make bench` (minutes) or `make bench-full`.

Each row starts one worker for funcenv and one for each peer, which take turns on one core. The row holds the medians of
the ratios of their CPU seconds. Results are written to a JSON file after every row. `--write-docs` writes the page and
the plots from them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import latency
import machine
import vector_latency
from harness import CACHE, HERE, ONE_CORE, PEERS, PeerError, Worker, compare, microseconds, pin, write_json
from suite_goals import judge
from suite_rows import ENVS, FULL, LOOPS, QUICK, Plan, speed_rows, start_all, start_loop

RESULTS = CACHE.parent / "bench" / "results.json"
DOCS = HERE.parent / "docs"


def main(arguments: list[str] | None = None) -> None:
    options = _parse(arguments)
    results = json.loads(options.json.read_text()) if options.update and options.json.exists() else {}
    if not options.report_only:
        core = None if options.all_cores else pin(options.core)
        os.environ.update({} if options.all_cores else ONE_CORE)
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
            os.environ.pop(name, None)  # so that compile times are those of a first run
        plan = FULL if options.full else QUICK
        results.update(_header(options, core))
        for section in options.only:
            results.pop(section, None)
            try:
                for rows in MEASURE[section](plan, options):
                    results[section] = rows
                    _save(results, options.json)
            except PeerError as error:  # the other sections are measured nevertheless
                results["errors"][section] = str(error)
                print(f"{section} stopped: {error}", flush=True)
    results["goals"] = judge(results)
    _save(results, options.json)
    for goal in results["goals"]:
        print(f"{goal['verdict']:<8} {goal['what']}: {goal['measured']} (goal: {goal['goal']})")
    print(f"results: {options.json}")
    for section, error in results.get("errors", {}).items():
        print(f"incomplete: {section}: {error}")
    if options.write_docs:
        from suite_report import write_docs

        for path in write_docs(results, DOCS):
            print(f"written: {path.relative_to(HERE.parent)}")


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all environments at every size, against everyone")
    parser.add_argument("--only", nargs="+", choices=list(MEASURE), default=list(MEASURE), help="sections to measure")
    parser.add_argument("--envs", nargs="+", choices=ENVS, default=list(ENVS), help="environments to measure")
    parser.add_argument("--num-envs", nargs="+", type=int, help="batch sizes to measure")
    parser.add_argument("--peers", nargs="*", help="names of the peers; by default all that can run")
    parser.add_argument("--core", type=int, help="the core to run on; by default the last")
    parser.add_argument("--all-cores", action="store_true", help="do not pin; let every library use its threads")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS, help="file for the results")
    parser.add_argument("--update", action="store_true", help="keep the sections of --json that are not measured")
    parser.add_argument("--report-only", action="store_true", help="measure nothing; judge and report --json")
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks_suite.md and its plots")
    options = parser.parse_args(arguments)
    if options.report_only:
        options.update = True
        if not options.json.exists():
            parser.error(f"--report-only needs results, but {options.json} does not exist; leave it out to measure")
    return options


def _header(options: argparse.Namespace, core: int | None) -> dict[str, Any]:
    import jax

    import funcenv

    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "mode": "full" if options.full else "quick",
        "command": "make bench-full" if options.full else "make bench ARGS=--write-docs",
        "arguments": [argument for argument in sys.argv[1:] if not argument.startswith("/")],
        "machine": machine.describe(),
        "flags": machine.flags(),
        "pinned_to_one_core": core is not None,
        "versions": {"funcenv": funcenv.__version__, "jax": jax.__version__, "python": sys.version.split()[0]},
        "requirements": PEERS,
        "errors": {},
    }


def _save(results: dict[str, Any], path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, results)


def _speed(plan: Plan, options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for env, num_envs, keep in speed_rows(plan):
        if env not in options.envs or (options.num_envs and num_envs not in options.num_envs):
            continue
        rows.append({"env": env, "num_envs": num_envs, "keep": keep})
        try:
            rows[-1]["peers"] = _speed_row(plan, env, num_envs, keep, options.peers)
        except PeerError as error:  # the worker of funcenv failed
            rows[-1]["peers"] = {"funcenv": {"error": str(error)}}
        _print_row(rows[-1])
        yield rows


def _speed_row(plan: Plan, env: str, num_envs: int, keep: bool, names: list[str] | None) -> dict[str, Any]:
    workers, absent = start_all(plan, env, num_envs, keep, names)
    return {**compare(workers, plan.rounds), **absent}


def _print_row(row: dict[str, Any]) -> None:
    case = f"{row['env']:<24} n={row['num_envs']:<6}{'kept' if row['keep'] else '':<5}"
    for name, peer in row["peers"].items():
        if "error" in peer:
            print(f"{case} {name:<21} absent: {peer['error']}", flush=True)
            continue
        speed, ratio, (low, high) = peer["steps_per_cpu_second"] / 1e6, peer["ratio_of_first"], peer["ratio_range"]
        speeds = f"{speed:10.3f} M steps/CPU-s, funcenv is {ratio:8.2f}x as fast ({low:.2f}-{high:.2f})"
        print(f"{case} {name:<21} {speeds}", flush=True)


def _loop(plan: Plan, options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Measure a loop of the user's own, which scans over steps and acts by a network or at random."""
    rows: list[dict[str, Any]] = []
    for env, policy, num_envs in LOOPS:
        if env in options.envs and num_envs in (options.num_envs or [num_envs]):
            workers, absent = start_loop(env, policy, num_envs, plan.seconds)
            rows.append({"env": env, "policy": policy, "num_envs": num_envs, "keep": False})
            rows[-1]["peers"] = {**compare(workers, plan.rounds), **absent}
            print(policy, end=" ")
            _print_row(rows[-1])
            yield rows


def _compile(plan: Plan, options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Measure the time until a program has run once, without and with JAX's persistent cache."""
    rows: list[dict[str, Any]] = []
    for env in (env for env in ENVS if env in options.envs):
        try:
            rows.append({"env": env, **_compile_seconds(env, plan.compile_rounds)})
        except PeerError as error:
            rows.append({"env": env, "error": str(error)})
        print(", ".join(f"{name}: {value}" for name, value in rows[-1].items()), flush=True)
        yield rows


def _compile_seconds(env: str, rounds: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {"cold": [], "cached": []}
    work = {"env": env, "num_envs": 256, "num_steps": 1024, "seconds": 0.01}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            variables = {
                "JAX_COMPILATION_CACHE_DIR": folder,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            }
            for name, times in seconds.items():
                worker = Worker(f"funcenv, {name}", "rollout_funcenv.py", work, environment=variables)
                worker.close()
                facts = worker.facts
                times.append(facts["prepare_cpu"] + facts["first_cpu"] - facts["once_cpu"])
    return {name: round(statistics.median(times), 4) for name, times in seconds.items()}


def _soak(plan: Plan, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure memory over many steps: a tenth of them to warm up, then all of them in ten turns."""
    work = {"env": "CartPole-v1", "num_envs": 4096, "num_steps": 256, "steps": plan.soak_steps // 10}
    worker = Worker("funcenv", "soak_funcenv.py", work)
    resident, cpu = [worker.facts["result"]["rss_mb"]], 0.0
    for _ in range(10):
        turn = worker.run()
        resident.append(turn["result"]["rss_mb"])
        cpu += turn["cpu"]
    worker.close()
    row = {
        **work,
        "steps": 10 * worker.facts["steps"],
        "cpu": cpu,
        "rss_mb": resident,
        "growth_mb": resident[-1] - resident[0],
        "version": worker.facts["version"],
    }
    print(f"{row['steps']:,} steps: {cpu:.1f} CPU-s, resident memory {row['growth_mb']:+.2f} MB", flush=True)
    yield row


def _latency(plan: Plan, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure steps from Python, as `latency.py` and `vector_latency.py` do."""
    steps = plan.latency_steps
    single = compare(latency.start("CartPole-v1", latency.KINDS, steps), plan.rounds)
    sections: dict[str, Any] = {"single": single, "vector": {}}
    for name, row in single.items():
        print(f"one CartPole, {name:<22} {microseconds(row):8.2f} CPU-us a step")
    for num_envs in (16, 256, 4096):
        num_steps = int(steps / (10 + num_envs / 40))
        workers = vector_latency.start(num_envs, num_steps, output="numpy", autoreset_mode="NextStep")
        sections["vector"][str(num_envs)] = rows = compare(workers, plan.rounds)
        for name, row in rows.items():
            print(f"{num_envs} CartPoles, {name:<32} {microseconds(row):8.1f} CPU-us a step")
    yield sections


def _anatomy(plan: Plan, options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for env in (env for env in plan.anatomy if env in options.envs):
        work = {"env": env, "num_envs": 4096, "part_seconds": plan.seconds / 2, "rounds": plan.anatomy_rounds}
        try:
            worker = Worker("funcenv", "anatomy_funcenv.py", work)
        except PeerError as error:
            rows.append({"env": env, "error": str(error)})
            yield rows
            continue
        worker.close()
        rows.append({"env": env, **worker.facts["result"]})
        parts = ", ".join(f"{name} {ns:.2f}" for name, ns in rows[-1]["breakdown"]["nanoseconds"].items())
        print(f"{env:<24} ns a step: {parts}", flush=True)
        yield rows


MEASURE = {
    "speed": _speed,
    "loop": _loop,
    "compile": _compile,
    "soak": _soak,
    "latency": _latency,
    "anatomy": _anatomy,
}
"""Generators that yield the rows of a section so far, after each new row."""

if __name__ == "__main__":
    main()

"""Every figure against every peer, in one run: `make bench` (minutes) or `make bench-full`.

Each row starts our worker and the peers', lets them take turns on one core, and takes the median of the ratios of their
CPU seconds. Results go to a JSON file after every row; `--write-docs` makes the page and the plots of it.
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

import machine
from harness import CACHE, HERE, ONE_CORE, PEERS, PeerError, Worker, compare, pin
from latency import KINDS
from suite_goals import judge
from suite_rows import ENVS, FULL, QUICK, Plan, speed_rows, start_all
from vector_latency import MODES

SECTIONS = ("speed", "compile", "soak", "latency", "anatomy")
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
            os.environ.pop(name, None)  # compile times are those of a first run
        plan = FULL if options.full else QUICK
        results.update(_header(options, core))
        for section in options.only:
            results.pop(section, None)
            try:
                for rows in _measure(section, plan, options):
                    results[section] = rows
                    _save(results, options.json)
            except PeerError as error:  # the other sections have their turn all the same
                results["errors"][section] = str(error)
                print(f"{section} stopped: {error}", flush=True)
    results["goals"] = judge(results)
    _save(results, options.json)
    for goal in results["goals"]:
        print(f"{goal['verdict']:<8} {goal['what']}: {goal['measured']} (goal: {goal['goal']})")
    print(f"figures: {options.json}")
    for section, error in results.get("errors", {}).items():
        print(f"incomplete: {section}: {error}")
    if options.write_docs:
        from suite_report import write_docs

        for path in write_docs(results, DOCS):
            print(f"written: {path.relative_to(HERE.parent)}")


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all environments at every size, against everyone")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="sections to measure")
    parser.add_argument("--envs", nargs="+", choices=ENVS, default=list(ENVS), help="environments to measure")
    parser.add_argument("--num-envs", nargs="+", type=int, help="numbers of environments to measure")
    parser.add_argument("--peers", nargs="*", help="names of the peers that take part; by default all that can")
    parser.add_argument("--core", type=int, help="the core that everything runs on; by default the last")
    parser.add_argument("--all-cores", action="store_true", help="pin nothing, let every library use its threads")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS, help="where the figures go")
    parser.add_argument("--update", action="store_true", help="keep the sections of that file that are not measured")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, judge and report that file")
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks_suite.md and its plots")
    options = parser.parse_args(arguments)
    if options.report_only:
        options.update = True
        if not options.json.exists():
            parser.error(f"--report-only needs figures, and there is no {options.json}; leave it out to measure them")
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
    path.write_text(json.dumps(results, indent=1) + "\n")


def _measure(section: str, plan: Plan, options: argparse.Namespace) -> Iterator[Any]:
    """What the section has so far, after each of its rows."""
    measure = {"speed": _speed, "compile": _compile, "soak": _soak, "latency": _latency, "anatomy": _anatomy}
    return measure[section](plan, options)


def _speed(plan: Plan, options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for env, num_envs, keep in speed_rows(plan):
        if env not in options.envs or (options.num_envs and num_envs not in options.num_envs):
            continue
        rows.append({"env": env, "num_envs": num_envs, "keep": keep})
        try:
            rows[-1]["peers"] = _speed_row(plan, env, num_envs, keep, options.peers)
        except PeerError as error:  # ours
            rows[-1]["peers"] = {"funcenv": {"error": str(error)}}
        _print_row(rows[-1])
        yield rows


def _speed_row(plan: Plan, env: str, num_envs: int, keep: bool, names: list[str] | None) -> dict[str, Any]:
    workers, absent = start_all(plan, env, num_envs, keep, names)
    try:
        return {**compare(workers, plan.rounds), **absent}
    finally:
        for worker in workers:
            worker.close()


def _print_row(row: dict[str, Any]) -> None:
    where = f"{row['env']:<24} n={row['num_envs']:<6}{'kept' if row['keep'] else '':<5}"
    for name, figures in row["peers"].items():
        if "error" in figures:
            print(f"{where} {name:<21} absent: {figures['error']}", flush=True)
            continue
        speed, ratio, (low, high) = (
            figures["steps_per_cpu_second"] / 1e6,
            figures["ratio_of_first"],
            figures["ratio_range"],
        )
        print(
            f"{where} {name:<21} {speed:10.3f} M steps/CPU-s, we are {ratio:8.2f}x ({low:.2f}-{high:.2f})", flush=True
        )


def _compile(plan: Plan, options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """From nothing to a program that has run, without and with JAX's persistent cache."""
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
    """A tenth of the steps to warm up, then all of them in ten turns."""
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
    """Stepping from Python: the workers of `latency.py` and `vector_latency.py`."""
    steps = plan.latency_steps
    kinds = {kind: {"kind": kind, "env": "CartPole-v1", "num_steps": steps} for kind in KINDS}
    kinds["phys2d"]["num_steps"] = steps // 10
    workers = [Worker(kind, "latency.py", work) for kind, work in kinds.items()]
    sections: dict[str, Any] = {"single": compare(workers, plan.rounds), "vector": {}}
    for worker in workers:
        worker.close()
        print(f"one CartPole, {worker.name:<22} {_microseconds(sections['single'][worker.name]):8.2f} CPU-us a step")
    for num_envs in (16, 256, 4096):
        work = {"num_envs": num_envs, "steps": int(steps / (10 + num_envs / 40))}
        choices = {**work, "output": "numpy", "autoreset_mode": "NextStep"}
        workers = [
            Worker(f"funcenv, {name}", "vector_funcenv.py", {**choices, "asynchronous": is_asynchronous})
            for name, is_asynchronous in reversed(MODES.items())
        ]
        workers.append(Worker("CartPoleVectorEnv", "vector_gymnasium.py", work))
        sections["vector"][str(num_envs)] = rows = compare(workers, plan.rounds)
        for worker in workers:
            worker.close()
            print(f"{num_envs} CartPoles, {worker.name:<32} {_microseconds(rows[worker.name]):8.1f} CPU-us a step")
    yield sections


def _microseconds(row: dict[str, Any]) -> float:
    return 1e6 / row["steps_per_cpu_second"]


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


if __name__ == "__main__":
    main()

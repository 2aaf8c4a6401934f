"""Speeds of rollouts on this machine's accelerator, beside other libraries: `python benchmarks/hardware.py`.

The programs of a task are compiled first, by several threads. Then they take turns, and the median wall time of a step
of all environments is reported. `--results` is written after every task. `--lock` lets several such processes measure
one after the other while they compile side by side. Packages of peers must be installed beside funcenv's; a peer that
is not, or that fails, is reported with the reason. `--write-docs FILE ...` adds files of results to the committed one,
and writes the tables and the plot of docs/accelerators.md.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import datetime
import importlib
import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
sys.path.append(str(pathlib.Path(__file__).parent / "workers"))

import filelock
import jax
import machine
from harness import write_json
from libraries import CACHE

import funcenv

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = CACHE / "bench" / "hardware.json"
PUBLISHED = ROOT / "benchmarks/studies/results/hardware.json"
SIZES = (1, 256, 4096, 65536, 2**20)
ROUNDS, TURN_SECONDS = 5, 0.05
MJX = {"backend": "mjx"}


@dataclasses.dataclass(frozen=True)
class Task:
    """An environment, and those of other libraries that it is compared with."""

    id: str
    num_steps: int = 500
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    peers: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """options of the worker by library"""
    most: int = SIZES[-1]
    """largest number of environments"""
    chosen: list[str] | None = None
    """names of the programs to measure; None for all"""

    def programs(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return worker and options by the name of the program."""
        ours = {"env": self.id, "parameters": self.parameters}
        programs = {"funcenv": ("funcenv", ours), "funcenv in jit": ("funcenv", {**ours, "in_jit": True})}
        programs |= {name: (name, dict(options)) for name, options in self.peers.items()}
        return {name: one for name, one in programs.items() if self.chosen is None or name in self.chosen}


def _classic(id: str) -> Task:
    return Task(id, peers={"gymnax": {"env": id}})


def _minatar(game: str, num_steps: int = 500, **peers: str) -> Task:
    return Task(f"MinAtar/{game}-v1", num_steps, peers={name: {"env": env} for name, env in peers.items()})


TASKS = (
    *map(_classic, ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0")),
    Task("FrozenLake-v1"),
    Task("Blackjack-v1"),
    _minatar("Breakout", gymnax="Breakout-MinAtar", pgx="minatar-breakout"),
    _minatar("SpaceInvaders", gymnax="SpaceInvaders-MinAtar", pgx="minatar-space_invaders"),
    _minatar("Seaquest", 200, pgx="minatar-seaquest"),
    Task("arcade/Pong-v0"),
    Task("arcade/Breakout-v0"),
    Task("LunarLander-v3", 50, most=65536),
    Task("BipedalWalker-v3", 20, most=65536),
    Task("CarRacing-v3", 10, most=4096),
    Task(
        "InvertedPendulum-v5",
        50,
        MJX,
        {"brax": {"env": "inverted_pendulum", "backend": "mjx"}, "playground": {"env": "CartpoleBalance"}},
        most=65536,
    ),
    Task("HalfCheetah-v5", 10, MJX, {"brax": {"env": "halfcheetah", "backend": "mjx"}}, most=4096),
    Task("Ant-v5", 10, MJX, {"brax": {"env": "ant", "backend": "mjx"}}, most=4096),
)


def main(arguments: list[str] | None = None) -> None:
    """Measure the tasks that were asked for, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="tasks whose ids contain a TEXT")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="numbers of environments")
    parser.add_argument("--programs", nargs="+", metavar="NAME", help="programs of a task; by default all")
    parser.add_argument("--threads", type=int, default=4, help="programs that are compiled at a time")
    parser.add_argument("--lock", type=pathlib.Path, help="file that a process holds while it measures")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="file of results")
    parser.add_argument(
        "--write-docs", nargs="*", type=pathlib.Path, metavar="FILE", help="publish files of results; measure nothing"
    )
    options = parser.parse_args(arguments)
    if options.write_docs is not None:
        write_docs(options.write_docs)
        return
    lock = filelock.FileLock(options.lock) if options.lock else contextlib.nullcontext()
    results: dict[str, Any] = {"device": _device(), "tasks": {}}
    for task in TASKS:
        task = dataclasses.replace(task, chosen=options.programs)
        if any(text in task.id for text in options.only):
            sizes = [size for size in options.sizes if size <= task.most]
            for size, figures in measure(task, sizes, options.threads, lock):
                results["tasks"].setdefault(task.id, {})[size] = figures
                write_json(options.results, results)


def write_docs(files: list[pathlib.Path]) -> None:
    """Add files of results to the committed one, and write the page."""
    from accelerator_page import write_measured
    from plots import draw_hardware

    kept = json.loads(PUBLISHED.read_text())
    for file in files:
        found = json.loads(file.read_text())
        kept["device"] = found["device"]
        kept["tasks"] |= found["tasks"]
    write_json(PUBLISHED, kept)
    print(draw_hardware(kept, ROOT / "docs/assets/bench/hardware.svg"))
    print(write_measured(kept, ROOT / "docs/accelerators.md"))


def measure(task: Task, sizes: list[int], threads: int, lock: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield and print the figures of each program for each number of environments."""
    funcenv.make(task.id, **task.parameters)  # its packages are imported before there are threads
    cases = [(name, size) for size in sizes for name in task.programs()]
    for worker, _ in task.programs().values():
        with contextlib.suppress(Exception):  # reported by the programs of this library
            _worker(worker)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        prepared = dict(zip(cases, pool.map(lambda case: _prepared(task, *case), cases), strict=True))
    for size in sizes:
        row = {name: prepared.pop((name, size)) for name in task.programs()}
        with lock:
            figures = _take_turns(row)
        print(task.id, size, json.dumps(figures), flush=True)
        yield size, figures


def _prepared(task: Task, name: str, size: int) -> tuple[Callable[[], Any] | None, dict[str, Any]]:
    """Compile a program, and return it with facts, or no program and the reason."""
    worker, options = task.programs()[name]
    options |= {"num_envs": size, "num_steps": task.num_steps}
    start = time.perf_counter()
    try:
        work, facts = _worker(worker).prepare(options)
        result = work()
    except Exception as error:  # another library's, of any kind, which is a result here
        return None, _failure(error)
    return work, {
        "version": facts["version"],
        "first": time.perf_counter() - start,
        "result": result,
        "steps": facts["steps"],
    }


def _failure(error: Exception) -> dict[str, Any]:
    """Return the figures of a program that failed: the first line of the reason."""
    return {"error": f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"}


def _worker(name: str) -> Any:
    return importlib.import_module(f"rollout_{name}")


def _take_turns(row: dict[str, tuple[Callable[[], Any] | None, dict[str, Any]]]) -> dict[str, Any]:
    """Let programs take turns, and return the figures of each."""
    walls: dict[str, list[float]] = {name: [] for name in row}
    repeats: dict[str, int] = {}
    figures = {name: facts for name, (_, facts) in row.items()}
    for number in range(ROUNDS + 1):
        for name, (work, _) in row.items():
            if work is None or "error" in figures[name]:
                continue
            count = repeats.get(name, 1)
            start = time.perf_counter()
            try:
                for _ in range(count):
                    work()
            except Exception as error:  # out of memory, most likely, which is a result here
                figures[name] = _failure(error)
                continue
            wall = (time.perf_counter() - start) / count
            if number:  # the first turn says how often a turn repeats the work
                walls[name].append(wall)
            else:
                repeats[name] = min(max(1, round(TURN_SECONDS / wall)), 50)
    for name, turns in walls.items():
        if turns:
            speeds = [figures[name]["steps"] / wall for wall in turns]
            figures[name] |= {"steps_per_second": statistics.median(speeds), "range": [min(speeds), max(speeds)]}
    return figures


def _device() -> dict[str, Any]:
    device = jax.devices()[0]
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "kind": device.device_kind,
        "platform": device.platform,
        "jax": jax.__version__,
        "python": sys.version.split()[0],
        "funcenv": funcenv.__version__,
        "host": machine.describe(),
    }


if __name__ == "__main__":
    main()

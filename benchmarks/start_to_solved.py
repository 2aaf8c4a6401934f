"""Seconds from the start of a process to a solved CartPole: `python benchmarks/start_to_solved.py`.

`funcenv train CartPole-v1` runs in a new process, first with an empty cache of compiled programs and then with the one
that it has left. The clock stops when the mean return in the run's log reaches the threshold. The log counts from the
moment at which the run writes its configuration. For comparison, a process that only imports JAX and compiles an
addition is timed as well.
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

THRESHOLD = 475.0
JAX_ALONE = "import jax; jax.jit(lambda x: x + 1)(1.0)"


def timed(command: list[str], cache: pathlib.Path) -> tuple[float, float, float]:
    """Run a program and return when it began, and the seconds of the clock and of the CPU that it took."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": str(cache)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return start, time.time() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def solved_at(run: pathlib.Path) -> float:
    """Return the time at which a run has solved its task."""
    with (run / "metrics.csv").open() as file:
        solved = next(row for row in csv.DictReader(file) if float(row["mean_return"]) >= THRESHOLD)
    return (run / "config.json").stat().st_mtime + float(solved["wall_seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    names = "JAX alone", "first time", "with a warm cache"
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for _ in range(parser.parse_args().rounds):
        with tempfile.TemporaryDirectory() as folder:
            cache, run = pathlib.Path(folder) / "cache", pathlib.Path(folder) / "run"
            _, clock, cpu = timed([sys.executable, "-c", JAX_ALONE], cache)
            rows["JAX alone"].append((clock, clock, cpu))
            for name in names[1:]:
                train = [sys.executable, "-m", "funcenv", "train", "CartPole-v1", "--run-dir", str(run / name)]
                start, clock, cpu = timed(train, cache)
                rows[name].append((solved_at(run / name) - start, clock, cpu))
    print(f"{'':<18}{'solved after':>14}{'process ends after':>20}{'CPU':>10}")
    for name, times in rows.items():
        solved, clock, cpu = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{name:<18}{solved:>12.2f} s{clock:>18.2f} s{cpu:>8.2f} s")


if __name__ == "__main__":
    main()

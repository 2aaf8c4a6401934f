"""CPU time that `import funcenv` adds to `import jax`: `python benchmarks/import_time.py`."""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

STATEMENTS = {
    "jax": "import jax",
    "funcenv": "import jax, funcenv",
    "funcenv list": "import funcenv.cli as c; c.main(['list'])",
}


def cpu_seconds(statement: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(rounds):
        for name, statement in STATEMENTS.items():
            times[name].append(cpu_seconds(statement))
    for name, seconds in times.items():
        print(f"{name:<14} {statistics.median(seconds):.3f} CPU-s ({min(seconds):.3f}-{max(seconds):.3f})")
    added = [ours - theirs for ours, theirs in zip(times["funcenv"], times["jax"], strict=True)]
    print(f"funcenv adds   {statistics.median(added):.3f} CPU-s to jax")


if __name__ == "__main__":
    main()

"""The first call in a process, `python benchmarks/first_call.py`: with an empty cache, and with that of the last one.

The figures are CPU seconds, in brackets as ratios to `jax.jit(lambda x: x + 1)(1.0)` in a process of its own, import
included, which is measured in the same run. `--write-docs` writes the table of docs/benchmarks_compile.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from compile import PAGE, replace_table

START, END = "<!-- the first calls, by benchmarks/first_call.py -->", "<!-- end of the first calls -->"
BASELINE = "import time, jax; jax.jit(lambda x: x + 1)(1.0); print(time.process_time())"
PREAMBLE = """
import sys, time
import funcenv
from funcenv import adapters, programs
name, algorithm = sys.argv[2:]
if algorithm:
    from funcenv.train.algorithm import find_algorithm
    from funcenv.train.loop import Learner
    from funcenv.train.presets import preset
programs.enable_cache(sys.argv[1])
start = time.process_time()
"""
WORKS = {
    "first stateful step": """
env = adapters.make(name)
env.reset(seed=0)
env.step(env.action_space.sample())
""",
    "first rollout of 64": """
venv = funcenv.FuncVectorEnv(funcenv.make(name), 64)
result = funcenv.rollout(venv, funcenv.random_policy(venv), funcenv.key(0), 256, collect=None)
float(result[2].count)
""",
    "training program": """
learner = Learner(find_algorithm(algorithm), preset(name, algorithm))
learner.compile(learner.init(funcenv.key(0)), donate=True)
""",
}
ROWS = [
    *[("first stateful step", name, "") for name in ("LunarLander-v3", "CartPole-v1", "ALE/Pong-v5")],
    *[("first rollout of 64", name, "") for name in ("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3")],
    ("training program", "CartPole-v1", "ppo"),
    *[("training program", name, "ppo") for name in ("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3")],
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write it if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1, help="pairs of processes for each row")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="rows whose names contain a TEXT")
    parser.add_argument("--write-docs", action="store_true", help="write the table of docs/benchmarks_compile.md")
    options = parser.parse_args(arguments)
    if options.write_docs and options.only != [""]:
        parser.error("--write-docs writes all rows of the table; leave out --only")
    lines = ["| call | first process, CPU-s | next process, CPU-s |", "|---|---:|---:|"]
    print("\n".join(lines))
    for work, name, algorithm in ROWS:
        if any(text in f"{work} {name}" for text in options.only):
            rounds = [measure(work, name, algorithm) for _ in range(options.rounds)]
            lines.append(line(f"{work}, {name}", rounds))
            print(lines[-1], flush=True)
    if options.write_docs:
        replace_table(PAGE, START, END, lines)


def measure(work: str, name: str, algorithm: str) -> tuple[float, float, float]:
    """Return the CPU seconds of JAX alone, and of a first and a second process."""
    with tempfile.TemporaryDirectory() as folder:
        code = f"{PREAMBLE}{WORKS[work]}\nprint(time.process_time() - start)"
        return cpu_seconds(BASELINE), *[cpu_seconds(code, folder, name, algorithm) for _ in range(2)]


def cpu_seconds(code: str, *arguments: str) -> float:
    """Run code in a new process, and return the number that it prints last."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=variables | {"JAX_PLATFORMS": "cpu"}, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def line(name: str, rounds: Sequence[tuple[float, float, float]]) -> str:
    """Return a row of the table, with medians over rounds."""
    alone, first, second = (statistics.median(values) for values in zip(*rounds, strict=True))
    return f"| {name} | {first:.1f} ({first / alone:.1f}x) | {second:.2f} ({second / alone:.2f}x) |"


if __name__ == "__main__":
    main()

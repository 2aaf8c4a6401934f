"""Microseconds of one step from Python, against Gymnasium's own environments: `python benchmarks/latency.py`."""

from __future__ import annotations

import argparse
import json

from harness import Worker, compare

KINDS = ["funcenv", "funcenv in gymnasium", "gymnasium", "phys2d"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write the figures here")
    arguments = parser.parse_args()
    workers = []
    for kind in arguments.kinds:
        num_steps = arguments.steps // 10 if kind == "phys2d" else arguments.steps
        workers.append(Worker(kind, "latency.py", {"kind": kind, "env": arguments.env, "num_steps": num_steps}))
    rows = compare(workers, arguments.rounds)
    for worker in workers:
        worker.close()
        microseconds, ratio = 1e6 / rows[worker.name]["steps_per_cpu_second"], rows[worker.name]["ratio_of_first"]
        print(
            f"{arguments.env} {worker.name:<22} {microseconds:8.2f} us of CPU a step, "
            f"{ratio:6.2f} times {workers[0].name}'s"
        )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()

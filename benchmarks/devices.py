"""Seconds of an update of training on several devices: `python benchmarks/devices.py [--devices 1 2]`, on Linux.

A CPU acts as several devices of one thread each, and should have as many free cores. The task is PPO on CartPole with
networks so large that an update is mostly gradients; `--width 64` shows the other case. All numbers of devices take
turns, with shared gradients and with `deterministic_reductions`, and the best turn of each counts.
"""

from __future__ import annotations

import os
from typing import Any

from harness import HERE, Worker, parser, write_json


def main() -> None:
    arguments = parser(__doc__, rounds=5)
    arguments.add_argument("--devices", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--width", type=int, default=512, help="of the two hidden layers")
    options = arguments.parse_args()
    workers: dict[tuple[int, bool], Worker] = {}
    for count in options.devices:
        variables = {
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
            "PJRT_NPROC": str(count),
            "PYTHONPATH": os.pathsep.join(map(str, (HERE.parent, HERE))),
        }
        for deterministic in (False, True):
            work = {"width": options.width, "deterministic": deterministic}
            workers[count, deterministic] = Worker(f"{count} devices", "devices.py", work, environment=variables)
    turns = [{kind: worker.run() for kind, worker in workers.items()} for _ in range(options.rounds)]
    for worker in workers.values():
        worker.close()
    results: dict[str, Any] = {}
    print("| devices | deterministic reductions | busiest thread, CPU-s | less than the first row by | wall, s |")
    print("|---|---|---|---|---|")
    first: float | None = None
    for count, deterministic in workers:
        busiest = min(turn[count, deterministic]["result"] for turn in turns)
        wall = min(turn[count, deterministic]["wall"] for turn in turns)
        first = busiest if first is None else first
        results[f"{count} {deterministic}"] = {"busiest": busiest, "wall": wall}
        print(f"| {count} | {deterministic} | {busiest:.3f} | {first / busiest:.2f} | {wall:.3f} |")
    write_json(options.json, results)


if __name__ == "__main__":
    main()

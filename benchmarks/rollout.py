"""Random-policy stepping, no trajectory kept, against gymnax: `python benchmarks/rollout.py`."""

from __future__ import annotations

import argparse
import json

from harness import Worker, compare, peer_python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--num-envs", type=int, nargs="+", default=[256])
    parser.add_argument("--steps", type=int, default=4_000_000, help="environment steps in one run of the work")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write the figures here")
    arguments = parser.parse_args()
    table = {}
    for num_envs in arguments.num_envs:
        options = {"env": arguments.env, "num_envs": num_envs, "num_steps": max(arguments.steps // num_envs, 1)}
        workers = [
            Worker("funcenv", "rollout_funcenv.py", options),
            Worker("gymnax", "rollout_gymnax.py", options, peer_python("gymnax")),
        ]
        table[num_envs] = compare(workers, arguments.rounds)
        for worker in workers:
            worker.close()
        for name, row in table[num_envs].items():
            speed, ratio, (low, high) = row["steps_per_cpu_second"] / 1e6, row["ratio_of_first"], row["ratio_range"]
            print(
                f"{arguments.env} n={num_envs:<6} {name:<8} {speed:8.2f} M steps/CPU-s   "
                f"funcenv/{name} {ratio:5.2f} ({low:.2f}-{high:.2f})   "
                f"compile and first run {row['prepare_and_first_cpu']:.2f} CPU-s"
            )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(table, file, indent=2)


if __name__ == "__main__":
    main()

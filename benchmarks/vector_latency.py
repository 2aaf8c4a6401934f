"""A vector step from Python, against Gymnasium's numpy `CartPoleVectorEnv`: `python benchmarks/vector_latency.py`.

Both play the same random actions and begin new episodes in the next step. With JAX's default, asynchronous dispatch,
and without it, because a program that counts 1000 operations or more is then handed to another thread.
"""

from __future__ import annotations

import argparse
import json

from harness import Worker, compare

MODES = {"asynchronous (default)": True, "synchronous": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-envs", type=int, nargs="+", default=[16, 256, 4096])
    parser.add_argument("--output", choices=["numpy", "jax"], default="numpy")
    parser.add_argument("--autoreset-mode", choices=["NextStep", "SameStep", "Disabled"], default="NextStep")
    parser.add_argument("--seconds", type=float, default=0.1, help="about how long one run of the work takes")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", help="write the figures here")
    arguments = parser.parse_args()
    table = {}
    for num_envs in arguments.num_envs:
        steps = int(arguments.seconds / (30e-6 + num_envs * 30e-9))
        options = {"num_envs": num_envs, "steps": steps}
        choices = {"output": arguments.output, "autoreset_mode": arguments.autoreset_mode}
        workers = [Worker("gymnasium", "vector_gymnasium.py", options)]
        for name, is_asynchronous in MODES.items():
            workers.append(Worker(name, "vector_funcenv.py", {**options, **choices, "asynchronous": is_asynchronous}))
        table[num_envs] = compare(workers, arguments.rounds)
        for worker in workers:
            worker.close()
        for name, row in table[num_envs].items():
            row["us_per_step"] = 1e6 / row["steps_per_cpu_second"]
            high, low = row["ratio_range"]  # of Gymnasium's speed to this one
            print(
                f"n={num_envs:<5} {name:<24} {row['us_per_step']:7.1f} CPU-us a step   "
                f"{1 / row['ratio_of_first']:5.2f} times as fast as Gymnasium ({1 / low:.2f}-{1 / high:.2f})"
            )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(table, file, indent=2)


if __name__ == "__main__":
    main()

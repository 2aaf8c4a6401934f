"""CPU time of a vector step from Python, against `CartPoleVectorEnv`: `python benchmarks/vector_latency.py`.

All environments take the same random actions. funcenv is measured with JAX's default asynchronous dispatch and without
it, because JAX hands a program of 1000 operations or more to another thread.
"""

from __future__ import annotations

from harness import Worker, compare, microseconds, parser, write_json

IS_ASYNCHRONOUS = {"funcenv, synchronous": False, "funcenv, asynchronous (default)": True}


def start(num_envs: int, num_steps: int, **choices: str) -> list[Worker]:
    """Start a worker for each way to dispatch, and one for Gymnasium."""
    options = {"num_envs": num_envs, "steps": num_steps}
    ours = [
        Worker(name, "vector.py", {**options, **choices, "kind": "funcenv", "asynchronous": is_asynchronous})
        for name, is_asynchronous in IS_ASYNCHRONOUS.items()
    ]
    return [*ours, Worker("CartPoleVectorEnv", "vector.py", {**options, "kind": "gymnasium"})]


def main() -> None:
    flags = parser(__doc__, rounds=9)
    flags.add_argument("--num-envs", type=int, nargs="+", default=[16, 256, 4096])
    flags.add_argument("--output", choices=["numpy", "jax"], default="numpy")
    flags.add_argument("--autoreset-mode", choices=["NextStep", "SameStep", "Disabled"], default="NextStep")
    flags.add_argument("--seconds", type=float, default=0.1, help="approximate duration of the work")
    arguments = flags.parse_args()
    table = {}
    for num_envs in arguments.num_envs:
        num_steps = int(arguments.seconds / (30e-6 + num_envs * 30e-9))
        choices = {"output": arguments.output, "autoreset_mode": arguments.autoreset_mode}
        workers = start(num_envs, num_steps, **choices)[::-1]  # Gymnasium first: ratios are of its speed
        table[num_envs] = compare(workers, arguments.rounds)
        for name, row in table[num_envs].items():
            row["us_per_step"] = microseconds(row)
            high, low = row["ratio_range"]
            print(
                f"n={num_envs:<5} {name:<32} {row['us_per_step']:7.1f} CPU-us a step   "
                f"{1 / row['ratio_of_first']:5.2f} times as fast as Gymnasium ({1 / low:.2f}-{1 / high:.2f})"
            )
    write_json(arguments.json, table)


if __name__ == "__main__":
    main()

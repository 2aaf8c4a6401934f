"""CPU time of one step from Python, against Gymnasium's environments: `python benchmarks/latency.py`."""

from __future__ import annotations

from harness import Worker, compare, microseconds, parser, write_json

KINDS = ["funcenv", "funcenv in gymnasium", "gymnasium", "phys2d"]


def start(env: str, kinds: list[str], num_steps: int) -> list[Worker]:
    """Start a worker for each kind of environment; phys2d is slow, so it takes a tenth of the steps."""
    steps = {kind: num_steps // 10 if kind == "phys2d" else num_steps for kind in kinds}
    return [Worker(kind, "latency.py", {"kind": kind, "env": env, "num_steps": steps[kind]}) for kind in kinds]


def main() -> None:
    flags = parser(__doc__, rounds=7)
    flags.add_argument("--env", default="CartPole-v1")
    flags.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    flags.add_argument("--steps", type=int, default=20_000)
    arguments = flags.parse_args()
    rows = compare(start(arguments.env, arguments.kinds, arguments.steps), arguments.rounds)
    for name, row in rows.items():
        print(
            f"{arguments.env} {name:<22} {microseconds(row):8.2f} us of CPU a step, "
            f"{row['ratio_of_first']:6.2f} times {arguments.kinds[0]}'s"
        )
    write_json(arguments.json, rows)


if __name__ == "__main__":
    main()

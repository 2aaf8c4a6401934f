"""Steps of MuJoCo environments a CPU-second, against Gymnasium's own loop: `python benchmarks/mujoco_speed.py`.

For each environment: a step of the stateful interface from Python, and rollouts of batches with a random policy. It
prints how many times as fast as Gymnasium each is, in rows for the page.
"""

from __future__ import annotations

from typing import Any

from harness import Worker, compare, parser, write_json

IDS = ("InvertedPendulum-v5", "HalfCheetah-v5", "Hopper-v5", "Ant-v5", "Humanoid-v5")
SIZES = (64, 1024)
SECONDS = 0.5  # CPU time of Gymnasium in one turn, roughly


def rows(env: str, rounds: int, sizes: tuple[int, ...], num_steps: int) -> dict[str, Any]:
    """Measure one environment; each row compares with Gymnasium's loop in turns."""
    found = {}
    kinds = ("funcenv", "gymnasium")
    stateful = [Worker(kind, "latency.py", {"kind": kind, "env": env, "num_steps": num_steps}) for kind in kinds]
    found["stateful"] = compare(stateful, rounds)
    for size in sizes:
        batch = {"env": env, "num_envs": size, "num_steps": max(4 * num_steps // size, 4)}
        loop = {"env": env, "num_envs": 1, "num_steps": num_steps, "kind": "single"}
        workers = [Worker("funcenv", "rollout_funcenv.py", batch), Worker("gymnasium", "step_gymnasium.py", loop)]
        found[str(size)] = compare(workers, rounds)
    return found


def main() -> None:
    flags = parser(__doc__, rounds=5)
    flags.add_argument("--envs", nargs="+", default=list(IDS))
    flags.add_argument("--num-envs", nargs="*", type=int, default=list(SIZES))
    flags.add_argument("--steps", type=int, default=2000, help="of Gymnasium's environment in one turn")
    arguments = flags.parse_args()
    results = {}
    print(
        "| environment | Gymnasium, steps a CPU-second | stateful | " + " | ".join(map(str, arguments.num_envs)) + " |"
    )
    print("|---" * (3 + len(arguments.num_envs)) + "|")
    for env in arguments.envs:
        results[env] = found = rows(env, arguments.rounds, tuple(arguments.num_envs), arguments.steps)
        speed = found["stateful"]["gymnasium"]["steps_per_cpu_second"]
        ratios = [f"{row['gymnasium']['ratio_of_first']:.2f}" for row in found.values()]
        print(f"| `{env}` | {speed:,.0f} | {' | '.join(ratios)} |", flush=True)
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()

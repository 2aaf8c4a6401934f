"""Grey pictures of 84 x 84 pixels a CPU second, on one core, against Gymnasium's: `python benchmarks/pixels.py`.

Ours are drawn at that size, inside the compiled program; Gymnasium's are rendered by pygame at the size that it has and
reduced by Pillow. `step`: a random policy plays, and every picture is kept. `draw`: pictures alone.
"""

from __future__ import annotations

import argparse
import json

from harness import ONE_CORE, Worker, compare, pin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="+", default=["CartPole-v1", "FrozenLake-v1"])
    parser.add_argument("--kinds", nargs="+", default=["step", "draw"], choices=["step", "draw"])
    parser.add_argument("--num-envs", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--size", type=int, default=84, help="height and width of a picture")
    parser.add_argument("--num-steps", type=int, default=16, help="of all environments in one run of the work")
    parser.add_argument("--seconds", type=float, default=0.5, help="of CPU that one turn takes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--core", type=int, help="the only core to use; by default the last one")
    parser.add_argument("--json", help="write the figures here")
    arguments = parser.parse_args()
    pin(arguments.core)
    table = {}
    for env in arguments.envs:
        for kind in arguments.kinds:
            common = {"env": env, "kind": kind, "size": arguments.size, "seconds": arguments.seconds}
            peer = Worker("gymnasium", "pixels_gymnasium.py", {**common, "num_steps": 50}, environment=ONE_CORE)
            for num_envs in arguments.num_envs:
                options = {**common, "num_envs": num_envs, "num_steps": arguments.num_steps}
                ours = Worker("funcenv", "pixels_funcenv.py", options, environment=ONE_CORE)
                rows = compare([ours, peer], arguments.rounds)
                memory = {name: ours.facts[name] for name in ("output_bytes_per_env", "temporary_bytes_per_env")}
                table[f"{env} {kind} {num_envs}"] = {**rows, "memory": memory}
                ours.close()
                report(f"{env:<14} {kind:<5} n={num_envs:<5}", rows, memory)
            peer.close()
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(table, file, indent=2)


def report(title: str, rows: dict, memory: dict) -> None:
    ours, theirs = rows["funcenv"], rows["gymnasium"]
    low, high = theirs["ratio_range"]
    print(
        f"{title} {ours['steps_per_cpu_second']:9.0f} frames/CPU-s, Gymnasium {theirs['steps_per_cpu_second']:6.0f}, "
        f"{theirs['ratio_of_first']:6.1f} times ({low:.1f}-{high:.1f}); memory for each environment: "
        f"{memory['output_bytes_per_env'] / 1024:.1f} KiB of results, "
        f"{memory['temporary_bytes_per_env'] / 1024:.1f} KiB in between",
        flush=True,
    )


if __name__ == "__main__":
    main()

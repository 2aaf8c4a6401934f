"""Grey images of 84 x 84 pixels a CPU second, on one core, against Gymnasium's: `python benchmarks/pixels.py`.

funcenv renders at that size inside the compiled program. Gymnasium renders with pygame at its own size, and Pillow
resizes the image. `step` takes random actions and keeps every image; `draw` only renders.
"""

from __future__ import annotations

from harness import ONE_CORE, Worker, compare, parser, pin, write_json


def main() -> None:
    flags = parser(__doc__, rounds=7)
    flags.add_argument("--envs", nargs="+", default=["CartPole-v1", "FrozenLake-v1"])
    flags.add_argument("--kinds", nargs="+", default=["step", "draw"], choices=["step", "draw"])
    flags.add_argument("--num-envs", type=int, nargs="+", default=[64, 1024])
    flags.add_argument("--size", type=int, default=84, help="height and width of an image")
    flags.add_argument("--num-steps", type=int, default=16, help="steps of all environments in one run of the work")
    flags.add_argument("--seconds", type=float, default=0.5, help="CPU seconds of one turn")
    flags.add_argument("--core", type=int, help="the only core to use; by default the last one")
    arguments = flags.parse_args()
    pin(arguments.core)
    table = {}
    cases = ((env, kind, num) for env in arguments.envs for kind in arguments.kinds for num in arguments.num_envs)
    for env, kind, num_envs in cases:
        common = {"env": env, "kind": kind, "size": arguments.size, "seconds": arguments.seconds}
        options = {**common, "num_envs": num_envs, "num_steps": arguments.num_steps}
        ours = Worker("funcenv", "pixels_funcenv.py", options, environment=ONE_CORE)
        peer = Worker("gymnasium", "pixels_gymnasium.py", {**common, "num_steps": 50}, environment=ONE_CORE)
        rows = compare([ours, peer], arguments.rounds)
        memory = {name: ours.facts[name] for name in ("output_bytes_per_env", "temporary_bytes_per_env")}
        table[f"{env} {kind} {num_envs}"] = {**rows, "memory": memory}
        report(f"{env:<14} {kind:<5} n={num_envs:<5}", rows, memory)
    write_json(arguments.json, table)


def report(title: str, rows: dict, memory: dict) -> None:
    ours, theirs = rows["funcenv"], rows["gymnasium"]
    low, high = theirs["ratio_range"]
    print(
        f"{title} {ours['steps_per_cpu_second']:9.0f} frames/CPU-s, Gymnasium {theirs['steps_per_cpu_second']:6.0f}, "
        f"{theirs['ratio_of_first']:6.1f} times ({low:.1f}-{high:.1f}); memory for each environment: "
        f"{memory['output_bytes_per_env'] / 1024:.1f} KiB of results, "
        f"{memory['temporary_bytes_per_env'] / 1024:.1f} KiB of working memory",
        flush=True,
    )


if __name__ == "__main__":
    main()

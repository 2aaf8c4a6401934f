"""Random-policy rollouts without a trajectory, against gymnax: `python benchmarks/rollout.py`."""

from __future__ import annotations

from harness import Worker, compare, parser, peer_python, write_json


def main() -> None:
    flags = parser(__doc__, rounds=7)
    flags.add_argument("--env", default="CartPole-v1")
    flags.add_argument("--num-envs", type=int, nargs="+", default=[256])
    flags.add_argument("--steps", type=int, default=4_000_000, help="environment steps in one run of the work")
    arguments = flags.parse_args()
    table = {}
    for num_envs in arguments.num_envs:
        options = {"env": arguments.env, "num_envs": num_envs, "num_steps": max(arguments.steps // num_envs, 1)}
        ours = Worker("funcenv", "rollout_funcenv.py", options)
        gymnax = Worker("gymnax", "rollout_gymnax.py", options, peer_python("gymnax"))
        table[num_envs] = compare([ours, gymnax], arguments.rounds)
        for name, row in table[num_envs].items():
            speed, ratio, (low, high) = row["steps_per_cpu_second"] / 1e6, row["ratio_of_first"], row["ratio_range"]
            print(
                f"{arguments.env} n={num_envs:<6} {name:<8} {speed:8.2f} M steps/CPU-s   "
                f"funcenv/{name} {ratio:5.2f} ({low:.2f}-{high:.2f})   "
                f"compile and first run {row['prepare_and_first_cpu']:.2f} CPU-s"
            )
    write_json(arguments.json, table)


if __name__ == "__main__":
    main()

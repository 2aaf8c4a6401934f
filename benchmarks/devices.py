"""Seconds of an update of training on several devices: `python benchmarks/devices.py [--devices 1 2]`.

A CPU acts as several devices of one thread each, and should have as many free cores. The task is PPO on CartPole with
networks so large that an update is mostly gradients; `--width 64` shows the other case. All numbers of devices take
turns, with shared gradients and with `deterministic_reductions`, and the fastest turn of each counts.
"""

from __future__ import annotations

from harness import Worker, parser, write_json
from training_speed import funcenv_worker

NUM_UPDATES = 2


def main() -> None:
    arguments = parser(__doc__, rounds=5)
    arguments.add_argument("--devices", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--width", type=int, default=512, help="of the two hidden layers")
    options = arguments.parse_args()
    settings = {"num_envs": 64, "num_steps": 64, "hidden_sizes": [options.width] * 2}
    work = {
        "library": "funcenv",
        "env": "CartPole-v1",
        "algorithm": "ppo",
        "steps": NUM_UPDATES * 64 * 64,
        "settings": settings,
    }
    workers: dict[tuple[int, bool], Worker] = {}
    for count in options.devices:
        for is_deterministic in (False, True):
            one = {**work, "settings": {**settings, "deterministic_reductions": is_deterministic}}
            variables = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={count}", "PJRT_NPROC": str(count)}
            workers[count, is_deterministic] = funcenv_worker(one, variables)
    turns = [
        {kind: worker.run()["wall"] / NUM_UPDATES for kind, worker in workers.items()} for _ in range(options.rounds)
    ]
    seconds = {kind: min(turn[kind] for turn in turns) for kind in workers}
    for worker in workers.values():
        worker.close()
    print("| devices | shared gradients, s | faster than 1 device by | deterministic reductions, s | faster by |")
    print("|---|---|---|---|---|")
    first = options.devices[0]
    for count in options.devices:
        cells = []
        for is_deterministic in (False, True):
            own = seconds[count, is_deterministic]
            cells.append(f"{own:.3f} | {seconds[first, is_deterministic] / own:.2f}")
        print(f"| {count} | {' | '.join(cells)} |")
    write_json(
        options.json, {f"{count} {is_deterministic}": best for (count, is_deterministic), best in seconds.items()}
    )


if __name__ == "__main__":
    main()

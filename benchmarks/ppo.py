"""PPO end to end: its cost against a gymnax loop, and what it learns: `python benchmarks/ppo.py`."""

from __future__ import annotations

import os
import statistics

os.environ.setdefault("PJRT_NPROC", "1")  # one thread each, because CPU seconds are compared

from harness import Worker, compare, parser, peer_python, write_json  # noqa: E402  (workers inherit the variable)

# The sizes that published end-to-end PPO loops use for CartPole.
SMALL = {
    "env_id": "CartPole-v1",
    "num_envs": 4,
    "num_steps": 128,
    "num_epochs": 4,
    "num_minibatches": 4,
    "learning_rate": 2.5e-4,
    "total_timesteps": 500_000,
}


def cost(rounds: int) -> dict:
    """Measure one seed of the same work in funcenv and gymnax."""
    workers = [
        Worker("funcenv", "ppo_funcenv.py", {"config": SMALL, "threshold": 475}),
        Worker("gymnax", "ppo_gymnax.py", {"config": SMALL}, peer_python("gymnax")),
    ]
    rows = compare(workers, rounds)
    for worker in workers:
        row = rows[worker.name]
        seconds = worker.facts["steps"] / row["steps_per_cpu_second"]
        row["run_cpu"], row["compile_cpu"] = seconds, worker.facts["prepare_cpu"]
        print(
            f"CartPole-v1, 500k steps, {worker.name:<8} run {seconds:5.2f} CPU-s, compile and init "
            f"{row['compile_cpu']:5.2f} CPU-s, funcenv/{worker.name} {row['ratio_of_first']:.2f}"
        )
    return rows


def learning(name: str, config: dict, threshold: float) -> dict:
    """Train ten seeds; return when each reached the threshold, and the return of its final policy."""
    options = {"config": {**config, "num_seeds": 10}, "threshold": threshold, "evaluate": True}
    worker = Worker(name, "ppo_funcenv.py", options)
    result = worker.facts["result"]
    worker.close()
    reached = sorted(steps for steps in result["steps_to_threshold"] if steps is not None)
    median = f"{statistics.median(reached):,.0f}" if reached else "-"
    print(
        f"{name}: {len(reached)} of 10 seeds reach {threshold:g}, median at {median} steps, "
        f"last at {max(reached, default=0):,}; evaluation over 100 episodes: min {min(result['evaluation']):.1f}, "
        f"median {statistics.median(result['evaluation']):.1f}"
    )
    return result


def main() -> None:
    arguments = parser(__doc__, rounds=5).parse_args()

    from funcenv.train.presets import PRESETS

    results = {"cost": cost(arguments.rounds), "small": learning("CartPole-v1, 4 x 128", SMALL, 475)}
    for name, env_id, threshold in (("cartpole", "CartPole-v1", 475), ("pendulum", "Pendulum-v1", -250)):
        config = {"env_id": env_id, **PRESETS["ppo", env_id]}
        results[name] = learning(f"{env_id}, preset", config, threshold)
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()

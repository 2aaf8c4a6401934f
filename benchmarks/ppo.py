"""Training end to end: cost against a gymnax loop, and what is learnt: `python benchmarks/ppo.py`."""

from __future__ import annotations

import argparse
import json
import os
import statistics

os.environ.setdefault("PJRT_NPROC", "1")  # one thread each: CPU seconds, not wall time, are compared

from harness import Worker, compare, peer_python  # noqa: E402  (after the variable that its workers inherit)

# The shape that published end-to-end PPO loops use for CartPole.
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
    """One seed of the same work on both sides."""
    workers = [
        Worker("funcenv", "ppo_funcenv.py", {"config": SMALL, "threshold": 475}),
        Worker("gymnax", "ppo_gymnax.py", {"config": SMALL}, peer_python("gymnax")),
    ]
    rows = compare(workers, rounds)
    for worker in workers:
        worker.close()
        row = rows[worker.name]
        seconds = worker.facts["steps"] / row["steps_per_cpu_second"]
        row["run_cpu"], row["compile_cpu"] = seconds, worker.facts["prepare_cpu"]
        print(
            f"CartPole-v1, 500k steps, {worker.name:<8} run {seconds:5.2f} CPU-s, compile and init "
            f"{row['compile_cpu']:5.2f} CPU-s, funcenv/{worker.name} {row['ratio_of_first']:.2f}"
        )
    return rows


def learning(name: str, config: dict, threshold: float) -> dict:
    """Ten seeds: when each reached the threshold, and what its final policy earns."""
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the figures here")
    arguments = parser.parse_args()

    from funcenv.train.presets import PPO

    figures = {
        "cost": cost(arguments.rounds),
        "small": learning("CartPole-v1, 4 x 128", SMALL, 475),
        "cartpole": learning("CartPole-v1, preset", {"env_id": "CartPole-v1", **PPO["CartPole-v1"]}, 475),
        "pendulum": learning("Pendulum-v1, preset", {"env_id": "Pendulum-v1", **PPO["Pendulum-v1"]}, -250),
    }
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()

"""Time, memory and compilations of many steps of one stateful environment: `python benchmarks/soak.py` (Linux)."""

from __future__ import annotations

import argparse
import gc
import time

from protocol import resident_megabytes

import funcenv
from funcenv.adapters import FunctionalEnv


def play(env: FunctionalEnv, num_steps: int) -> None:
    env.reset(seed=0)
    for i in range(num_steps):
        _, _, terminated, truncated, _ = env.step(i & 1)
        if terminated or truncated:
            env.reset()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--steps", type=int, default=10_000_000)
    arguments = parser.parse_args()
    env = FunctionalEnv(funcenv.make(arguments.env))
    play(env, 100_000)
    gc.collect()
    before, cpu = resident_megabytes(), time.process_time()
    play(env, arguments.steps)
    cpu = time.process_time() - cpu
    gc.collect()
    growth, compilations = resident_megabytes() - before, env._programs.step.num_compilations()
    print(f"{arguments.steps:,} steps: {cpu:.1f} CPU-s, {growth:+.1f} MB, step compiled {compilations} time(s)")


if __name__ == "__main__":
    main()

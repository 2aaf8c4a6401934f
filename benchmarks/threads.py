"""Wall time of a long rollout without a trajectory: `PJRT_NPROC=1 python benchmarks/threads.py`, then with 2.

The rollout is divided into one part for each thread of XLA: `PJRT_NPROC`, or by default the number of cores.
"""

import argparse
import statistics
import time

import jax

import funcenv
from funcenv._compile.rollout.threads import num_threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--num-envs", type=int, default=4096)
    parser.add_argument("--num-steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    venv = funcenv.FuncVectorEnv(funcenv.make(arguments.env), arguments.num_envs)
    policy = funcenv.random_policy(venv)

    def run() -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        jax.block_until_ready(funcenv.rollout(venv, policy, funcenv.key(0), arguments.num_steps, collect=None))
        return time.perf_counter() - wall, time.process_time() - cpu

    run()  # compiles
    wall, cpu = (statistics.median(seconds) for seconds in zip(*(run() for _ in range(arguments.rounds)), strict=True))
    print(f"threads: {num_threads()}, {wall:.3f} s wall time, {cpu:.3f} CPU-s (medians of {arguments.rounds})")


if __name__ == "__main__":
    main()

"""Time rollouts by agents of the zoo, by kernels and by plain programs: `python benchmarks/studies/policies.py`.

Both take turns in one process. Times are CPU microseconds of a step of one environment, the medians of several rollouts
of the same length; nothing is collected.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import time
from typing import Any

import jax

import funcenv

IDS = ("CartPole-v1", "MinAtar/Breakout-v1", "MinAtar/Asterix-v1", "MinAtar/Freeway-v1", "arcade/Breakout-v0")
SWITCH = "FUNCENV_NO_FAST_PATH"
KINDS = {"kernel": "0", "plain": "1"}


def seconds(venv: Any, agent: Any, num_steps: int, seed: int) -> float:
    """Return the CPU seconds of a rollout."""
    start = time.process_time()
    jax.block_until_ready(funcenv.rollout(venv, agent, funcenv.key(seed), num_steps, collect=None))
    return time.process_time() - start


def measure(env_id: str, num_envs: int, env_steps: int, repeats: int) -> dict[str, float]:
    """Return the CPU microseconds of a step of one environment, by the kind of program."""
    agent = funcenv.load_policy(f"zoo/{env_id}")
    venv, num_steps = funcenv.FuncVectorEnv(funcenv.make(env_id), num_envs), max(env_steps // num_envs, 20)
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for seed in range(repeats + 1):
        for kind, switch in KINDS.items():
            os.environ[SWITCH] = switch
            times[kind].append(seconds(venv, agent, num_steps, seed) / (num_steps * num_envs) * 1e6)
    return {kind: round(statistics.median(measured[1:]), 2) for kind, measured in times.items()}  # the first compiles


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", nargs="+", default=list(IDS), help="of agents of the zoo")
    parser.add_argument("--num-envs", nargs="+", type=int, default=[1, 16, 256])
    parser.add_argument("--env-steps", type=int, default=20_000, help="of all environments of a rollout together")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=pathlib.Path, help="write the results to this file")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for env_id in options.ids:
        for num_envs in options.num_envs:
            result = measure(env_id, num_envs, options.env_steps, options.repeats)
            results.setdefault(env_id, {})[num_envs] = result
            print(env_id, num_envs, result, flush=True)
            if options.output is not None:
                options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

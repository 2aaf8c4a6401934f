"""Train with hidden layers in float32 and in bfloat16: `python benchmarks/studies/dtype.py --output dtype.json`.

Each task is trained with its preset and several seeds, once in each dtype. The interval is that of 95% over seeds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import time
from typing import Any

import numpy as np

import funcenv
from funcenv.train.loop import Learner
from funcenv.train.presets import preset

TASKS = (("CartPole-v1", "ppo", 300_000), ("Pendulum-v1", "sac", 20_000), ("MinAtar/Breakout-v1", "ppo", 2_000_000))
DTYPES = "float32", "bfloat16"
NUM_POINTS = 20


def train(env_id: str, algorithm: str, dtype: str, steps: int, seeds: int) -> dict[str, Any]:
    """Train all seeds, and return mean returns of recent episodes `[NUM_POINTS, seeds]`."""
    config = dataclasses.replace(
        preset(env_id, algorithm), dtype=dtype, total_timesteps=steps, num_seeds=seeds, stop_at_threshold=False
    )
    learner, start = Learner(algorithm, config), time.process_time()
    state, points, returns = learner.init(funcenv.key(0)), [], []
    for point in range(1, NUM_POINTS + 1):
        goal = config.num_updates * point // NUM_POINTS
        state, metrics = learner.advance_to(state, goal, donate=True)
        points.append(goal * config.batch_size)
        returns.append([round(float(value), 3) for value in metrics["mean_return"][-1]])
    return {"steps": points, "returns": returns, "cpu_seconds": round(time.process_time() - start, 1)}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("dtype.json"))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for env_id, algorithm, steps in TASKS:
        for dtype in DTYPES:
            result = train(env_id, algorithm, dtype, steps, options.seeds)
            results.setdefault(env_id, {})[dtype] = result
            final = np.array(result["returns"][-1])
            half = 1.96 * final.std(ddof=1) / np.sqrt(len(final))
            print(f"{env_id} {dtype}: {final.mean():.1f} +- {half:.1f}, {result['cpu_seconds']} CPU-s", flush=True)
            options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

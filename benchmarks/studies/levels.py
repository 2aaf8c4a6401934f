"""Compare curricula of levels on Lake Maze: success on held-out levels, several seeds each.

    python benchmarks/studies/levels.py --output levels.json

Every curriculum trains on levels that the environment draws, which need not have a path to the goal, and is tested on
levels that have one of at least eight steps and that no training used. The interval is a bootstrap over seeds.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from typing import Any

import jax
import numpy as np

import funcenv
from funcenv.envs import LakeMaze
from funcenv.levels import LevelSet, draw_levels, evaluate_levels
from funcenv.train.algorithms import plr
from funcenv.train.loop import Learner
from funcenv.train.reports.aggregate import bootstrap_interval

CURRICULA = "uniform", "plr", "robust_plr", "accel"
NUM_TEST_LEVELS = 256
MIN_PATH = 8


def held_out_levels(env: LakeMaze) -> LevelSet:
    """Return levels with a path of at least `MIN_PATH` steps, from a key that no training uses."""
    levels = draw_levels(env, 20 * NUM_TEST_LEVELS, funcenv.key(987_654_321))
    lengths = jax.jit(jax.vmap(lambda tiles: env.replace(tiles=tiles).path_length()))(levels.parameters["tiles"])
    return levels[np.flatnonzero(np.asarray(lengths) >= MIN_PATH)[:NUM_TEST_LEVELS]]


def train(config: plr.Config, levels: LevelSet, num_tests: int) -> dict[str, Any]:
    """Train all seeds, test them several times on the way, and return their success `[num_tests, num_seeds]`."""
    learner = Learner(plr, config)
    env = learner.env
    state, start, success, steps = learner.init(funcenv.key(config.seed)), time.process_time(), [], []
    for test in range(num_tests):
        goal = config.num_updates * (test + 1) // num_tests
        state, _ = learner.advance_to(state, goal)
        agents = learner.agents(state)
        scores = [
            evaluate_levels(env, levels, jax.tree.map(lambda leaf, i=i: leaf[i], agents), funcenv.key(1)).mean_returns
            for i in range(config.num_seeds)
        ]
        success.append([float(score.mean()) for score in scores])
        steps.append(goal * config.batch_size)
        print(
            config.curriculum, steps[-1], np.round(success[-1], 3), f"{time.process_time() - start:.0f} s", flush=True
        )
    return {"steps": steps, "success": success, "cpu_seconds": time.process_time() - start}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("levels.json"))
    parser.add_argument("--curricula", nargs="+", default=list(CURRICULA), choices=CURRICULA)
    parser.add_argument("--steps", type=int, default=1_500_000, help="environment steps of each seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tests", type=int, default=6, help="tests on the way")
    options = parser.parse_args()
    levels, results = held_out_levels(LakeMaze()), {}
    for curriculum in options.curricula:
        config = plr.Config(
            env_id="LakeMaze-v0",
            curriculum=curriculum,
            num_envs=32,
            num_steps=128,
            num_seeds=options.seeds,
            total_timesteps=options.steps,
            learning_rate=1e-3,
            gamma=0.995,
        )
        results[curriculum] = train(config, levels, options.tests)
        success = np.array(results[curriculum]["success"][-1])
        low, high = bootstrap_interval(np.mean, success[:, None])
        print(f"{curriculum}: success {success.mean():.3f} [{low:.3f}, {high:.3f}]", flush=True)
        options.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

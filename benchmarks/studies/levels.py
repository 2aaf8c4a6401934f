"""Compare curricula of levels: the agent's score in held-out levels, several seeds each.

    python benchmarks/studies/levels.py --output lakes.json
    python benchmarks/studies/levels.py --task BipedalWalkerHardcore-v3 --output walkers.json
    python benchmarks/studies/levels.py --train-levels 100 --curricula uniform plr --output gap.json
    python benchmarks/studies/levels.py --draw lakes.json walkers.json

Every curriculum trains on levels that the environment draws, and is tested on levels that no training used. With
`--train-levels` it trains on so many levels only, and is tested on those as well. Levels of Lake Maze need not have a
path to the goal, but those of tests have one of at least eight steps. Intervals are bootstraps over seeds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import funcenv
from funcenv.func_env import AnyEnv
from funcenv.levels import LevelSet, draw_levels, evaluate_levels
from funcenv.train.algorithms import plr
from funcenv.train.loop import Learner
from funcenv.train.reports.aggregate import bootstrap_interval
from funcenv.train.reports.plots import format_steps

CURRICULA = "uniform", "plr", "robust_plr", "accel"
MIN_PATH = 8
PICTURE = pathlib.Path(__file__).resolve().parents[2] / "docs/assets/levels/curricula.png"
COLORS = {"uniform": "#1c2330", "plr": "#3f51b5", "robust_plr": "#12858d", "accel": "#e8710a"}


def with_paths(env: AnyEnv, levels: LevelSet) -> LevelSet:
    """Return the levels of Lake Maze that have a path of at least `MIN_PATH` steps."""
    lengths = jax.jit(jax.vmap(lambda tiles: env.replace(tiles=tiles).path_length()))(levels.parameters["tiles"])
    return levels[np.flatnonzero(np.asarray(lengths) >= MIN_PATH)]


@dataclasses.dataclass(frozen=True)
class Task:
    """An environment that draws levels, and how its curricula are compared."""

    score: str  # a name of the mean return
    settings: dict[str, Any]
    num_test_levels: int
    choose: Callable[[AnyEnv, LevelSet], LevelSet] = lambda env, levels: levels


TASKS = {
    "LakeMaze-v0": Task(
        score="success",
        settings={
            "total_timesteps": 1_000_000,
            "num_envs": 32,
            "num_steps": 128,
            "learning_rate": 1e-3,
            "gamma": 0.995,
        },
        num_test_levels=256,
        choose=with_paths,
    ),
    # A buffer for so short a run: it is filled far enough after four updates.
    "BipedalWalkerHardcore-v3": Task(
        score="mean return",
        settings={
            "total_timesteps": 2_000_000,
            "num_envs": 16,
            "num_steps": 2048,
            "num_epochs": 10,
            "num_minibatches": 128,
            "learning_rate": 3e-4,
            "gamma": 0.99,
            "entropy_coefficient": 0.001,
            "normalize_observation": True,
            "level_buffer": 128,
        },
        num_test_levels=64,
    ),
}


def held_out_levels(env: AnyEnv, task: Task) -> LevelSet:
    """Return the levels of a test, from a key that no training uses."""
    levels = draw_levels(env, 20 * task.num_test_levels, funcenv.key(987_654_321))
    return task.choose(env, levels)[: task.num_test_levels]


def train(config: plr.Config, tests: dict[str, LevelSet], num_tests: int) -> dict[str, Any]:
    """Train all seeds, test them several times on the way, and return scores `[num_tests][num_seeds]` by test."""
    learner, env = Learner(plr, config), funcenv.make(config.env_id)
    state, start = learner.init(funcenv.key(config.seed)), time.process_time()
    scores: dict[str, list[list[float]]] = {name: [] for name in tests}
    steps: list[int] = []
    for test in range(num_tests):
        goal = config.num_updates * (test + 1) // num_tests
        state, _ = learner.advance_to(state, goal)
        agents = [learner.agent(state, seed) for seed in range(config.num_seeds)]
        steps.append(goal * config.batch_size)
        for name, levels in tests.items():
            played = [evaluate_levels(env, levels, agent, funcenv.key(1)).mean_returns for agent in agents]
            scores[name].append([round(float(returns.mean()), 4) for returns in played])
            seconds = time.process_time() - start
            print(config.curriculum, name, steps[-1], np.round(scores[name][-1], 3), f"{seconds:.0f} s", flush=True)
    return {"steps": steps, "scores": scores, "cpu_seconds": round(time.process_time() - start, 1)}


def interval(scores: list[float]) -> str:
    """Return the mean of seeds and its interval in words."""
    low, high = bootstrap_interval(np.mean, np.array(scores)[:, None])
    return f"{np.mean(scores):.3f} [{low:.3f}, {high:.3f}]"


def draw(files: list[pathlib.Path]) -> pathlib.Path:
    """Draw the scores in held-out levels against steps, a panel for each file; a band covers all seeds."""
    from matplotlib.figure import Figure

    studies = [json.loads(file.read_text()) for file in files]
    figure = Figure(figsize=(4.6 * len(studies), 3.4), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(studies), squeeze=False)[0]
    for axes, study in zip(panels, studies, strict=True):
        for curriculum, result in study["curricula"].items():
            steps, scores = result["steps"], np.array(result["scores"]["held out"])
            axes.plot(steps, scores.mean(1), color=COLORS[curriculum], linewidth=2, label=curriculum)
            axes.fill_between(steps, scores.min(1), scores.max(1), color=COLORS[curriculum], alpha=0.12, linewidth=0)
        score = TASKS[study["task"]].score
        axes.set_title(study["task"], fontsize=9, loc="left")
        axes.set(xlabel="environment steps of each agent", ylabel=f"{score} in held-out levels")
        axes.xaxis.set_major_formatter(lambda value, _: format_steps(value))
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, fontsize=8, frameon=False, ncols=len(CURRICULA), loc="outside lower center")
    figure.savefig(PICTURE)
    return PICTURE


def main() -> None:
    """Run the study, or draw the results of earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="LakeMaze-v0", choices=TASKS)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("levels.json"))
    parser.add_argument("--curricula", nargs="+", default=list(CURRICULA), choices=CURRICULA)
    parser.add_argument("--steps", type=int, help="environment steps of each seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tests", type=int, default=4, help="tests on the way")
    parser.add_argument("--train-levels", type=int, help="train on so many levels only, and test in them as well")
    parser.add_argument("--level-temperature", type=float, help="of replay, in place of the default")
    parser.add_argument("--draw", type=pathlib.Path, nargs="+", metavar="FILE", help="draw the results in these files")
    options = parser.parse_args()
    if options.draw:
        print(draw(options.draw))
        return
    task, env = TASKS[options.task], funcenv.make(options.task)
    given = {"total_timesteps": options.steps, "level_temperature": options.level_temperature}
    settings = task.settings | {name: value for name, value in given.items() if value is not None}
    tests = {"held out": held_out_levels(env, task)}
    study: dict[str, Any] = {"task": options.task, "jax": jax.__version__, "settings": settings, "curricula": {}}
    with tempfile.TemporaryDirectory() as folder:
        if options.train_levels:
            many = draw_levels(env, 20 * options.train_levels, funcenv.key(123_456_789))
            tests["trained on"] = task.choose(env, many)[: options.train_levels]
            tests["trained on"].require_disjoint(tests["held out"])
            tests["trained on"].save(path := pathlib.Path(folder) / "levels.safetensors")
            settings = settings | {"levels": str(path)}
            study["train_levels"] = options.train_levels
        for curriculum in options.curricula:
            config = plr.Config(env_id=options.task, curriculum=curriculum, num_seeds=options.seeds, **settings)
            study["curricula"][curriculum] = result = train(config, tests, options.tests)
            for name in tests:
                print(f"{curriculum}, {name}: {task.score} {interval(result['scores'][name][-1])}", flush=True)
            options.output.write_text(json.dumps(study) + "\n")


if __name__ == "__main__":
    main()

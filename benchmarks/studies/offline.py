"""Compare behaviour cloning and IQL with the agents that recorded their data: returns of several seeds.

    python benchmarks/studies/offline.py --output docs/assets/datasets/returns.json
    python benchmarks/studies/offline.py --draw docs/assets/datasets/returns.json

An expert is trained online and records whole episodes with its most likely actions. The mixed data are few episodes of
the expert among many of random play. Returns are those of test episodes, with the most likely actions and with keys
that no recording uses. `--draw` shows which states of Pendulum the data cover, and all returns.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import tempfile
import time
from typing import Any

import jax
import numpy as np

import funcenv
from funcenv.datasets import Dataset, record
from funcenv.train import bc, iql
from funcenv.train.loop import Learner, train
from funcenv.train.presets import preset

NUM_TESTS = 100
TASKS = {"CartPole-v1": "ppo", "Pendulum-v1": "sac"}
"""The algorithm that trains the expert of each task, with its preset."""
DATA = {"expert": (50, 0), "mixed": (10, 90)}
"""Episodes of the expert and of random play in each dataset."""
LEARNERS: dict[str, Any] = {"bc": bc.Config(), "iql": iql.Config(expectile=0.8)}
TEMPERATURES = {"CartPole-v1": 3.0, "Pendulum-v1": 0.3}
"""The inverse temperature of IQL; Pendulum's rewards, up to -16 in a step, are larger than those of CartPole."""
NUM_COVERED = 4000  # states in the picture of each dataset


def train_expert(id: str) -> tuple[Any, dict[str, Any]]:
    """Train the expert of a task, and return its policy and what it reaches."""
    config, start = preset(id, TASKS[id]), time.process_time()
    state, _ = train(TASKS[id], config, funcenv.key(config.seed))
    agent = Learner(TASKS[id], config).agent(state)
    seconds = time.process_time() - start
    return agent, {"return": test(config.make_env(), agent), "cpu_seconds": round(seconds, 1)}


def test(env: Any, policy: Any) -> float:
    """Return the mean return of test episodes."""
    return round(float(funcenv.evaluate(env, policy, NUM_TESTS, funcenv.key(2**20)).mean_return), 2)


def record_data(id: str, expert: Any, name: str, folder: pathlib.Path) -> Dataset:
    """Record the episodes of a dataset."""
    env, path = funcenv.make(id), folder / f"{id}-{name}"
    num_expert, num_random = DATA[name]
    dataset = record(env, expert, funcenv.key(1), num_expert, path)
    if num_random:
        dataset = record(env, funcenv.random_policy(env), funcenv.key(2), num_random, path, append=True)
    return dataset


def learn(id: str, name: str, dataset: Dataset, num_seeds: int, steps: int | None) -> dict[str, Any]:
    """Learn from a dataset, and return what the agents of all seeds reach."""
    config = dataclasses.replace(LEARNERS[name], env_id=id, dataset=str(dataset.folder), num_seeds=num_seeds)
    config = dataclasses.replace(config, inverse_temperature=TEMPERATURES[id]) if name == "iql" else config
    config = config if steps is None else dataclasses.replace(config, total_timesteps=steps)
    start = time.process_time()
    state, _ = train(name, config, funcenv.key(0))
    agents = Learner(name, config).agents(state)
    chosen = [jax.tree.map(lambda leaf, i=i: leaf[i], agents) for i in range(num_seeds)]
    returns = [test(config.make_env(), agent) for agent in chosen]
    return {"returns": returns, "cpu_seconds": round(time.process_time() - start, 1)}


def coverage(dataset: Dataset) -> list[list[float]]:
    """Return the angle and the angular velocity of some states of Pendulum."""
    observation = np.concatenate([episode.observation for episode in dataset])
    rows = np.random.default_rng(0).choice(len(observation), min(NUM_COVERED, len(observation)), replace=False)
    cosine, sine, speed = observation[rows].T
    return np.round(np.stack([np.arctan2(sine, cosine), speed], axis=1), 2).tolist()


def draw(results: dict[str, Any], path: pathlib.Path) -> None:
    """Draw the states that the data of Pendulum cover, and the returns of both tasks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 2.9), dpi=150, layout="constrained")
    panels = figure.subplots(1, 4, width_ratios=(1, 1, 1.1, 1.1))
    colors = {"expert": "#3d76b3", "mixed": "#d9822b"}
    for axes, name in zip(panels, DATA, strict=False):
        angle, speed = np.array(results["Pendulum-v1"]["data"][name]["covered"]).T
        axes.scatter(angle, speed, s=2, linewidths=0, color=colors[name], alpha=0.6, rasterized=True)
        axes.set(xlim=(-np.pi, np.pi), ylim=(-8.2, 8.2))
        axes.set_xlabel("angle from upright [rad]", fontsize=7)
        axes.set_ylabel("velocity [rad/s]", fontsize=7)
        axes.set_title(f"states of Pendulum, {name}", fontsize=9, loc="left")
    for axes, id in zip(panels[2:], TASKS, strict=True):
        rows = [("expert agent", "#8d979f", [results[id]["expert"]["return"]])]
        for name in DATA:
            found = results[id]["data"][name]
            rows.append((f"{name} data", colors[name], [found["mean_return"]]))
            rows += [(f"{learner}, {name}", colors[name], found[learner]["returns"]) for learner in LEARNERS]
        for place, (label, color, returns) in enumerate(reversed(rows)):
            is_data = not any(label.startswith(learner) for learner in LEARNERS)
            axes.barh(place, np.mean(returns), color=color, alpha=0.35 if is_data else 0.9, height=0.7)
            axes.plot(returns, [place] * len(returns), ".", color="black", markersize=3)
        axes.set_yticks(range(len(rows)), [label for label, _, _ in reversed(rows)], fontsize=7)
        axes.set_title(f"mean return, {id}", fontsize=9, loc="left")
        axes.locator_params(axis="x", nbins=4)
    for axes in panels:
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main() -> None:
    """Run the study, or draw its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("offline.json"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument(
        "--steps", type=int, help="transitions that each agent draws; by default those of the algorithm"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--draw", type=pathlib.Path, help="draw the results in this file beside it, and train nothing")
    options = parser.parse_args()
    if options.draw is not None:
        draw(json.loads(options.draw.read_text()), options.draw.with_name("coverage.png"))
        return
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for id in options.tasks:
            expert, about = train_expert(id)
            results[id] = {"expert": about, "data": {}}
            print(id, about, flush=True)
            for name in DATA:
                dataset = record_data(id, expert, name, pathlib.Path(folder))
                found = {"episodes": len(dataset), "steps": dataset.num_steps}
                found["mean_return"] = round(float(dataset.returns.mean()), 2)
                found |= {learner: learn(id, learner, dataset, options.seeds, options.steps) for learner in LEARNERS}
                print(id, name, found, flush=True)
                found |= {"covered": coverage(dataset)} if id == "Pendulum-v1" else {}
                results[id]["data"][name] = found
                options.output.write_text(json.dumps(results) + "\n")


if __name__ == "__main__":
    main()

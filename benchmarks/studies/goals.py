r"""Compare learning with hindsight and without it in tasks with goals: success in test episodes, several seeds each.

    python benchmarks/studies/goals.py --output docs/assets/goals/curves.json
    python benchmarks/studies/goals.py --draw docs/assets/goals/curves.json
    python benchmarks/studies/goals.py --tasks "FetchReach-v4 with SAC" --steps 20000 --tests 8 --episodes 100
    python benchmarks/studies/goals.py --tasks "FetchPush-v4 with SAC" --goals 4 --steps 200000 --tests 16 \
        --episodes 100

Success is the share of test episodes that end with `info["is_success"]`, with the most likely actions. All agents play
the same test episodes, with keys that no training uses.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import pathlib
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.train.loop import Learner
from funcenv.train.presets import preset
from funcenv.train.reports.aggregate import bootstrap_interval
from funcenv.train.reports.plots import format_steps

TASKS = {
    "GoalReacher-v0 with SAC": ("GoalReacher-v0", "sac"),
    "BitFlip-v0 with DQN": ("BitFlip-v0", "dqn"),
    "FetchReach-v4 with SAC": ("robotics/FetchReach-v4", "sac"),
    "FetchPush-v4 with SAC": ("robotics/FetchPush-v4", "sac"),
}
"""The preset of each task, or the algorithm's defaults if it has none; hindsight is all in which its runs differ."""
DRAWN_TASKS = tuple(TASKS)[:2]  # those of the figure


@functools.partial(jax.jit, static_argnames=("num_episodes", "limit"))
def success_rate(env: Any, agent: Any, key: jax.Array, num_episodes: int, limit: int) -> jax.Array:
    """Return the share of episodes that end with success."""
    venv = funcenv.FuncVectorEnv(env, num_episodes, autoreset_mode=funcenv.AutoresetMode.DISABLED)
    reset_key, act_key = jax.random.split(key)

    def step(carry: Any, key: jax.Array) -> tuple[Any, Any]:
        vstate, observation = carry
        actions = jax.vmap(agent)(observation, jax.random.split(key, num_episodes))
        vstate, timestep = venv.step(vstate, actions)
        return (vstate, timestep.observation), (timestep.done, timestep.info["is_success"])

    vstate, timestep = venv.reset(reset_key)
    _, (done, success) = jax.lax.scan(step, (vstate, timestep.observation), jax.random.split(act_key, limit))
    return jnp.take_along_axis(success, done.argmax(0)[None], axis=0).mean()


def train(algorithm: str, config: Any, num_tests: int, num_episodes: int) -> dict[str, Any]:
    """Train all seeds, test them on the way, and return their success `[num_tests, num_seeds]`."""
    learner = Learner(algorithm, config)
    start, success, steps = time.process_time(), [], []
    state, limit = learner.init(funcenv.key(config.seed)), learner.env.max_episode_steps
    for test in range(num_tests):
        goal = config.num_updates * (test + 1) // num_tests
        state, _ = learner.advance_to(state, goal)
        agents = learner.agents(state)
        chosen = [jax.tree.map(lambda leaf, i=i: leaf[i], agents) for i in range(config.num_seeds)]
        success.append([float(success_rate(learner.env, one, funcenv.key(1), num_episodes, limit)) for one in chosen])
        steps.append(goal * config.batch_size)
        print(steps[-1], np.round(success[-1], 2), f"{time.process_time() - start:.0f} s", flush=True)
    rounded = [[round(value, 4) for value in row] for row in success]
    return {"steps": steps, "success": rounded, "cpu_seconds": round(time.process_time() - start, 1)}


def draw(results: dict[str, Any], path: pathlib.Path) -> None:
    """Draw the success of every agent against its steps, and the means with hindsight and without."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.8 * len(results), 2.9), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for axes, (task, runs) in zip(panels, results.items(), strict=True):
        for goals, run in runs.items():
            steps, success = np.array(run["steps"]), np.array(run["success"])
            color, label = ("#8d979f", "without hindsight") if goals == "0" else ("#3d76b3", f"hindsight_goals={goals}")
            axes.plot(steps, success, color=color, alpha=0.3, linewidth=0.8)
            axes.plot(steps, success.mean(axis=1), color=color, linewidth=2, label=label)
        axes.set_title(f"{task}, {success.shape[1]} agents", fontsize=9, loc="left")
        axes.set(xlabel="environment steps of each agent", ylabel="success", xlim=(0, None), ylim=(-0.03, 1.03))
        axes.xaxis.set_major_formatter(lambda value, _: format_steps(value))
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(fontsize=8, frameon=False)
    figure.savefig(path)


def table(results: dict[str, Any], num_columns: int = 4) -> str:
    """Return the table of the guide: mean success on the way, and the interval of 95% at the end."""
    lines = []
    for task, runs in results.items():
        for goals, run in runs.items():
            every = max(len(run["success"]) // num_columns, 1)
            success = np.array(run["success"])[every - 1 :: every]
            low, high = bootstrap_interval(np.mean, success[-1][:, None])
            cells = [*(f"{mean:.3f}" for mean in success.mean(axis=1)), f"[{low:.3f}, {high:.3f}]"]
            lines.append(f"| {task} | {goals} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the study, or draw its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("goals.json"))
    parser.add_argument("--tasks", nargs="+", default=list(DRAWN_TASKS), choices=TASKS)
    parser.add_argument("--goals", nargs="+", type=int, default=[4, 0], help="values of hindsight_goals")
    parser.add_argument("--steps", type=int, default=100_000, help="environment steps of each seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tests", type=int, default=20, help="tests of each agent on the way")
    parser.add_argument("--episodes", type=int, default=256, help="episodes of a test")
    parser.add_argument("--draw", type=pathlib.Path, help="draw the results in this file beside it, and train nothing")
    options = parser.parse_args()
    if options.draw is not None:
        results = json.loads(options.draw.read_text())
        draw(results, options.draw.with_suffix(".png"))
        print(table(results))
        return
    results = {}
    for task in options.tasks:
        env_id, algorithm = TASKS[task]
        config = dataclasses.replace(preset(env_id, algorithm), total_timesteps=options.steps)
        for goals in options.goals:
            print(task, f"hindsight_goals={goals}", flush=True)
            changed = dataclasses.replace(config, num_seeds=options.seeds, hindsight_goals=goals)
            results.setdefault(task, {})[str(goals)] = train(algorithm, changed, options.tests, options.episodes)
            options.output.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()

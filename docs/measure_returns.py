"""Measures the returns that the pages of the environments and docs/zoo.md show, and writes them to docs/returns.json.

python docs/measure_returns.py                         random policies
python docs/measure_returns.py --train [ID ...]        agents of all presets as well, of all ids or of some
python docs/measure_returns.py --runs FOLDER [...]     agents of runs that there are, such as those of `funcenv train`
python docs/measure_returns.py --draw                  the learning curves of all of them, docs/assets/zoo/*.png

`--seeds 10` trains another number of agents than 3 side by side, and `--folder DIR` says where the runs go. A run that
is in that folder already is resumed, so the command may be stopped at any moment. Figures of other ids are kept.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import tempfile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.entry_points import load_entry_points
from funcenv.envs.atari import Atari
from funcenv.envs.box2d import BipedalWalker, CarRacing
from funcenv.envs.classic_control import CartPole
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.mujoco.simulated_env import SimulatedEnv
from funcenv.train import run
from funcenv.train.algorithm import DEFAULT_ALGORITHM, algorithm_name, algorithm_of
from funcenv.train.presets import PIXEL_PRESETS, PRESETS, preset
from funcenv.train.reports.plots import format_steps
from funcenv.train.runs.best import pick_agent
from funcenv.train.runs.metrics import read_metrics
from funcenv.train.runs.result import solved_updates

DOCS = pathlib.Path(__file__).parent
FILE, PICTURES = DOCS / "returns.json", DOCS / "assets" / "zoo"
NUM_EPISODES = {"random": 1000, "random, slow": 100, "random, slowest": 20, "trained": 100, "trained, short": 1000}
MAX_STEPS = 10_000  # bound on the length of an episode
NUM_POINTS = 60  # points of a learning curve
FROM_PIXELS = " from pixels"  # ends the name of a row: a run with images as observations
_FREE = ("seed", "num_seeds", "eval_every")  # settings in which a run may differ from its preset
PANELS = {
    "classic_control": (
        *("CartPole-v1", "CartPole-v1 with pqn", "CartPole-v1 with dqn", "Pendulum-v1", "Pendulum-v1 with sac"),
        *("MountainCar-v0", "MountainCarContinuous-v0", "MountainCarContinuous-v0 with sac", "Acrobot-v1"),
    ),
    "toy_text": ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1"),
    "mujoco": (
        *("HalfCheetah-v5", "HalfCheetah-v5 with sac", "HalfCheetah-v5 with simba", "Ant-v5", "Ant-v5 with sac"),
        *("Walker2d-v5", "Walker2d-v5 with simba", "Hopper-v5", "Hopper-v5 with simba"),
        *("Humanoid-v5", "HumanoidStandup-v5"),
    ),
    "box2d": ("LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "CarRacing-v3"),
    "arcade": ("arcade/Pong-v0", "arcade/Pong-v0" + FROM_PIXELS, "arcade/Breakout-v0"),
    "minatar": tuple(f"MinAtar/{game}-v1" for game in ("Asterix", "Breakout", "Freeway", "SpaceInvaders", "Seaquest")),
}
"""The rows whose learning curves a picture shows, by the name of its file."""
COLOR = "#c8611a"  # the colour of the curves
MAX_COLUMNS = 4  # the most panels that stand side by side in a picture


def main(arguments: list[str] | None = None) -> None:
    """Measure the chosen rows, and keep the figures of all others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", nargs="*", metavar="ID", help="train with the presets of these ids, or of all")
    parser.add_argument("--runs", nargs="+", default=[], type=pathlib.Path, help="measure the agents of these runs")
    parser.add_argument("--seeds", type=int, default=3, help="number of agents to train")
    parser.add_argument("--folder", type=pathlib.Path, help="where to put the runs; by default they are not kept")
    parser.add_argument("--draw", action="store_true", help="draw the learning curves, and measure nothing")
    options = parser.parse_args(arguments)
    load_entry_points()
    if options.draw:
        draw_pictures(read_rows())
    elif options.runs:
        for folder in options.runs:
            save(row_name(run.read_config(folder)[1]), trained=measure_run(folder))
    else:
        built_in = [spec.id for spec in funcenv.registry.values() if str(spec.entry_point).startswith("funcenv.envs.")]
        for env_id in options.train or built_in:
            best = optimum(env_id)
            save(env_id, random=measure_random(env_id), **({} if best is None else {"optimum": best}))
        with tempfile.TemporaryDirectory() as temporary:
            for env_id in [] if options.train is None else options.train or built_in:
                for name, config in presets_of(env_id).items():
                    folder = train(config, options.folder or pathlib.Path(temporary), options.seeds)
                    save(name, trained=measure_run(folder))


def presets_of(env_id: str) -> dict[str, Any]:
    """Return the configurations of all presets of an id, by the names of their rows.

    >>> list(presets_of("CarRacing-v3")), list(presets_of("Pendulum-v1"))
    (['CarRacing-v3'], ['Pendulum-v1 with sac', 'Pendulum-v1'])
    """
    configs = [
        preset(env_id, algorithm, from_pixels=presets is PIXEL_PRESETS)
        for presets in (PRESETS, PIXEL_PRESETS)
        for algorithm, name in presets
        if name == env_id
    ]
    return {row_name(config): config for config in configs}


def row_name(config: Any) -> str:
    """Return the name of the row of a run: the id, and its differences from `funcenv train ID --algo ppo`.

    >>> row_name(preset("CarRacing-v3")), row_name(preset("arcade/Pong-v0", from_pixels=True))
    ('CarRacing-v3', 'arcade/Pong-v0 from pixels')
    >>> row_name(preset("Pendulum-v1", "sac"))
    'Pendulum-v1 with sac'
    """
    name, algorithm = config.env_id, algorithm_name(algorithm_of(config))
    words = FROM_PIXELS if config.pixels and not preset(name).pixels else ""
    words += "" if algorithm == DEFAULT_ALGORITHM else f" with {algorithm}"
    return f"{name}{words}"


def measure_random(env_id: str) -> list[float]:
    """Return the mean and the standard deviation of the returns of a random policy."""
    env = funcenv.make(env_id)
    kind = "random, slow" if isinstance(env.unwrapped, (Atari, BipedalWalker, CarRacing, SimulatedEnv)) else "random"
    kind = "random, slowest" if isinstance(env.unwrapped, SuiteTask) else kind
    policy = funcenv.random_policy(env)
    played = funcenv.evaluate(env, policy, NUM_EPISODES[kind], funcenv.key(0), max_steps=MAX_STEPS)
    return [round(float(played.mean_return), 4), round(float(played.std_return), 4)]


def optimum(env_id: str) -> float | None:
    """Return the largest mean return that a policy can reach, by value iteration; None without a table of transitions.

    It is the mean over initial states, within the time limit of the id.

    >>> optimum("CliffWalking-v1"), optimum("CartPole-v1")
    (-13.0, None)
    """
    env = funcenv.make(env_id)
    table = getattr(env.unwrapped, "P", None)
    if table is None:
        return None
    num_steps = funcenv.spec(env_id).max_episode_steps or MAX_STEPS

    @jax.jit
    def solve(keys: jax.Array) -> jax.Array:
        def improve(_: Any, values: jax.Array) -> jax.Array:
            return table.action_values(values, discount=1.0).max(axis=1)

        values = jax.lax.fori_loop(0, num_steps, improve, jnp.zeros(env.observation_space.n))
        return values[jax.vmap(lambda key: env.reset(key)[1].observation)(keys)].mean()

    return round(float(solve(jax.random.split(funcenv.key(2), 10_000))), 4)


def train(config: Any, folder: pathlib.Path, num_seeds: int) -> pathlib.Path:
    """Train agents of a configuration side by side, or go on with a run that was stopped; return its folder."""
    folder = folder / row_name(config).replace("/", "-").replace(" ", "-")
    if folder.exists():
        run.resume(folder, replay_episodes=0)
    else:
        run.start(dataclasses.replace(config, num_seeds=num_seeds), folder, replay_episodes=0)
    return folder


def measure_run(folder: pathlib.Path) -> dict[str, Any]:
    """Return the results of a run: the mean return of each of its agents over whole episodes, its cost, and its curve.

    Args:
        folder: The folder of the run, which may have been stopped before its end.
    """
    algorithm, config, _ = run.read_config(folder)
    started_from = preset(config.env_id, algorithm, from_pixels=config.pixels > 0)
    learner, state = run.load(folder)
    agents = learner.agents(state)
    is_short = isinstance(learner.env.unwrapped, CartPole) or hasattr(learner.env.unwrapped, "P")
    num_episodes = NUM_EPISODES["trained, short" if is_short else "trained"]
    played = [
        funcenv.evaluate(learner.env, agent, num_episodes, funcenv.key(0), max_steps=MAX_STEPS)
        for agent in (pick_agent(learner, agents, index) for index in range(config.num_seeds))
    ]
    rows = read_metrics(folder / "metrics.csv")
    rows = rows[: len(rows) // config.num_seeds * config.num_seeds]
    returns = np.array([float(row["mean_return"]) for row in rows]).reshape(-1, config.num_seeds)
    first = rows[:: config.num_seeds]
    steps = np.array([int(row["env_steps"]) for row in first])
    is_solved = solved_updates(returns, funcenv.spec(config.env_id).reward_threshold)
    known = np.flatnonzero(~np.isnan(returns).any(axis=1))
    kept = known[np.unique(np.linspace(0, len(known) - 1, NUM_POINTS).astype(int))]
    compile_seconds, cpu_seconds = costs(first)
    return {
        "algorithm": algorithm,
        "other_settings": {
            name: value
            for name, value in dataclasses.asdict(config).items()
            if name not in _FREE and value != getattr(started_from, name)
        },
        "planned_steps": config.total_timesteps,
        "steps": int(steps[-1]),
        "episodes": num_episodes,
        "returns": [round(float(one.mean_return), 4) for one in played],
        "deviations": [round(float(one.std_return), 4) for one in played],
        "solved_at": int(steps[is_solved.argmax()]) if is_solved.any() else None,
        "compile_seconds": compile_seconds,
        "cpu_seconds": cpu_seconds,
        "curve_steps": steps[kept].tolist(),
        "curve_returns": [[float(f"{value:.4g}") for value in point] for point in returns[kept]],
        "curve_cpu_seconds": [round(float(first[index]["cpu_seconds"]), 1) for index in kept],
    }


def costs(rows: list[dict[str, str]]) -> tuple[float, float]:
    """Return the CPU seconds before training began, which is mostly compilation, and those of the whole run.

    The first call is taken to train as fast as the median of the others.

    Args:
        rows: A row of metrics for each update; the updates of one compiled call have the same times.

    >>> row = lambda seconds: {"cpu_seconds": str(seconds)}
    >>> costs([row(12.0), row(16.0), row(16.0), row(18.0)])
    (10.0, 18.0)
    """
    clock = np.array([float(row["cpu_seconds"]) for row in rows])
    ends = np.flatnonzero(np.append(clock[1:] != clock[:-1], True))  # the last update of each call
    per_update = np.diff(clock[ends]) / np.diff(ends)
    training = float((ends[0] + 1) * np.median(per_update)) if len(per_update) else 0.0
    return round(float(max(clock[0] - training, 0)), 1), round(float(clock[-1]), 1)


def read_rows() -> dict[str, dict[str, Any]]:
    """Return the measured figures, by the names of rows."""
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return rows


def save(name: str, **figures: Any) -> None:
    """Merge figures of a row into the file, which has one line for each."""
    rows = read_rows()
    rows.setdefault(name, {}).update(figures)
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items()) + "\n}\n")
    shown = {figure: value for figure, value in figures.get("trained", {}).items() if not figure.startswith("curve")}
    print(name, shown or figures, flush=True)


def draw_pictures(rows: dict[str, dict[str, Any]]) -> None:
    """Draw the learning curves of the rows in `PANELS` that have one."""
    from matplotlib.figure import Figure

    PICTURES.mkdir(parents=True, exist_ok=True)
    for picture, names in PANELS.items():
        shown = [name for name in names if "curve_steps" in rows.get(name, {}).get("trained", {})]
        if not shown:
            continue
        num_rows = -(-len(shown) // MAX_COLUMNS)
        num_columns = -(-len(shown) // num_rows)
        figure = Figure(figsize=(3.4 * num_columns, 2.9 * num_rows), dpi=150, layout="constrained")
        panels = figure.subplots(num_rows, num_columns, squeeze=False).ravel()
        for axes, name in zip(panels, shown, strict=False):
            draw_curve(axes, name, rows[name]["trained"])
        for axes in panels[len(shown) :]:
            axes.remove()
        figure.savefig(PICTURES / f"{picture}.png")


def draw_curve(axes: Any, name: str, row: dict[str, Any]) -> None:
    """Draw the mean return of every agent against its steps, their mean, and the threshold if it is near."""
    from matplotlib.patheffects import withStroke

    steps, returns = np.array(row["curve_steps"]), np.array(row["curve_returns"])
    if returns.shape[1] > 1:
        axes.plot(steps, returns, color=COLOR, alpha=0.3, linewidth=0.8)
    axes.plot(steps, returns.mean(axis=1), color=COLOR, linewidth=2)
    threshold = funcenv.spec(name.partition(" ")[0]).reward_threshold
    if threshold is not None and threshold < 1.4 * returns.max():
        axes.axhline(threshold, color="#999999", linestyle=(0, (4, 3)), linewidth=1)
        style: dict[str, Any] = {"ha": "left", "va": "bottom", "fontsize": 8, "color": "#666666"}
        axes.margins(y=0.12)
        label = axes.text(0.01, threshold, f"solved: {threshold:g}", transform=axes.get_yaxis_transform(), **style)
        label.set_path_effects([withStroke(linewidth=3, foreground="white")])  # readable over a curve
    agents = "1 agent" if returns.shape[1] == 1 else f"{returns.shape[1]} agents"
    axes.set_title(f"{name}\n{agents}, {row['cpu_seconds']:.0f} CPU-s", fontsize=9, loc="left")
    axes.set(xlabel="environment steps of each agent", ylabel="return, last 100 episodes", xlim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: format_steps(value))
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()

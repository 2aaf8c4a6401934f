"""Measures the returns that the pages of the environments and docs/zoo.md show, and writes them to docs/returns.json.

python docs/measure_returns.py                         random policies
python docs/measure_returns.py --train [ID ...]        agents of all presets as well, of all ids or of some
python docs/measure_returns.py --runs FOLDER [...]     agents of runs that there are, such as those of `funcenv train`
python docs/measure_returns.py --add --runs FOLDER [...]  the same, and keep the agents that the row has: more seeds
python docs/measure_returns.py --benchmarks FOLDER [...]  the results of `funcenv benchmark`, as they are
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
from funcenv.envs.atari import Atari
from funcenv.envs.box2d import BipedalWalker, CarRacing
from funcenv.envs.classic_control import CartPole
from funcenv.envs.dm_control.suite_task import SuiteTask
from funcenv.envs.mujoco.simulated_env import SimulatedEnv
from funcenv.train import run
from funcenv.train.algorithm import DEFAULT_ALGORITHM, algorithm_name, algorithm_of
from funcenv.train.benchmark import read_benchmark
from funcenv.train.presets import PIXEL_PRESETS, PRESETS, preset
from funcenv.train.reports import measured
from funcenv.train.reports.panels import draw_learning_curves
from funcenv.train.suites import SUITES

DOCS = pathlib.Path(__file__).parent
FILE, PICTURES = DOCS / "returns.json", DOCS / "assets" / "zoo"
NUM_EPISODES = {"random": 1000, "random, slow": 100, "random, slowest": 20, "trained": 100, "trained, short": 1000}
MAX_STEPS = 10_000  # bound on the length of an episode
CUT_STEPS = {"MinAtar/": 1000}  # where other packages stop games that have no limit; gymnax does so in MinAtar's
FROM_PIXELS = " from pixels"  # ends the name of a row: a run with images as observations
PANELS = {
    "classic_control": (
        *("CartPole-v1", "CartPole-v1 with pqn", "CartPole-v1 with dqn", "Pendulum-v1", "Pendulum-v1 with sac"),
        *("MountainCar-v0", "MountainCarContinuous-v0", "MountainCarContinuous-v0 with sac", "Acrobot-v1"),
    ),
    "toy_text": ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1"),
    "mujoco": (
        *("HalfCheetah-v5", "HalfCheetah-v5 with sac", "HalfCheetah-v5 with simba", "Ant-v5", "Ant-v5 with sac"),
        "Ant-v5 with simba",
        *("Walker2d-v5", "Walker2d-v5 with sac", "Walker2d-v5 with simba", "Hopper-v5", "Hopper-v5 with simba"),
        *("Humanoid-v5", "Humanoid-v5 with simba", "HumanoidStandup-v5"),
        *("Swimmer-v5", "Swimmer-v5 with sac", "Swimmer-v5 with ars", "Reacher-v5", "Reacher-v5 with sac"),
    ),
    "box2d": (
        *("LunarLander-v3", "LunarLander-v3 with dqn"),
        *("LunarLanderContinuous-v3", "LunarLanderContinuous-v3 with tqc"),
        *("BipedalWalker-v3", "BipedalWalker-v3 with simba", "BipedalWalkerHardcore-v3 with simba", "CarRacing-v3"),
    ),
    "arcade": ("arcade/Pong-v0", "arcade/Pong-v0 with dqn", "arcade/Pong-v0" + FROM_PIXELS, "arcade/Breakout-v0"),
    "atari": ("ALE/Pong-v5", "ALE/Breakout-v5", "ALE/Freeway-v5", "ALE/Boxing-v5"),
    "dm_control": tuple(f"{env_id} with simba" for env_id in SUITES["dm_control"]),
    "minatar": tuple(f"MinAtar/{game}-v1" for game in ("Asterix", "Breakout", "Freeway", "SpaceInvaders", "Seaquest")),
}
"""The rows whose learning curves a picture shows, by the name of its file."""


def main(arguments: list[str] | None = None) -> None:
    """Measure the chosen rows, and keep the figures of all others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--train", nargs="*", metavar="ID", help="train with the presets of these ids, or of all")
    parser.add_argument("--runs", nargs="+", default=[], type=pathlib.Path, help="measure the agents of these runs")
    parser.add_argument("--add", action="store_true", help="let the agents of --runs join those that were measured")
    parser.add_argument("--benchmarks", nargs="+", default=[], type=pathlib.Path, help="take the results of these")
    parser.add_argument("--seeds", type=int, default=3, help="number of agents to train")
    parser.add_argument("--folder", type=pathlib.Path, help="where to put the runs; by default they are not kept")
    parser.add_argument("--draw", action="store_true", help="draw the learning curves, and measure nothing")
    options = parser.parse_args(arguments)
    if options.add and not options.runs:
        parser.error("--add has no agents to add; name their runs by --runs")
    if options.draw:
        draw_pictures(read_rows())
    elif options.benchmarks:
        for folder in options.benchmarks:
            for result in read_benchmark(folder)[1].values():
                save(named(result.pop("env_id"), result["algorithm"]), trained=without_episodes(result))
    elif options.runs:
        for folder in options.runs:
            algorithm, config, _ = run.read_config(folder)
            name = row_name(config)
            present = read_rows().get(name, {}).get("trained") if options.add else None
            if present is not None:
                settings = {**measured.settings(algorithm, config), "episodes": num_episodes_of(config)}
                require_same_settings(present, settings)  # before it is measured, which takes longest
            trained = measure_run(folder)
            save(name, trained=trained if present is None else joined(present, trained))
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
    is_from_pixels = config.pixels and not preset(config.env_id).pixels
    return named(config.env_id, algorithm_name(algorithm_of(config)), FROM_PIXELS if is_from_pixels else "")


def named(env_id: str, algorithm: str, words: str = "") -> str:
    """Return the name of the row of an id and an algorithm.

    >>> named("Pendulum-v1", "sac")
    'Pendulum-v1 with sac'
    """
    return f"{env_id}{words}" + ("" if algorithm == DEFAULT_ALGORITHM else f" with {algorithm}")


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
    """Return the results of a run, which may have been stopped before its end; "cut" has those of shorter episodes."""
    config = run.read_config(folder)[1]
    num_episodes = num_episodes_of(config)
    result = without_episodes(measured.measure_run(folder, num_episodes, MAX_STEPS))
    for begin, num_steps in CUT_STEPS.items():
        if config.env_id.startswith(begin):
            cut = measured.measure_run(folder, num_episodes, num_steps)
            result["cut"] = {"max_steps": num_steps, "returns": cut["returns"], "deviations": cut["deviations"]}
    return result


def num_episodes_of(config: Any) -> int:
    """Return the number of episodes over which the agents of a run are measured.

    >>> num_episodes_of(preset("CartPole-v1")), num_episodes_of(preset("Pendulum-v1"))
    (1000, 100)
    """
    env = config.make_env()
    is_short = isinstance(env.unwrapped, CartPole) or hasattr(env.unwrapped, "P")
    return NUM_EPISODES["trained, short" if is_short else "trained"]


def require_same_settings(row: dict[str, Any], more: dict[str, Any]) -> None:
    """Raise if a run has other settings than the agents of a row.

    >>> row = {"algorithm": "ppo", "other_settings": {}, "planned_steps": 8, "episodes": 100}
    >>> require_same_settings(row, {**row, "planned_steps": 16})
    Traceback (most recent call last):
    ...
    ValueError: the run differs from the row in planned_steps; measure it without --add
    """
    differing = [
        name for name in ("algorithm", "other_settings", "planned_steps", "episodes") if row[name] != more[name]
    ]
    if differing:
        raise ValueError(f"the run differs from the row in {', '.join(differing)}; measure it without --add")


def joined(row: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a row with the agents of one more run of the same settings.

    The curves of the run are read at the steps of the row's. Evaluations during the runs are kept if both were
    evaluated at the same steps, over as many episodes.

    Raises:
        ValueError: The run has other settings, or its agents are in the row.
    """
    require_same_settings(row, more)

    def at_steps(values: Any) -> Any:
        return np.interp(row["curve_steps"], more["curve_steps"], values)

    # Agents are known by their curves: different ones may end with the same return, such as the largest there is.
    present = np.round(row["curve_returns"], 4)
    curves = np.round(np.stack([at_steps(agent) for agent in np.transpose(more["curve_returns"])], axis=1), 4)
    if (present[:, :, None] == curves[:, None, :]).all(0).any():
        raise ValueError("the row has the agents of this run; add a run with another --seed")
    solved = [row["solved_at"], more["solved_at"]]
    result = {
        **row,
        "steps": min(row["steps"], more["steps"]),
        "returns": row["returns"] + more["returns"],
        "deviations": row["deviations"] + more["deviations"],
        "solved_at": None if None in solved else max(solved),
        "compile_seconds": round(row["compile_seconds"] + more["compile_seconds"], 1),
        "cpu_seconds": round(row["cpu_seconds"] + more["cpu_seconds"], 1),
        "curve_returns": np.concatenate([present, curves], axis=1).tolist(),
        "curve_cpu_seconds": np.round(row["curve_cpu_seconds"] + at_steps(more["curve_cpu_seconds"]), 1).tolist(),
    }
    first, second = result.pop(measured.EVALUATIONS, None), more.get(measured.EVALUATIONS)
    if first and second and all(first[name] == second[name] for name in ("episodes", "steps")):
        returns = [one + other for one, other in zip(first["returns"], second["returns"], strict=True)]
        result[measured.EVALUATIONS] = {**first, "returns": returns}
    if "cut" in row:
        result["cut"] = {
            **row["cut"],
            **{name: row["cut"][name] + more["cut"][name] for name in ("returns", "deviations")},
        }
    return result


def without_episodes(result: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a run without those of each episode."""
    return {name: value for name, value in result.items() if name != measured.EPISODES}


def read_rows() -> dict[str, dict[str, Any]]:
    """Return the measured figures, by the names of rows."""
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return rows


def save(name: str, **figures: Any) -> None:
    """Merge figures of a row into the file, which has one line for each."""
    rows = read_rows()
    rows.setdefault(name, {}).update(figures)
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items()) + "\n}\n")
    shown = {
        figure: value
        for figure, value in figures.get("trained", {}).items()
        if not figure.startswith(("curve", measured.EVALUATIONS))
    }
    print(name, shown or figures, flush=True)


def draw_pictures(rows: dict[str, dict[str, Any]]) -> None:
    """Draw the learning curves of the rows in `PANELS` that have one."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for picture, names in PANELS.items():
        shown = {
            name: rows[name]["trained"] for name in names if "curve_steps" in rows.get(name, {}).get("trained", {})
        }
        if shown:
            draw_learning_curves(PICTURES / f"{picture}.png", shown)


if __name__ == "__main__":
    main()

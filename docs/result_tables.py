"""The results on the site, all from returns.json: returns on the pages of environments, and the zoo by family."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from environment_list import PACKAGE, by_family
from environment_tables import or_dash

import funcenv
from funcenv.train.reports.aggregate import bootstrap_interval, interquartile_mean
from funcenv.train.runs.zoo import zoo_agents

DOCS = pathlib.Path(__file__).parent
RETURNS = DOCS / "returns.json"  # docs/measure_returns.py writes it
HEAD = "id | algorithm | agents | steps of each | return [95% interval] | goal | reached | CPU‑s"

AIMS = {
    "Acrobot-v1": -70,
    "HalfCheetah-v5 with sac": 11_000,
    "Ant-v5 with simba": 5_500,
    "Walker2d-v5 with simba": 5_000,
    "Hopper-v5 with simba": 3_300,
    "Humanoid-v5 with simba": 5_500,
    "Swimmer-v5 with ars": 340,
    "Reacher-v5 with sac": -3,
    "Pusher-v5": -25,
    "BipedalWalker-v3 with simba": 320,
    "BipedalWalkerHardcore-v3 with simba": 200,
    "LunarLander-v3 with dqn": 265,
    "LunarLanderContinuous-v3 with tqc": 275,
    "CarRacing-v3": 905,
    "arcade/Breakout-v0": 300,
    "arcade/Pong-v0 with dqn": 20,
    "ALE/Pong-v5": 20,
}
"""The mean returns that agents were to reach, by the names of their rows in returns.json."""


def returns_table(specs: Sequence[funcenv.EnvSpec]) -> str:
    """Return a table of what a random policy and trained agents reach; nothing if no id was measured."""
    measured = _measured()
    rows = []
    for spec in specs:
        if spec.id in measured:
            row = measured[spec.id]
            trained = f"`funcenv train {spec.id}`"
            if "trained" in row:
                count = len(row["trained"]["returns"])
                agents = "1 agent" if count == 1 else f"{count} agents"
                trained = f"{return_of(row['trained'])} of {agents} after {row['trained']['steps']:,} steps"
            rows.append(f"| `{spec.id}` | {mean_and_deviation(row['random'])} | {trained} |")
    note = (
        "The random policy has the mean and the standard deviation of 1000 episodes (100 for MuJoCo and Atari, 20 for "
        "dm_control). The trained agents are those of [the zoo](../zoo.md), which explains their figures. An episode "
        "without a time limit is cut after 10,000 steps."
    )
    head = ["| id | random policy | trained with the preset |", "|---|---|---|"]
    return "\n".join([note, "", *head, *rows]) if rows else ""


def zoo(family: str, package: str = PACKAGE) -> str:
    """Return the learning curves of a family's presets, and a table of their results with a row or more for each id."""
    measured = _measured()
    rows = [f"| {HEAD} |", "|" + "---|" * len(HEAD.split(" | "))]
    for page in by_family(package)[family]:
        for spec in page.specs:
            rows += [zoo_row(spec, measured.get(spec.id, {}))]
            others = [name for name in measured if name.startswith(f"{spec.id} ")]  # such as "ID from pixels"
            rows += [zoo_row(spec, measured[name], name.removeprefix(spec.id)) for name in others]
    picture = f"assets/zoo/{family.lower().replace(' ', '_')}.png"
    curves = [f"![Learning curves: {family}]({picture}){{ .figure }}", ""] if (DOCS / picture).exists() else []
    return "\n".join([*curves, '<div class="zoo" markdown="1">', "", *rows, "", "</div>"])


def zoo_row(spec: funcenv.EnvSpec, measured: dict[str, Any], words: str = "") -> str:
    """Return the row of an id.

    Args:
        spec: the id.
        measured: its figures in docs/returns.json: "trained", if its preset was measured, and "optimum", if it
            has a table of transitions.
        words: the text that follows the id in the name of the row, such as " from pixels".
    """
    trained, best, threshold = measured.get("trained"), measured.get("optimum"), spec.reward_threshold
    goals = [
        *([] if threshold is None else [f"{threshold:g}"]),
        *([] if best is None else [f"{figure(best)} (optimum)"]),
    ]
    goal = " or ".join(goals) or "-"
    if trained is None:
        return f"| `{spec.id}` | - | - | - | not measured | {goal} | - | - |"
    mean = float(interquartile_mean(np.array(trained["returns"])[:, None]))
    steps = f"{trained['steps']:,}"
    if trained["steps"] < 0.9 * trained["planned_steps"]:  # the rest of whole batches is less
        steps += f" of {trained['planned_steps']:,}"
    if trained["other_settings"]:
        settings = (f"`{name}={value}`" for name, value in trained["other_settings"].items())
        steps += f", with {', '.join(settings)}"
    is_near = best is not None and mean >= best - 0.01 * abs(best)
    is_solved = is_near or (threshold is not None and mean >= threshold)
    solved = "-" if not goals else "yes" if is_solved else "no"
    solved += f", at {trained['solved_at']:,}" if is_solved and trained["solved_at"] else ""
    name, algorithm = f"`{spec.id}`{words.partition(' with ')[0]}", trained["algorithm"].upper()
    cells = [name, algorithm, str(len(trained["returns"])), steps, return_of(trained), goal, solved]
    return f"| {' | '.join([*cells, or_dash(trained['cpu_seconds'])])} |"


def agents() -> str:
    """Return a table of the agents that come with the package."""
    rows = ["| name | algorithm | steps | return | goal |", "|---|---|---|---|---|"]
    for env_id, agent in zoo_agents().items():
        results, threshold = agent["results"], funcenv.spec(env_id).reward_threshold
        reached = f"{figure(results['mean_return'])} ± {figure(results['std_return'])}"
        goal = "-" if threshold is None else f"{threshold:g}"
        rows.append(f"| `zoo/{env_id}` | {agent['algorithm'].upper()} | {results['steps']:,} | {reached} | {goal} |")
    return "\n".join(rows)


def aims() -> str:
    """Return a table of the mean returns of agents beside those that they were to reach."""
    rows = [
        "| id | algorithm | agents | steps of each | mean return | aim | reached |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, aim in AIMS.items():
        trained = _trained(name)
        mean, count = float(np.mean(trained["returns"])), len(trained["returns"])
        cells = [f"`{name.partition(' ')[0]}`", trained["algorithm"].upper(), str(count), f"{trained['steps']:,}"]
        rows.append(f"| {' | '.join([*cells, figure(mean), f'{aim:,}', 'yes' if mean >= aim else 'no'])} |")
    return "\n".join(rows)


def result(name: str) -> str:
    """Return the mean return and its deviation between the episodes of an agent, of a row in returns.json.

    >>> result("HalfCheetah-v5").count(" ± ")
    1
    """
    trained = _trained(name)
    mean, deviation = float(np.mean(trained["returns"])), float(np.mean(trained["deviations"]))
    return f"{figure(mean)} ± {deviation:,.0f}"


def cost(name: str) -> str:
    """Return the CPU-seconds of each agent of a row in returns.json.

    >>> int(cost("HalfCheetah-v5")) > 0
    True
    """
    trained = _trained(name)
    return f"{trained['cpu_seconds'] / len(trained['returns']):,.0f}"


def extent(name: str) -> str:
    """Return the numbers of agents and of steps of a row in returns.json.

    >>> extent("Hopper-v5")
    '3 agents, 3M steps'
    """
    trained = _trained(name)
    count, steps = len(trained["returns"]), round(trained["steps"], -4) or trained["steps"]
    return f"{count} agent{'s' if count > 1 else ''}, {f'{steps / 1e6:g}M' if steps >= 1e6 else f'{steps:,}'} steps"


def interval(name: str) -> str:
    """Return the interquartile mean of the agents of a row in returns.json, with its interval.

    >>> interval("CartPole-v1").count(", ")
    1
    """
    return return_of(_trained(name))


def cut(name: str) -> str:
    """Return the same of the first steps of each episode, as many as the row says.

    >>> cut("MinAtar/Freeway-v1").count(", ")
    1
    """
    return return_of(_trained(name)["cut"])


def evaluation(name: str, num_steps: int) -> str:
    """Return the mean return that the agents of a row in returns.json had after a number of steps of the run.

    It is that of the first evaluation after as many steps.

    Raises:
        ValueError: The agents were not evaluated within 1% more steps.
    """
    evaluations = _trained(name)["evaluations"]
    for steps, returns in zip(evaluations["steps"], evaluations["returns"], strict=True):
        if num_steps <= steps <= 1.01 * num_steps:
            return figure(float(np.mean(returns)))
    raise ValueError(
        f"{name} was not evaluated after {num_steps:,} steps; docs/returns.json has {evaluations['steps']}"
    )


def with_figures(markdown: str) -> str:
    """Replace the markers of a page by figures of a row in returns.json.

    They are such as `<!-- result: Ant-v5 -->`, and `<!-- after 500000: Ant-v5 with simba -->` for an evaluation during
    the run.
    """
    figures = {"result": result, "interval": interval, "cut": cut, "cost": cost, "extent": extent}

    def shown(marker: re.Match[str]) -> str:
        kind, num_steps, name = marker.groups()
        return evaluation(name, int(num_steps)) if num_steps else figures[kind](name)

    return re.sub(rf"<!-- ({'|'.join(figures)}|after (\d+)): (.+?) -->", shown, markdown)


def _measured() -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(RETURNS.read_text())
    return rows


def _trained(name: str) -> dict[str, Any]:
    row: dict[str, Any] = _measured()[name]["trained"]
    return row


def return_of(trained: dict[str, Any]) -> str:
    """Return the interquartile mean of the agents' mean returns, with its interval if there are several.

    >>> return_of({"returns": [480.0, 490.0, 500.0]}), return_of({"returns": [3631.94]})
    ('490.0 [480.0, 500.0]', '3,632')
    """
    scores = np.array(trained["returns"])[:, None]
    mean = figure(float(interquartile_mean(scores)))
    low, high = bootstrap_interval(interquartile_mean, scores)
    return mean if len(scores) == 1 else f"{mean} [{figure(low)}, {figure(high)}]"


def figure(value: float) -> str:
    """Return a return with three digits or all before the point.

    >>> figure(3631.94), figure(0.7123), figure(-13.0)
    ('3,632', '0.71', '-13.0')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def mean_and_deviation(pair: list[float]) -> str:
    """Return a mean with its standard deviation.

    >>> mean_and_deviation([-123.456, 7.891]), mean_and_deviation([0.0151, 0.12])
    ('-123.5 ± 7.9', '0.015 ± 0.120')
    """
    digits = 1 if abs(pair[0]) >= 10 or pair[1] >= 10 else 2 if abs(pair[0]) >= 0.1 else 3
    return f"{pair[0]:.{digits}f} ± {pair[1]:.{digits}f}"

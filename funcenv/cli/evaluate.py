"""The command `funcenv evaluate RUN`, which plays whole episodes with the agents of a run."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from funcenv.checks import require_size
from funcenv.cli.flags import Threads, TrustCode, Word, read
from funcenv.counted import counted
from funcenv.files import write_text
from funcenv.func_env import AnyEnv
from funcenv.printable import printable
from funcenv.train.runs.final import agent_figures, read_final
from funcenv.train.runs.metrics import format_return
from funcenv.train.runs.policy import load_agents
from funcenv.wrappers.finite_levels import FiniteLevels, in_levels


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(Threads, TrustCode):
    """Play whole episodes with the newest agents of a run, or its best."""

    run: Annotated[str, Word("RUN")]
    """the folder of a run"""
    num_episodes: int = 100
    """episodes of each of the run's agents"""
    seed: int = 0
    """seed of the episodes"""
    best: bool = False
    """evaluate the best agents of the run instead of the newest"""
    explore: bool = False
    """sample actions from the policy instead of taking the most likely ones"""
    max_steps: int = 100_000
    """where to stop episodes that do not end"""
    levels: Annotated[str | None, "FILE"] = None
    """file of levels in which the episodes take place, such as test levels, in place of those of the run"""
    quiet: bool = False
    """print the last line only, with the mean over all agents"""
    json: Annotated[str | None, "FILE"] = None
    """file for all results, "-" for standard output instead of the text"""


def run(arguments: Sequence[str]) -> int:
    """Evaluate the run that the arguments name, and return the exit status."""
    evaluate_run(read("evaluate", Options, arguments))
    return 0


def evaluate_run(options: Options) -> dict[str, Any]:
    """Evaluate all agents of a run, print what they reach, and return it.

    Returns:
        The contents of the JSON file: settings of the evaluation, a list "agents" with the episodes of each agent and
        their summary, and the mean over agents with its standard deviation (of a sample, null for a single agent).

    Raises:
        FileNotFoundError: There is no run, or no folder for the file.
    """
    folder = pathlib.Path(options.run)
    require_size("num_episodes", options.num_episodes)
    if options.json not in (None, "-") and not pathlib.Path(options.json).parent.is_dir():
        raise FileNotFoundError(f"--json: there is no folder {pathlib.Path(options.json).parent}; make it first")
    learner, agents = load_agents(folder, best=options.best, explore=options.explore, trust_code=options.trust_code)
    env = learner.env if options.levels is None else _in_other_levels(learner.env, options.levels)
    config, text = learner.config, sys.stderr if options.json == "-" else sys.stdout
    if not options.quiet:
        begins = f"evaluating {counted(options.num_episodes, 'episode')} of each agent of {folder}"
        print(printable(begins), file=sys.stderr, flush=True)
    results = []
    played = agent_figures(learner, agents, options.num_episodes, options.seed, options.max_steps, env)
    for index, figures in enumerate(played):
        results.append(figures)
        name = config.env_id + (f" agent {index}" if config.num_seeds > 1 else "")
        if not options.quiet or config.num_seeds == 1:
            print(f"{name}: {agent_line(figures, options.explore)}", file=text, flush=True)
    means = np.array([agent["mean_return"] for agent in results])
    deviation = float(means.std(ddof=1)) if len(results) > 1 else None
    if deviation is not None:
        print(
            f"all {len(results)} agents: return {format_return(means.mean())} +- {format_return(deviation)} between "
            f"agents (worst {format_return(means.min())}, best {format_return(means.max())})",
            file=text,
        )
    if not options.quiet:
        for note in _notes(options, folder, results):
            print(printable(note), file=text)
    report = {
        "run": str(folder),
        "env": config.env_id,
        "num_episodes": options.num_episodes,
        "seed": options.seed,
        "levels": options.levels or config.levels or None,
        "best": options.best,
        "explore": options.explore,
        "max_steps": options.max_steps,
        "mean_return": float(means.mean()),
        "std_between_agents": deviation,
        "agents": results,
    }
    if options.json == "-":
        print(json.dumps(report, indent=2))
    elif options.json is not None:
        write_text(options.json, json.dumps(report, indent=2) + "\n")
        if not options.quiet:
            print(printable(f"written to {options.json}"))
    return report


def _notes(options: Options, folder: pathlib.Path, agents: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what there is to say of the episodes of all agents."""
    unfinished = sum(agent["num_unfinished"] for agent in agents)
    if unfinished:
        yield (
            f"{unfinished} of {len(agents) * options.num_episodes} episodes did not end within {options.max_steps:,} "
            "steps, and count with their returns so far; --max-steps sets where to stop"
        )
    if not options.explore and options.levels is None and (hint := _exploring_hint(folder, agents)):
        yield hint


def _exploring_hint(folder: pathlib.Path, agents: Sequence[dict[str, Any]]) -> str | None:
    """Return a hint if the agents do clearly better where they explore, as they did in training."""
    final = read_final(folder)
    if final is None:
        return None
    greedy, exploring = np.mean([agent["mean_return"] for agent in agents]), float(np.mean(final.exploring))
    error = np.mean([agent["std_return"] / np.sqrt(len(agent["returns"])) for agent in agents])
    if exploring <= greedy + 3 * error:
        return None
    return (
        f"these are the most likely actions; agents that explore, as in training, reach {format_return(exploring)}: "
        f"funcenv evaluate {folder} --explore"
    )


def _in_other_levels(env: AnyEnv, path: str) -> AnyEnv:
    """Return an environment in the levels of a file, and say if it was trained in one of them."""
    if not isinstance(env, FiniteLevels):
        return in_levels(env, path)
    other = in_levels(env.env, path)
    try:
        env.levels.require_disjoint(other.levels)
    except ValueError as error:
        print(printable(f"note: {error}"), file=sys.stderr, flush=True)
    return other


def agent_line(agent: dict[str, Any], explore: bool) -> str:
    """Return the line that is printed for an agent, given its figures; how episodes ended adds up to their number."""
    unfinished, terminated, truncated = (agent[f"num_{name}"] for name in ("unfinished", "terminated", "truncated"))
    both = unfinished + terminated + truncated - len(agent["returns"])
    ends = {"terminated": terminated - both, "truncated": truncated - both, "both": both, "unfinished": unfinished}
    ends = {name: number for name, number in ends.items() if number or name in ("terminated", "truncated")}
    figures = [format_return(agent[f"{figure}_return"]) for figure in ("mean", "std", "min", "max")]
    success = f"success {agent['success_rate']:.2f}, " if "success_rate" in agent else ""
    return (
        f"{'exploring' if explore else 'greedy'} return {figures[0]} +- {figures[1]} "
        f"(min {figures[2]}, max {figures[3]}), length {agent['mean_length']:.1f}, {success}"
        f"{counted(len(agent['returns']), 'episode')}: {', '.join(f'{number} {name}' for name, number in ends.items())}"
    )

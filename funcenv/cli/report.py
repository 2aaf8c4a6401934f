"""The command `funcenv report RUN ...`, which writes one page on several runs."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import webbrowser
from collections.abc import Sequence
from typing import Annotated

from funcenv.cli.flags import Threads, TrustCode, Word, read
from funcenv.counted import counted
from funcenv.display import has_display
from funcenv.files import write_text
from funcenv.printable import printable
from funcenv.random import key
from funcenv.replay import can_draw
from funcenv.replay.record import record
from funcenv.replay.replay import Replay
from funcenv.train.reports.comparison import Method, group_runs, read_run
from funcenv.train.reports.page import build_report
from funcenv.train.runs.best import pick_agent
from funcenv.train.runs.policy import load_agents


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(Threads, TrustCode):
    """Write one page on runs: learning curves, differences, cost, and the best and worst episodes."""

    runs: Annotated[tuple[str, ...], Word("RUN")]
    """the folders of runs"""
    output: Annotated[str, "FILE"] = "report.html"
    """file to write"""
    replay_episodes: int = 16
    """episodes of each agent, of which the best and the worst are shown; 0 for none"""
    max_steps: int = 1000
    """largest number of steps in an episode"""
    seed: int = 0
    """seed of the episodes"""
    best: bool = False
    """play the best agents of the runs instead of the newest"""
    open: bool = True
    """open the page in a browser, if there is a display"""


def run(arguments: Sequence[str]) -> int:
    """Write the report that the arguments ask for, and return the exit status."""
    write_report(read("report", Options, arguments))
    return 0


def write_report(options: Options) -> pathlib.Path:
    """Write a page that loads nothing from the network: curves, differences, cost, best and worst episodes.

    Raises:
        FileNotFoundError: A folder holds no run, or there is no folder for the page.
        ValueError: No episode has ended in a run.
    """
    path = pathlib.Path(options.output)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--output: there is no folder {path.parent}; make it first")
    methods = group_runs(read_run(folder, trust_code=options.trust_code) for folder in options.runs)
    replays = []
    for method in methods if options.replay_episodes else ():
        print(
            printable(f"playing {counted(options.replay_episodes, 'episode')} of each agent of {method.label}"),
            file=sys.stderr,
            flush=True,
        )
        replays.append((method.label, _extreme_episodes(method, options)))
    text = build_report(methods, [(label, replay) for label, replay in replays if replay is not None])
    write_text(path, text)
    print(printable(f"report on {counted(len(options.runs), 'run')}: {path}"))
    if options.open and has_display():
        webbrowser.open(path.resolve().as_uri())
    return path


def _extreme_episodes(method: Method, options: Options) -> Replay | None:
    """Return the best and the worst episode of the agents of a method's first run, or None if there is no scene."""
    learner, agents = load_agents(method.runs[0].folder, best=options.best, trust_code=options.trust_code)
    if not can_draw(learner.env):
        return None
    episodes = []
    for index in range(learner.config.num_seeds):
        agent = pick_agent(learner, agents, index)
        replay = record(
            learner.env, agent, key(options.seed), options.replay_episodes, max_steps=options.max_steps, title="of 1"
        )
        name = f", agent {index}" if learner.config.num_seeds > 1 else ""
        episodes += [dataclasses.replace(episode, title=name) for episode in replay.episodes]
    ranked = sorted(episodes, key=lambda episode: episode.episode_return)
    shown = [("Best", ranked[-1]), ("Worst", ranked[0])]
    titled = [dataclasses.replace(episode, title=f"{name}{episode.title}") for name, episode in shown]
    return Replay(tuple(titled), replay.fps, f"{method.label}: best and worst of {counted(len(episodes), 'episode')}")

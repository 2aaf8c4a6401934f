"""`funcenv replay RUN`: episodes of a trained agent, as a page that a browser opens."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import webbrowser
from typing import Any

import funcenv
from funcenv.display import has_display
from funcenv.replay.files import require_destination
from funcenv.replay.record import record
from funcenv.replay.replay import Replay

PAGE = "replay.html"


@dataclasses.dataclass(frozen=True)
class ReplayOptions:
    """Which episodes are shown, and where."""

    num_episodes: int = 4
    """episodes, side by side"""
    seed: int = 0
    """of the episodes"""
    agent: int = 0
    """which of the run's agents, where it trained several seeds"""
    explore: bool = False
    """draw actions from the policy, instead of taking the likeliest"""
    max_steps: int = 1000
    """stop an episode here, even if it has not ended"""
    save: str | None = None
    """a file instead of replay.html in the folder of the run: .html, .gif, .webp or .mp4"""
    open: bool = True
    """show the page in a browser, where there is a display"""
    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all"""


def show_run(folder: str | os.PathLike[str], options: ReplayOptions) -> Replay:
    """Play episodes with the newest checkpoint of a run, write them, and open the page.

    Raises:
        FileNotFoundError: there is no run, or no folder for the file.
        ValueError: there is no such agent, or a file cannot have this suffix.
    """
    from funcenv.train.run import load

    folder = pathlib.Path(folder)
    learner, state = load(folder)
    path = require_destination(folder / PAGE if options.save is None else options.save)
    replay = record_agent(
        learner,
        state,
        options.num_episodes,
        seed=options.seed,
        agent=options.agent,
        explore=options.explore,
        max_steps=options.max_steps,
    )
    replay.save(path)
    returns = ", ".join(f"{value:.1f}" for value in replay.episode_return)
    print(f"{replay.title}: returns {returns}; {path}")
    if options.open and path.suffix.lower() == ".html" and has_display():
        webbrowser.open(path.resolve().as_uri())
    return replay


def record_agent(
    learner: Any,
    state: Any,
    num_episodes: int,
    *,
    seed: int = 0,
    agent: int = 0,
    explore: bool = False,
    max_steps: int = 1000,
) -> Replay:
    """Episodes of one of the agents that a `funcenv.train.loop.Learner` has trained."""
    config = learner.config
    if not 0 <= agent < config.num_seeds:
        raise ValueError(f"the run trained {config.num_seeds} agents, numbered from 0; there is no agent {agent}")
    title = config.env_id + (f", agent {agent}" if config.num_seeds > 1 else "")
    policy = learner.agent(state, agent, explore=explore)
    return record(learner.env, policy, funcenv.key(seed), num_episodes, max_steps=max_steps, title=title)

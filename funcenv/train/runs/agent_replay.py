"""Recorded episodes of a trained agent."""

from __future__ import annotations

import dataclasses
from typing import Any

from funcenv.random import key
from funcenv.replay.record import record
from funcenv.replay.replay import Replay
from funcenv.train.loop import Learner
from funcenv.train.runs.best import pick_agent


@dataclasses.dataclass(frozen=True)
class RecordOptions:
    """Which episodes are recorded."""

    num_episodes: int = 4
    """episodes, shown next to each other"""
    seed: int = 0
    """seed of the episodes"""
    agent: int = 0
    """index of the agent, if the run trained several seeds"""
    best: bool = False
    """record the best agent of the run instead of the newest"""
    explore: bool = False
    """sample actions from the policy instead of taking the most likely ones"""
    max_steps: int = 1000
    """largest number of steps in an episode"""


def record_agent(learner: Learner, agents: Any, options: RecordOptions) -> Replay:
    """Record episodes of one of the agents that a learner has trained.

    Args:
        learner: The learner.
        agents: As `Learner.agents` returns them. `best` and `explore` of the options have chosen them.
        options: Which episodes are recorded.

    Raises:
        ValueError: There is no such agent, or the environment has no scene.
    """
    config, policy = learner.config, pick_agent(learner, agents, options.agent)
    title = config.env_id + (f", agent {options.agent}" if config.num_seeds > 1 else "")
    episodes = options.num_episodes
    return record(learner.env, policy, key(options.seed), episodes, max_steps=options.max_steps, title=title)

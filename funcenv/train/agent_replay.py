"""Recorded episodes of a trained agent."""

from __future__ import annotations

from typing import Any

from funcenv.random import key
from funcenv.replay.record import record
from funcenv.replay.replay import Replay
from funcenv.train.loop import Learner


def record_agent(
    learner: Learner,
    state: Any,
    num_episodes: int,
    *,
    seed: int = 0,
    agent: int = 0,
    explore: bool = False,
    max_steps: int = 1000,
) -> Replay:
    """Record episodes of one of the agents that a learner has trained.

    Args:
        learner: The learner.
        state: Its train state.
        num_episodes: How many episodes to record.
        seed: Seed of the episodes.
        agent: Index of the agent, from 0 to `num_seeds - 1`.
        explore: Whether to sample actions instead of taking the most likely ones.
        max_steps: The largest number of steps in an episode.

    Raises:
        ValueError: There is no such agent, or the environment has no scene.
    """
    config = learner.config
    if not 0 <= agent < config.num_seeds:
        raise ValueError(f"the run trained {config.num_seeds} agents, numbered from 0; there is no agent {agent}")
    title = config.env_id + (f", agent {agent}" if config.num_seeds > 1 else "")
    policy = learner.agent(state, agent, explore=explore)
    return record(learner.env, policy, key(seed), num_episodes, max_steps=max_steps, title=title)

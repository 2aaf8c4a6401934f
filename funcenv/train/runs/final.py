"""The evaluation that ends a run: whole episodes of the agents that it saves, with and without exploration."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcenv.counted import counted
from funcenv.files import write_text
from funcenv.func_env import AnyEnv
from funcenv.random import key
from funcenv.rollout import MAX_EVALUATION_STEPS, Evaluation, evaluate
from funcenv.train.loop import Learner
from funcenv.train.runs.best import pick_agent
from funcenv.train.runs.metrics import format_return

EVALUATION_FILE = "evaluation.json"
MAX_SHARE = 0.1
"""The largest part of a run's steps that the greedy episodes take, and the exploring ones as well."""
MIN_EPISODES = 10
"""The number of episodes that are played whatever part of the run they take."""


@dataclasses.dataclass(frozen=True)
class FinalReturns:
    """Mean returns of the agents at the end of a run, over whole episodes that training has not seen."""

    num_episodes: int  # episodes of each agent, greedy and exploring
    greedy: tuple[float, ...]  # mean return of each agent that takes its most likely actions
    exploring: tuple[float, ...]  # mean return of each agent that explores, as in training

    @property
    def text(self) -> str:
        """The two returns as means over all agents, and the number of episodes."""
        means = [format_return(float(np.mean(returns))) for returns in (self.greedy, self.exploring)]
        others = "" if self.greedy == self.exploring else f" (exploring {means[1]})"
        worst = f", worst agent {format_return(min(self.greedy))}," if len(self.greedy) > 1 else ""
        return f"greedy return {means[0]}{others}{worst} over {counted(self.num_episodes, 'episode')}"


def evaluate_final(
    learner: Learner, greedy: Any, exploring: Any, num_episodes: int, folder: pathlib.Path, update: int
) -> FinalReturns:
    """Play the episodes that `funcenv evaluate` plays by default, and write what they return to the run's folder.

    Args:
        learner: The learner of the run.
        greedy: The agents that take their most likely actions, as `Learner.agents` returns them.
        exploring: The same agents with exploration.
        num_episodes: Number of episodes of each agent.
        folder: The folder of the run.
        update: Number of updates that led to the agents.
    """
    means = [
        [one["mean_return"] for one in agent_figures(learner, agents, num_episodes)] for agents in (greedy, exploring)
    ]
    returns = FinalReturns(num_episodes, tuple(means[0]), tuple(means[1]))
    write_text(folder / EVALUATION_FILE, json.dumps({"update": update, **dataclasses.asdict(returns)}, indent=2) + "\n")
    return returns


def read_final(folder: pathlib.Path, update: int | None = None) -> FinalReturns | None:
    """Return the final returns of a run, or None if there are none of the agents after `update` updates.

    Raises:
        ValueError: The file is damaged.
    """
    path = folder / EVALUATION_FILE
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text())
        greedy, exploring = (tuple(map(float, found[name])) for name in ("greedy", "exploring"))
        returns, found_update = FinalReturns(int(found["num_episodes"]), greedy, exploring), int(found["update"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} is damaged; delete it, and funcenv train --resume {folder} writes it again"
        ) from error
    return returns if update in (None, found_update) else None


def episodes_to_play(limit: int, env_steps: int, mean_length: float) -> int:
    """Return how many episodes end a run: at most `limit`, and fewer if they would take too large a part of its steps.

    >>> [episodes_to_play(100, 1_000_000, length) for length in (500.0, 4_000.0, 20_000.0)]
    [100, 25, 10]
    """
    return min(limit, max(MIN_EPISODES, int(env_steps * MAX_SHARE / max(mean_length, 1.0))))


def agent_figures(
    learner: Learner,
    agents: Any,
    num_episodes: int,
    seed: int = 0,
    max_steps: int = MAX_EVALUATION_STEPS,
    env: AnyEnv | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield figures of whole episodes of each agent: summaries, how the episodes ended, returns and lengths.

    They are played in the environment of the run, unless `env` is given.
    """
    env = learner.env if env is None else env
    for index in range(learner.config.num_seeds):
        agent = pick_agent(learner, agents, index)
        yield evaluation_figures(evaluate(env, agent, num_episodes, key(seed), max_steps=max_steps))


def evaluation_figures(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures of an agent's episodes as JSON values."""
    returns, lengths = np.asarray(evaluation.episode_return), np.asarray(evaluation.episode_length)
    return {
        "mean_return": float(returns.mean()),
        "std_return": float(returns.std()),
        "min_return": float(returns.min()),
        "max_return": float(returns.max()),
        "mean_length": float(lengths.mean()),
        **({} if evaluation.success_rate is None else {"success_rate": float(evaluation.success_rate)}),
        "num_terminated": int(evaluation.terminated.sum()),
        "num_truncated": int(evaluation.truncated.sum()),
        "num_unfinished": int((~np.asarray(evaluation.finished)).sum()),
        "returns": returns.tolist(),
        "lengths": lengths.tolist(),
    }

"""Suites of tasks for `funcenv benchmark`, and the returns that its scores are measured by.

A score is 0 for a random policy and 1 for the reference: a published return, or the largest one where that is known.
docs/guides/training.md says where the references come from.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib.resources
import json
from typing import Any

from funcenv.struct import NDArray

SUITES = {
    "classic": ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"),
    "box2d": ("LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "CarRacing-v3"),
    "mujoco-v5": (
        *("InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5", "Pusher-v5", "Swimmer-v5", "Hopper-v5"),
        *("Walker2d-v5", "HalfCheetah-v5", "Ant-v5", "Humanoid-v5", "HumanoidStandup-v5"),
    ),
    "minatar": tuple(f"MinAtar/{game}-v1" for game in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")),
    "arcade": ("arcade/Pong-v0", "arcade/Breakout-v0"),
    "dm_control": tuple(
        f"dm_control/{task}-v0"
        for task in ("cartpole-swingup", "cheetah-run", "finger-spin", "reacher-hard", "walker-walk")
    ),
}
"""The ids of each suite, in the order in which they are trained."""


@dataclasses.dataclass(frozen=True)
class Reference:
    """The returns that stand for the scores 0 and 1 of a task."""

    random: float  # mean return of a random policy
    reference: float  # the return with the score 1
    by: str  # what has reached it: algorithm and steps
    of: str  # the id, and the version of the task, that it was reached in
    source: str = ""  # who has published it; empty if it is the largest return

    def scores(self, returns: Any) -> Any:
        """Return the scores of returns.

        >>> Reference(random=-10.0, reference=10.0, by="PPO", of="Task-v0").scores(5.0)
        0.75
        """
        return (returns - self.random) / (self.reference - self.random)

    @property
    def text(self) -> str:
        """The reference in words.

        >>> Reference(-10.0, 10.0, "PPO, 1M steps", "Task-v0", "a zoo").text
        'PPO, 1M steps, in Task-v0 (a zoo)'
        """
        return f"{self.by}, in {self.of} ({self.source})" if self.source else f"{self.by} in {self.of}"


def find_suite(name: str) -> tuple[str, ...]:
    """Return the ids of a suite.

    Raises:
        ValueError: There is none with this name.

    >>> find_suite("arcade")
    ('arcade/Pong-v0', 'arcade/Breakout-v0')
    """
    if name in SUITES:
        return SUITES[name]
    close = difflib.get_close_matches(name.lower(), SUITES, n=1)
    close = close or [suite for suite, ids in SUITES.items() if name in ids]
    remedy = f"did you mean {close[0]}? The" if close else "the"
    raise ValueError(f"there is no suite {name!r}; {remedy} suites are {', '.join(SUITES)}")


@functools.cache
def references() -> dict[str, Reference]:
    """Return the references of all tasks that have one, by their ids.

    >>> references()["CartPole-v1"].reference
    500
    """
    text = (importlib.resources.files("funcenv.train") / "references.json").read_text(encoding="utf-8")
    return {env_id: Reference(**values) for env_id, values in json.loads(text).items()}


def scores_of(env_id: str, returns: NDArray) -> NDArray | None:
    """Return the scores of returns in a task, or None if it has no reference."""
    reference = references().get(env_id)
    return None if reference is None else reference.scores(returns)

"""Actions outside the action space, those that wrappers pass on, and steps after the end: all defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.checker.findings import Finding, error
from funcenv.checker.runs import Outcome, Runs, contains_each, not_finite
from funcenv.checker.subject import show_values

HELD_STEPS = 5


def check_actions(runs: Runs) -> Iterator[Finding]:
    """Steps that the dynamics may not expect."""
    yield from _samples(runs)
    yield from _passed_on(runs)
    yield from _outside(runs)
    yield from _after_the_end(runs)


def _samples(runs: Runs) -> Iterator[Finding]:
    space, actions = runs.env.action_space, runs.recorded[1].action
    inside = np.asarray(contains_each(space, jax.tree.map(lambda leaf: leaf[:, 0], actions)))
    if not inside.all():
        action = jax.tree.map(lambda leaf: leaf[np.argmin(inside), 0], actions)
        yield error(
            "action-outside-space",
            f"{runs.subject.name}.action_space",
            f"{space!r} drew {show_values(action)}, which it does not contain",
            "make sample and contains of the space agree",
        )


def _passed_on(runs: Runs) -> Iterator[Finding]:
    """What wrappers make of a good action must be good for the environment inside."""
    passed_on = runs.recorded[1].passed_on
    if not passed_on.all():
        step, row = np.argwhere(~passed_on)[0]
        yield error(
            "action-outside-space",
            f"{runs.subject.name}.transition",
            f"action {show_values(runs.transition(step, row).action)} of {runs.env.action_space!r} reaches "
            f"{type(runs.env.unwrapped).__name__} as an action outside {runs.env.unwrapped.action_space!r}",
            "map the whole action space of the wrapper into that of the environment inside",
        )


def _outside(runs: Runs) -> Iterator[Finding]:
    """Hold each action that is not a member for some steps: numbers stay finite, observations in their space."""
    for action in _strangers(runs):
        given = runs.transition(0, 0)
        state = given.state
        for _ in range(HELD_STEPS):
            state, timestep = runs.step(state, action, given.key)
            bad = not_finite(Outcome(state, timestep))
            if not bad and not _inside(runs, timestep.observation):
                bad = [f"observation {show_values(timestep.observation)}, outside its space"]
            if bad:
                yield error(
                    "action-undefined",
                    f"{runs.subject.name}.transition",
                    f"action {show_values(action)}, outside {runs.env.action_space!r}, led to {', '.join(bad)}",
                    "clip the action, or treat every other value as one of the members, and say so in the docstring",
                )
                return
            if timestep.done:
                break


def _strangers(runs: Runs) -> list[Any]:
    """Actions of the right shape and dtype that the space does not contain."""
    member = runs.transition(0, 0).action
    distances = (-1000, -1, 1, 1000)
    candidates = jax.tree.map(lambda leaf: np.stack([_moved(leaf, distance) for distance in distances]), member)
    inside = contains_each(runs.env.action_space, candidates)
    rows = [jax.tree.map(lambda leaf: leaf[row], candidates) for row in range(len(distances))]  # noqa: B023
    return [action for action, member in zip(rows, inside, strict=True) if not member]


def _moved(leaf: Any, distance: int) -> Any:
    """The leaf moved beyond its own magnitude, within its dtype."""
    if leaf.dtype.kind == "b":
        return leaf
    moved = np.sign(distance) * np.abs(leaf.astype(float)) + distance
    if leaf.dtype.kind in "iu":
        limits = np.iinfo(leaf.dtype)
        moved = np.clip(moved, max(limits.min, -(2**31)), min(limits.max, 2**31 - 1))
    return moved.astype(leaf.dtype)


def _inside(runs: Runs, observation: Any) -> bool:
    return bool(contains_each(runs.env.observation_space, jax.tree.map(lambda leaf: leaf[None], observation))[0])


def _after_the_end(runs: Runs) -> Iterator[Finding]:
    """Go on where episodes ended: numbers stay finite."""
    transitions = runs.recorded[1]
    ends = np.argwhere(transitions.timestep.terminated | transitions.timestep.truncated)
    for step, row in ends[:: max(1, len(ends) // 4)]:
        given = runs.transition(step, row)
        state = given.next_state
        for _ in range(HELD_STEPS):
            state, timestep = runs.step(state, given.action, given.key)
        bad = not_finite(Outcome(state, timestep))
        if bad:
            yield error(
                "end-undefined",
                f"{runs.subject.name}.transition",
                f"{HELD_STEPS} steps after the end of an episode led to {', '.join(bad)}",
                "let the dynamics go on, or keep the state where it ended",
            )
            return

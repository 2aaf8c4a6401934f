"""Values: observations in their space, numbers that are numbers, episodes that begin before they end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.runs import Runs, not_finite
from funcenv.checker.subject import leaves_by_path, show_values

NUMBERS = "guard divisions, roots and logarithms with jnp.where on their arguments, and clip what can grow"


def check_values(runs: Runs) -> Iterator[Finding]:
    """Look at every recorded state, observation and reward."""
    numbers = list(_numbers(runs))
    yield from numbers
    if not numbers:
        yield from _observations(runs)
    ended = runs.recorded[0].ended
    if ended.any():
        yield warning(
            "starts-ended",
            f"{runs.subject.name}.initial",
            f"{ended.sum()} of {ended.size} first states are terminal or truncated already, which reset hides",
            "draw first states that an episode can go on from",
        )


def _numbers(runs: Runs) -> Iterator[Finding]:
    """Numbers that are not finite, where they first come up."""
    starts, transitions = runs.recorded
    for where, tree in (
        ("initial", starts.state),
        ("transition", transitions.next_state),
        ("observation", transitions.timestep.observation),
        ("reward", transitions.timestep.reward),
    ):
        bad = _first_bad(tree)
        if bad:
            code = "reward-not-finite" if where == "reward" else "not-finite"
            yield error(code, f"{runs.subject.name}.{where}", f"it gave {bad}", NUMBERS)
            return


def _observations(runs: Runs) -> Iterator[Finding]:
    starts, transitions = runs.recorded
    if not starts.inside.all():
        row = int(np.argmin(starts.inside))
        yield _outside(runs, "reset", jax.tree.map(lambda leaf: leaf[row], starts.timestep.observation))
    elif not transitions.inside.all():
        step, row = np.argwhere(~transitions.inside)[0]
        yield _outside(runs, "step", runs.transition(step, row).timestep.observation)


def _first_bad(tree: Any) -> str:
    """The first number of a tree that is not finite, with its path."""
    for path, leaf in leaves_by_path(tree).items():
        if not_finite(leaf):
            return f"{path} = {leaf[~np.isfinite(leaf)][0]}".strip(" =")
    return ""


def _outside(runs: Runs, function: str, observation: Any) -> Finding:
    return error(
        "observation-outside-space",
        f"{runs.subject.name}.observation",
        f"{function} gave {show_values(observation)}, which is not in {runs.env.observation_space!r}",
        "widen the space, or clip the state or the observation",
    )

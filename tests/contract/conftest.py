"""What the contract covers: every registered environment in three dresses, and every wrapper. There is no list to join.

A test that asks for `stack` visits every environment as `make` gives it, and each class of environments also bare and
in a deep stack of wrappers; one that asks for `made` only the first. Ids that differ in a time limit only are visited
once.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import funcenv
from funcenv import wrappers
from funcenv.registry import load_entry_points, registry
from funcenv.spaces import Box

Build = Callable[[], Any]


def _bare(id: str) -> Any:
    return funcenv.make(id).unwrapped


def _deep(id: str) -> Any:
    """Wrappers of every kind that suits all environments; the limit is short, so that episodes end."""
    env = wrappers.ClipReward(_bare(id), -100.0, 100.0)
    space = env.action_space
    if isinstance(space, Box) and space.is_bounded():
        env = wrappers.ClipAction(wrappers.RescaleAction(env, -1.0, 1.0))
    env = wrappers.TimeAwareObservation(wrappers.EpisodeStatistics(wrappers.TimeLimit(env, 20)))
    return wrappers.FlattenObservation(wrappers.FrameStackObservation(env, 2))


DRESSES = {"bare": _bare, "made": funcenv.make, "deep": _deep}


def _distinct(dresses: list[str]) -> Iterator[tuple[str, Build]]:
    """Name and builder of each environment that is not the same as an earlier one."""
    load_entry_points()
    seen: list[tuple[Any, int, list[Any]]] = []
    first: dict[type, str] = {}
    for id in registry:
        for dress in dresses:
            env = DRESSES[dress](id)
            if first.setdefault(type(env.unwrapped), id) != id and dress != "made":
                continue
            leaves, structure = jax.tree.flatten((env, env.unwrapped))
            parameters = jax.tree.leaves(env.unwrapped)
            if not any(
                structure == other and len(leaves) == count and all(map(np.array_equal, parameters, values))
                for other, count, values in seen
            ):
                seen.append((structure, len(leaves), parameters))
                yield f"{id}-{dress}", lambda id=id, dress=dress: DRESSES[dress](id)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, dresses in (("stack", list(DRESSES)), ("made", ["made"])):
        if name in metafunc.fixturenames:
            builds = dict(_distinct(dresses))
            metafunc.parametrize(name, builds.values(), ids=builds.keys())
    if "env_id" in metafunc.fixturenames:
        load_entry_points()
        metafunc.parametrize("env_id", list(registry))

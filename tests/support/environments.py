"""Which environments the generic tests visit. All follow from the registry; there is no list to join.

Every id is visited as `make` gives it; each class of environments also bare and in a deep stack of wrappers. What only
tracing shows is tested in every run for an id of each light class, and what must be compiled for an id of each family.
The other cases rotate: they have the mark `exhaustive`. Heavy classes, by the measure of `count_operations`, also have
the mark `dear`.
"""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import funcenv
from funcenv import wrappers
from funcenv._compile.jaxpr import count_jaxpr, iter_eqns
from funcenv._compile.single_kernel import require_supported
from funcenv._compile.verified import Refusal
from funcenv.registry import registry
from funcenv.spaces import Box

MAX_LIGHT_OPERATIONS = 20_000  # of a step; what takes more is heavy physics


def bare(id: str) -> Any:
    """Return the environment without the wrappers that `make` adds."""
    return funcenv.make(id).unwrapped


def deep(id: str) -> Any:
    """Return the environment in wrappers of every kind that suits all; the limit is short, so that episodes end."""
    env = wrappers.ClipReward(bare(id), -100.0, 100.0)
    space = env.action_space
    if isinstance(space, Box) and space.is_bounded():
        env = wrappers.ClipAction(wrappers.RescaleAction(env, -1.0, 1.0))
    env = wrappers.EpisodeStatistics(wrappers.TimeLimit(env, 20))
    if isinstance(env.observation_space, Box) and env.observation_space.dtype == np.uint8:
        return wrappers.FrameStackObservation(env, 2)  # pixels stay pixels, whose last level may be rounded either way
    return wrappers.FlattenObservation(wrappers.FrameStackObservation(wrappers.TimeAwareObservation(env), 2))


VARIANTS = {"made": funcenv.make, "bare": bare, "deep": deep}


class Case(NamedTuple):
    """An environment under test."""

    id: str
    variant: str

    def __str__(self) -> str:
        return f"{self.id}-{self.variant}"

    def build(self) -> Any:
        """Return the environment."""
        return VARIANTS[self.variant](self.id)


def ids() -> list[str]:
    """Return every registered id, except those that test files register for themselves."""
    return [id for id in registry if not id.startswith("test/")]


def cases() -> list[Case]:
    """Return a case for each environment that differs from all earlier ones in more than a time limit."""
    return list(_cases(tuple(ids())))


@functools.cache
def _cases(every_id: tuple[str, ...]) -> list[Case]:
    found = []
    seen: list[tuple[Any, int, list[Any]]] = []
    first = first_of_each_class()
    for id in every_id:
        for variant, build in VARIANTS.items():
            env = build(id)
            if variant != "made" and id not in first:
                continue
            leaves, structure = jax.tree.flatten((env, env.unwrapped))
            parameters = jax.tree.leaves(env.unwrapped)
            if not any(
                structure == other and len(leaves) == count and all(map(np.array_equal, parameters, values))
                for other, count, values in seen
            ):
                seen.append((structure, len(leaves), parameters))
                found.append(Case(id, variant))
    return found


def first_of_each_class() -> list[str]:
    """Return the first id of each class of environments."""
    return list(_first_ids(tuple(ids())).values())[::-1]


@functools.cache
def _first_ids(every_id: tuple[str, ...]) -> dict[type, str]:
    return {_class_of(id): id for id in reversed(every_id)}


@functools.cache
def _class_of(id: str) -> type:
    return type(bare(id))


class _Step(NamedTuple):
    """What tracing a step shows."""

    operations: float
    equations: int
    primitives: frozenset[str]
    can_be_kernel: bool


@functools.cache
def _step(id: str) -> _Step:
    env, key = funcenv.make(id), funcenv.key(0)
    state, _ = jax.eval_shape(env.reset, key)
    action = jax.eval_shape(env.action_space.sample, key)
    jaxpr = jax.make_jaxpr(env.step)(state, action, key).jaxpr
    names = [eqn.primitive.name for eqn in iter_eqns(jaxpr)]
    try:
        require_supported(jaxpr)
    except Refusal:
        return _Step(count_jaxpr(jaxpr), len(names), frozenset(names), False)
    return _Step(count_jaxpr(jaxpr), len(names), frozenset(names), True)


def num_equations(id: str) -> int:
    """Return how many equations a step has, as it is made."""
    return _step(id).equations


def is_heavy(id: str) -> bool:
    """Return whether a step of the id's class takes so many operations that the tests compile it once only.

    The first id of the class is measured, because tracing heavy physics takes seconds.
    """
    return _step(_first_ids(tuple(ids()))[_class_of(id)]).operations > MAX_LIGHT_OPERATIONS


def kernel_ids() -> list[str]:
    """Return the light ids, as they are made, whose steps can become a kernel; a simulator on the host cannot."""
    return [
        case.id for case in cases() if case.variant == "made" and not is_heavy(case.id) and _step(case.id).can_be_kernel
    ]


def samples() -> list[str]:
    """Return one light id of each family of environments: that with the smallest step."""
    light = sorted((id for id in first_of_each_class() if not is_heavy(id)), key=lambda id: _step(id).operations)
    families = [type(bare(id)).__module__.rpartition(".")[0] for id in light]
    return [id for i, id in enumerate(light) if families.index(families[i]) == i]


def as_made(values: list[Case]) -> list[Any]:
    """Return cases for `pytest.mark.parametrize`, of which the first id of each light class, as made, always runs."""
    return rotating(values, [Case(id, "made") for id in first_of_each_class() if not is_heavy(id)])


def sampled(values: list[str]) -> list[Any]:
    """Return ids for `pytest.mark.parametrize`, of which all but those of `samples` rotate."""
    return rotating(values, samples())


def rotating(values: list[Any], always: list[Any]) -> list[Any]:
    """Return the values for `pytest.mark.parametrize`: those not in `always` have the mark `exhaustive`.

    All tests of a value rotate together, because they may share what is expensive.
    """
    params = []
    for value in values:
        marks = [] if value in always else [pytest.mark.exhaustive(group=str(value))]
        if is_heavy(value.id if isinstance(value, Case) else value):
            marks.append(pytest.mark.dear)
        params.append(pytest.param(value, marks=marks, id=str(value)))
    return params

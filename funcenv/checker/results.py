"""Kinds of results: flags are scalar bools, rewards scalar floats, infos dicts, observations members of their space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.subject import Failure, Subject, leaves_by_path, show_kind


def check_results(subject: Subject) -> Iterator[Finding]:
    """What the functions return, by shape and dtype."""
    out = {name: trace.out for name, trace in subject.survey.traces.items()}
    for name in ("terminal", "truncated"):
        yield from _flag_findings(f"{subject.name}.{name}", out.get(name))
    yield from _reward_findings(f"{subject.name}.reward", out.get("reward"))
    for name in ("state_info", "transition_info"):
        if name in out and not isinstance(out[name], dict):
            seen = f"it returns a {type(out[name]).__name__} instead of a dict"
            yield error("info-not-dict", f"{subject.name}.{name}", seen, "return a dict from names to arrays")
    clash = sorted(set(_names(out.get("state_info"))) & set(_names(out.get("transition_info"))))
    if clash:
        yield warning(
            "info-clash",
            f"{subject.name}.transition_info",
            f"state_info returns {', '.join(clash)} too, and hides it",
            "give them different names",
        )
    yield from _observation_findings(subject)


def _names(info: Any) -> list[str]:
    return [repr(name) for name in info] if isinstance(info, dict) else []


def _flag_findings(where: str, flag: Any) -> Iterator[Finding]:
    if flag is None:
        return
    if not _is_scalar(flag):
        seen = f"it returns {_describe(flag)} instead of a scalar"
        yield error("flag-not-scalar", where, seen, "reduce it with jnp.any or jnp.all, or index it")
    elif flag.dtype != bool:
        seen = f"it returns {flag.dtype} instead of a bool"
        yield error("flag-not-bool", where, seen, "return a comparison, such as x > limit")


def _reward_findings(where: str, reward: Any) -> Iterator[Finding]:
    if reward is None:
        return
    if not _is_scalar(reward):
        seen = f"it returns {_describe(reward)} instead of a scalar"
        yield error("reward-not-scalar", where, seen, "sum or index it to one number")
    elif not jnp.issubdtype(reward.dtype, jnp.floating):
        seen = f"it returns {reward.dtype}, which a float discount cannot multiply under strict dtype promotion"
        yield warning("reward-not-float", where, seen, "return a float, such as -1.0, or cast with astype(float)")


def _is_scalar(value: Any) -> bool:
    return hasattr(value, "dtype") and value.shape == ()


def _observation_findings(subject: Subject) -> Iterator[Finding]:
    """The observation has the structure, shape and dtype that a sample of its space has."""
    if "observation" not in subject.survey.known:
        return
    where = f"{subject.name}.observation"
    space = subject.env.observation_space
    member = subject.attempt(lambda: jax.eval_shape(space.sample, subject.key))
    if isinstance(member, Failure):
        seen = f"its sample(key) raises {member}"
        yield error("space-broken", f"{subject.name}.observation_space", seen, "make sample work under jax.jit")
        return
    seen_leaves, declared = leaves_by_path(subject.survey.known["observation"]), leaves_by_path(member)
    if list(seen_leaves) != list(declared):
        seen = f"its leaves are {list(seen_leaves)}, those of a member of {space!r} are {list(declared)}"
        yield error("observation-kind", where, seen, "return the structure that observation_space declares")
        return
    for path, leaf in seen_leaves.items():
        if (leaf.shape, leaf.dtype) != (declared[path].shape, declared[path].dtype):
            seen = f"{path or 'it'} is {show_kind(leaf)}, but {space!r} holds {show_kind(declared[path])}"
            yield error(
                "observation-kind", where, seen, "cast with astype, or declare the space with that dtype and shape"
            )


def _describe(value: Any) -> str:
    return show_kind(value) if hasattr(value, "dtype") else f"a {type(value).__name__}"

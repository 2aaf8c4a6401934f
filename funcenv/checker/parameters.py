"""Parameters: each can differ from environment to environment, and each does something."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checker.dependence import inputs_used
from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.subject import FUNCTIONS, Failure, Subject, Trace, call, leaves_by_path
from funcenv.func_env import FuncEnv
from funcenv.vector import parameter_axes
from funcenv.wrappers import RandomizeParameters


def check_parameters(subject: Subject) -> Iterator[Finding]:
    """Batches of parameters, parameters without effect, and derived values kept as fields."""
    yield from _derived(subject)
    yield from _static_numbers(subject)
    if subject.traced:
        yield from _unbatchable(subject)
        yield from _unused(subject)


def _derived(subject: Subject) -> Iterator[Finding]:
    """Change one field by `replace`; if another one changes with it, it is stale under `vmap` and `grad`."""
    for level in subject.levels:
        for name in _float_fields(level):
            changed = subject.attempt(lambda: level.replace(**{name: _nudged(getattr(level, name))}))  # noqa: B023
            if isinstance(changed, Failure):
                continue  # a value that the environment refuses
            before, after = leaves_by_path(level), leaves_by_path(changed)
            for path in before.keys() & after.keys():
                is_changed_one = f"{path}.".startswith((f"{name}.", f"{name}["))
                if not is_changed_one and not np.array_equal(before[path], after[path]):
                    yield error(
                        "parameter-derived",
                        f"{type(level).__name__}.{path}",
                        f"it is computed from {name} when the environment is built, but jax.vmap and jax.grad change "
                        f"{name} without building it again",
                        "make it a property",
                    )


def _float_fields(level: FuncEnv[Any, Any, Any]) -> Iterator[str]:
    for entry in dataclasses.fields(level):
        value = getattr(level, entry.name)
        floating = isinstance(value, float) or (
            isinstance(value, (np.ndarray, jax.Array)) and jnp.issubdtype(value.dtype, jnp.floating)
        )
        if floating and entry.init and entry.metadata.get("pytree_node", True):
            yield entry.name


def _nudged(value: Any) -> Any:
    return value * 1.01 + 0.001


def _static_numbers(subject: Subject) -> Iterator[Finding]:
    for level in subject.levels:
        for entry in dataclasses.fields(level):
            if not entry.metadata.get("pytree_node", True) and isinstance(getattr(level, entry.name), float):
                yield warning(
                    "parameter-static",
                    f"{type(level).__name__}.{entry.name}",
                    "a real number is declared static: each value compiles anew, and vmap and grad cannot see it",
                    "make it an ordinary field",
                )


def _unbatchable(subject: Subject) -> Iterator[Finding]:
    single = subject.attempt(lambda: parameter_axes(subject.env, num_envs=2))
    if isinstance(single, Failure):
        yield error("parameter-ambiguous", subject.name, str(single), "declare it with funcenv.field(ndim=...)")
    paths = list(leaves_by_path(subject.env))
    if isinstance(_trace_batch(subject, set(paths)), Failure):
        for path in paths:
            failure = _trace_batch(subject, {path})
            if isinstance(failure, Failure):
                yield error(
                    "parameter-not-batchable",
                    f"{subject.name}.{path}",
                    f"a batch of environments that differ in it raises {failure}",
                    "compute with it as with any traced scalar: no float(), no Python branch, no NumPy function",
                )


def _trace_batch(subject: Subject, batched: set[str]) -> Trace | Failure:
    """Trace every function of two environments that differ in these parameters."""
    leaves = leaves_by_path(subject.env)
    treedef = jax.tree.structure(subject.env)
    axes = jax.tree.unflatten(treedef, [0 if path in batched else None for path in leaves])
    two = [jnp.stack([jnp.asarray(leaf)] * 2) if path in batched else leaf for path, leaf in leaves.items()]

    def everything(env: Any, known: dict[str, Any]) -> Any:
        return {name: call(name, env, *(known[argument] for argument in FUNCTIONS[name][0])) for name in FUNCTIONS}

    def both(known: dict[str, Any]) -> Any:
        return jax.vmap(everything, in_axes=(axes, None))(jax.tree.unflatten(treedef, two), known)

    return subject.attempt(lambda: jax.eval_shape(both, subject.survey.known))


def _unused(subject: Subject) -> Iterator[Finding]:
    """Parameters that no function depends on; computed from the traced programs, so no value is tried.

    A parameter that matters only with some flag set is used, so each static flag is tried both ways.
    """
    unused = set(leaves_by_path(subject.env)) - _used(subject)
    for variant in _with_one_flag_flipped(subject, subject.env):
        if unused:
            unused -= _used(Subject(variant, subject.key))
    overwritten = _overwritten(subject)
    for path in sorted(path for path in unused if not path.startswith(overwritten)):
        yield warning(
            "parameter-unused",
            f"{subject.name}.{path}",
            "no function and no space depends on it, so changing it changes nothing; perhaps a value derived from "
            "it was stored in a field, which then went stale",
            "use it, with derived values as properties, or remove it",
        )


def _overwritten(subject: Subject) -> tuple[str, ...]:
    """Where parameters may be without effect because a wrapper draws others instead."""
    return tuple(
        "env." * (depth + 1) for depth, level in enumerate(subject.levels) if isinstance(level, RandomizeParameters)
    )


def _used(subject: Subject) -> set[str]:
    """Paths of the parameters that some function depends on."""
    traces = list(subject.survey.traces.values())
    if "state" in subject.survey.known:
        scene = subject.trace(lambda env, state: env.scene(state), subject.survey.known["state"])
        traces += [scene] if isinstance(scene, Trace) else []
    rows = [inputs_used(trace.jaxpr) for trace in traces]
    return {path for index, path in enumerate(leaves_by_path(subject.env)) if any(row[index] for row in rows)}


def _with_one_flag_flipped(subject: Subject, env: FuncEnv[Any, Any, Any]) -> Iterator[FuncEnv[Any, Any, Any]]:
    """The environment with another value of one static bool, at any level; those that it refuses are left out."""
    for entry in dataclasses.fields(env):
        value = getattr(env, entry.name)
        others: list[Any] = []
        if isinstance(value, FuncEnv):
            others += _with_one_flag_flipped(subject, value)
        elif isinstance(value, bool) and entry.init and not entry.metadata.get("pytree_node", True):
            others.append(not value)
        for other in others:
            changed = subject.attempt(lambda: env.replace(**{entry.name: other}))  # noqa: B023  (used at once)
            if not isinstance(changed, Failure):
                yield changed

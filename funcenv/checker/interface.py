"""Everything that must be there: spaces, functions that trace, parameters that JAX can carry."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.checker.findings import Finding, error
from funcenv.checker.subject import FUNCTIONS, Failure, Subject, call, leaves_by_path, same_structure
from funcenv.func_env import FuncEnv
from funcenv.spaces import Space

NEEDS_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


def examine(env: FuncEnv[Any, Any, Any], key: jax.Array) -> tuple[Subject, list[Finding]]:
    """The subject of all further checks, and what keeps it from being one.

    The parameters are arguments of every program, as inside `rollout`; where they can't be, that is a finding and
    they become constants, so that the other checks still run.
    """
    subject = Subject(env, key)
    findings = [*_space_findings(subject)]
    if findings:
        return subject, findings
    findings += _parameter_kinds(subject)
    if not findings and subject.survey.failures:
        findings += _untraceable_parameters(subject)
    if findings:
        subject = Subject(env, key, traced=False)
    findings += _function_failures(subject)
    return subject, findings


def _space_findings(subject: Subject) -> Iterator[Finding]:
    for name in ("observation_space", "action_space"):
        space = subject.attempt(lambda name=name: getattr(subject.env, name))  # type: ignore[misc]
        if isinstance(space, Failure):
            seen, remedy = f"reading it raises {space}", "define the property so that it returns a space"
        elif not isinstance(space, Space):
            seen, remedy = f"it is {space!r}, of type {type(space).__name__}", "return a space of funcenv.spaces"
        else:
            continue
        yield error("space-missing", f"{subject.name}.{name}", seen, remedy)


def _parameter_kinds(subject: Subject) -> Iterator[Finding]:
    """Leaves are numbers or arrays; the rest is static, and `jax.jit` compares it."""
    for path, leaf in leaves_by_path(subject.env).items():
        if not isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray, jax.Array)):
            yield error(
                "parameter-not-array",
                f"{subject.name}.{path}",
                f"the parameter is {leaf!r}, which is neither a number nor an array, so that jit and vmap refuse it",
                "declare it funcenv.field(pytree_node=False)",
            )
    same = subject.attempt(lambda: same_structure(copy.deepcopy(subject.env), subject.env))
    if isinstance(same, Failure):
        yield error(
            "static-not-comparable",
            subject.name,
            f"comparing its static fields with those of a copy, as jit does to find a compiled program, raises {same}",
            "use numbers, strings and tuples in static fields, and make an array an ordinary field",
        )


def _untraceable_parameters(subject: Subject) -> Iterator[Finding]:
    """Name the parameters that break a function once they are abstract, as they are inside `rollout`."""
    constant = Subject(subject.env, subject.key, traced=False)
    for name, failure in subject.survey.failures.items():
        if name in constant.survey.failures:
            continue
        arguments = [subject.survey.known[argument] for argument in FUNCTIONS[name][0]]
        culprits = [path for path in leaves_by_path(subject.env) if _breaks(subject, path, name, arguments)]
        yield error(
            "parameter-not-traceable",
            f"{subject.name}.{name}",
            f"with the parameters {', '.join(culprits) or 'traced'} as arguments of a compiled function, as in "
            f"rollout, it raises {failure}",
            "use jnp functions, jnp.where and jax.lax.cond for what depends on a parameter, or declare it "
            "funcenv.field(pytree_node=False)",
        )


def _breaks(subject: Subject, path: str, name: str, arguments: list[Any]) -> bool:
    leaves, treedef = jax.tree.flatten(subject.env)
    index = list(leaves_by_path(subject.env)).index(path)

    def with_one_traced(leaf: Any, *args: Any) -> Any:
        return call(name, jax.tree.unflatten(treedef, [*leaves[:index], leaf, *leaves[index + 1 :]]), *args)

    return isinstance(subject.attempt(lambda: jax.eval_shape(with_one_traced, leaves[index], *arguments)), Failure)


def _function_failures(subject: Subject) -> Iterator[Finding]:
    for name, failure in subject.survey.failures.items():
        where = f"{subject.name}.{name}"
        if isinstance(failure.error, NotImplementedError):
            yield error("function-missing", where, f"it raises {failure}", "define it")
        elif isinstance(failure.error, NEEDS_VALUES):
            yield error(
                "not-traceable",
                where,
                f"it works on values but not inside jax.jit: {failure}",
                "use jnp functions, jnp.where and jax.lax.cond for what depends on the values of arrays",
            )
        else:
            yield error(
                "function-fails",
                where,
                f"traced with the state, action and key that reset and step give it, it raises {failure}",
                "return arrays, and accept those that the other functions and the action space give",
            )

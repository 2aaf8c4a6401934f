"""Checks of the parameters: each can be traced, batched and pickled, and each has an effect."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import pickle
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.trace import (
    FUNCTIONS,
    EnvUnderTest,
    Failure,
    Trace,
    call_function,
    inputs_used,
    leaves_by_path,
    same_structure,
)
from funcenv.drawable import Drawable
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.parameters import parameter_axes
from funcenv.struct import unannotated_values
from funcenv.traits import Traits
from funcenv.union import Union
from funcenv.wrappers import RandomizeParameters


def check_parameter_kinds(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that parameters are numbers or arrays, and that `jax.jit` can compare the static fields."""
    for path, leaf in leaves_by_path(tested.env).items():
        if not isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray, jax.Array)):
            seen = f"the parameter is {leaf!r}, which is neither a number nor an array, so that jit and vmap refuse it"
            yield error("parameter-not-array", tested.env, path, seen, "declare it funcenv.field(pytree_node=False)")
    same = tested.attempt(lambda: same_structure(copy.deepcopy(tested.env), tested.env))
    if isinstance(same, Failure):
        seen = "comparing its static fields with those of a copy, as jit does to find a compiled program, raises "
        remedy = "use numbers, strings and tuples in static fields, and make an array an ordinary field"
        yield error("static-not-comparable", tested.env, "", f"{seen}{same}", remedy)


def check_parameter_tracing(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that functions which trace with constant parameters also trace with abstract ones, as in `rollout`."""
    constant = EnvUnderTest(tested.env, tested.key, traced_parameters=False)
    for name, failure in tested.report.failures.items():
        if name in constant.report.failures:
            continue
        culprits = ", ".join(path for path in leaves_by_path(tested.env) if _breaks_tracing(tested, path, name))
        seen = f"with the parameters {culprits or 'traced'} as arguments of a compiled function, as in rollout, "
        remedy = "use jnp functions, jnp.where and jax.lax.cond for what depends on a parameter, or declare it "
        remedy += "funcenv.field(pytree_node=False)"
        yield error("parameter-not-traceable", tested.env, name, f"{seen}it raises {failure}", remedy)


def _breaks_tracing(tested: EnvUnderTest, path: str, name: str) -> bool:
    """Return whether a function raises when this parameter alone is abstract."""
    leaves, treedef = leaves_by_path(tested.env), jax.tree.structure(tested.env)
    arguments = [tested.report.values[argument] for argument in FUNCTIONS[name][0]]

    def with_one_traced(leaf: Any, *args: Any) -> Any:
        return call_function(name, jax.tree.unflatten(treedef, {**leaves, path: leaf}.values()), *args)

    return isinstance(tested.attempt(lambda: jax.eval_shape(with_one_traced, leaves[path], *arguments)), Failure)


def check_parameters(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that fields are not derived from others, that each parameter can be batched, and that each is used."""
    for level in tested.levels:
        yield from _derived_fields(tested, level)
    for level in tested.levels:
        for entry in dataclasses.fields(level):
            if _is_static(entry) and isinstance(getattr(level, entry.name), float):
                seen = "a real number is declared static: each value compiles again, and vmap and grad cannot see it"
                yield warning("parameter-static", level, entry.name, seen, "make it an ordinary field")
        for name, value in unannotated_values(type(level)).items():
            yield _without_annotation(level, name, value)
    if tested.traced_parameters:
        yield from _unbatchable(tested)
        yield from _unused(tested)


def _without_annotation(level: AnyEnv, name: str, value: Any) -> Finding:
    """Return the finding about a class attribute that is meant as a parameter, or as an optional member."""
    seen = f"{name} = {value} has no annotation, so it is a constant of the class and no parameter"
    remedy = f"write {name}: float = {value}, or {name.upper()} for a constant"
    for member in difflib.get_close_matches(name, [*vars(Traits), *vars(Drawable)], n=1, cutoff=0.8):
        remedy = f"did you mean {member} = {value}? Otherwise {remedy}"
    return warning("parameter-unannotated", level, name, seen, remedy)


def _derived_fields(tested: EnvUnderTest, level: AnyEnv) -> Iterator[Finding]:
    """Change one field by `replace`. Another field that changes with it would be stale under `vmap` and `grad`."""
    for entry in dataclasses.fields(level):
        name, value = entry.name, getattr(level, entry.name)
        dtype = float if isinstance(value, float) else getattr(value, "dtype", bool)
        if _is_static(entry) or not entry.init or not jnp.issubdtype(dtype, jnp.floating):
            continue
        changed = tested.attempt(lambda: level.replace(**{name: value * 1.01 + 0.001}))  # noqa: B023  (called at once)
        if isinstance(changed, Failure):
            continue  # the environment refuses the value
        before, after = leaves_by_path(level), leaves_by_path(changed)
        for path in before.keys() & after.keys():
            is_changed_one = f"{path}.".startswith((f"{name}.", f"{name}["))
            if not is_changed_one and not np.array_equal(before[path], after[path]):
                seen = f"it is computed from {name} when the environment is built, but jax.vmap and jax.grad change "
                seen += f"{name} without building it again"
                yield error("parameter-derived", level, path, seen, "make it a property")


def _is_static(entry: dataclasses.Field[Any]) -> bool:
    return not entry.metadata.get("pytree_node", True)


def _unbatchable(tested: EnvUnderTest) -> Iterator[Finding]:
    axes = tested.attempt(lambda: parameter_axes(tested.env, num_envs=2))
    if isinstance(axes, Failure):
        yield error("parameter-ambiguous", tested.env, "", str(axes), "declare it with funcenv.field(ndim=...)")
    paths = set(leaves_by_path(tested.env))
    if not isinstance(_trace_batch(tested, paths), Failure):
        return
    for path in leaves_by_path(tested.env):
        failure = _trace_batch(tested, {path})
        if isinstance(failure, Failure):
            seen = f"a batch of environments that differ in it raises {failure}"
            remedy = "compute with it as with any traced scalar: no float(), no Python branch, no NumPy function"
            yield error("parameter-not-batchable", tested.env, path, seen, remedy)


def _trace_batch(tested: EnvUnderTest, batched: set[str]) -> Any | Failure:
    """Trace every function of two environments that differ in these parameters."""
    leaves, treedef = leaves_by_path(tested.env), jax.tree.structure(tested.env)
    axes = jax.tree.unflatten(treedef, [0 if path in batched else None for path in leaves])
    two = [jnp.stack([jnp.asarray(leaf)] * 2) if path in batched else leaf for path, leaf in leaves.items()]

    def call_all(env: Any, values: dict[str, Any]) -> Any:
        return [call_function(name, env, *map(values.get, names)) for name, (names, _) in FUNCTIONS.items()]

    def call_batch(values: dict[str, Any]) -> Any:
        return jax.vmap(call_all, in_axes=(axes, None))(jax.tree.unflatten(treedef, two), values)

    return tested.attempt(lambda: jax.eval_shape(call_batch, tested.report.values))


def _unused(tested: EnvUnderTest) -> Iterator[Finding]:
    """Yield a warning for each parameter that no function depends on.

    Dependence is read from the traced programs. A parameter may matter only with some flag set, so each static flag is
    tried both ways.
    """
    unused = set(leaves_by_path(tested.env)) - _used(tested)
    for variant in _with_one_flag_flipped(tested, tested.env):
        if unused:
            unused -= _used(EnvUnderTest(variant, tested.key))
    redrawn = tuple(
        "env." * (depth + 1) for depth, level in enumerate(tested.levels) if isinstance(level, RandomizeParameters)
    )  # the wrapper draws other values for the parameters inside
    for path in sorted(unused):
        if not path.startswith(redrawn):
            seen = "no function and no space depends on it, so changing it changes nothing; perhaps a value derived "
            seen += "from it was stored in a field, which then became stale"
            remedy = "use it, with derived values as properties, or remove it"
            yield warning("parameter-unused", tested.env, path, seen, remedy)


def _used(tested: EnvUnderTest) -> set[str]:
    """Return the paths of the parameters that some function depends on."""
    traces: list[Trace | Failure] = list(tested.report.traces.values())
    if "state" in tested.report.values:
        traces.append(tested.trace_scene())
        if tested.env.remembers:
            traces.append(tested.trace_next_episode())
    rows = [inputs_used(trace.jaxpr.jaxpr) for trace in traces if isinstance(trace, Trace)]
    return {path for index, path in enumerate(leaves_by_path(tested.env)) if any(row[index] for row in rows)}


def _with_one_flag_flipped(tested: EnvUnderTest, env: AnyEnv) -> Iterator[AnyEnv]:
    """Yield the environment with another value of one static bool, at any level, where it accepts that value.

    The tasks of a `Union` are such flags.
    """
    if isinstance(env, Union):
        yield from (env.replace(task=task) for task in range(env.num_tasks))
    for entry in dataclasses.fields(env):
        value = getattr(env, entry.name)
        others: list[Any] = []
        if isinstance(value, FuncEnv):
            others += _with_one_flag_flipped(tested, value)
        elif isinstance(value, bool) and entry.init and _is_static(entry):
            others.append(not value)
        for other in others:
            changed = tested.attempt(lambda: env.replace(**{entry.name: other}))  # noqa: B023  (called at once)
            if not isinstance(changed, Failure):
                yield changed


def check_pickling(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that a pickled copy has the same structure and the same parameters.

    Python pickles no class that is defined inside a function, which is then not the environment's fault.
    """
    if any("<locals>" in type(level).__qualname__ for level in tested.levels):
        return
    loaded = tested.attempt(lambda: pickle.loads(pickle.dumps(tested.env)))
    if isinstance(loaded, Failure):
        remedy = "define classes and functions at the top of a module, and use no lambda as a field"
        yield warning("pickle-fails", tested.env, "", f"pickling it and loading it again raises {loaded}", remedy)
    elif tested.attempt(lambda: _are_equal(loaded, tested.env)) is False:
        seen = "a pickled copy is not equal to the original in its static fields or parameters, so that jit compiles "
        remedy = "give what a static field holds an __eq__ and __hash__ by value"
        yield error("pickle-differs", tested.env, "", seen + "again for it", remedy)


def _are_equal(first: AnyEnv, second: AnyEnv) -> bool:
    return same_structure(first, second) and all(map(np.array_equal, *map(jax.tree.leaves, (first, second))))

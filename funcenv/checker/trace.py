"""The environment under test, and the traces of its functions."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.wrappers.base import layers

# Each function with the names of its arguments and of its result. Every argument is a key or the result of an earlier
# function.
FUNCTIONS = {
    "action_space.sample": (("key",), "action"),
    "initial": (("key",), "state"),
    "transition": (("state", "action", "key"), "next_state"),
    "observation": (("state", "key"), "observation"),
    "observation_space.contains": (("observation",), ""),
    "reward": (("state", "action", "next_state"), ""),
    "terminal": (("state",), ""),
    "truncated": (("state",), ""),
    "state_info": (("state",), ""),
    "transition_info": (("state", "action", "next_state"), ""),
}


class Failure(NamedTuple):
    """An exception that the environment's code raised, as a value."""

    error: Exception
    place: str  # the line in the environment's files, or ""

    def __str__(self) -> str:
        lines = [line.strip() for line in str(self.error).splitlines() if line.strip()]
        message = lines[0][:400].rstrip(".:") if lines else "no message"
        return f"{type(self.error).__name__}{self.place}: {message}"


class Trace(NamedTuple):
    """A traced function: its jaxpr, and the abstract value that it returns."""

    jaxpr: ClosedJaxpr
    out: Any
    changed: bool  # true if the function changed one of its arguments


class TraceReport(NamedTuple):
    """All functions, traced under the same settings. A function whose arguments could not be computed is left out."""

    traces: dict[str, Trace]
    failures: dict[str, Failure]
    values: dict[str, Any]  # abstract arguments by name, without weak types, as `reset` and `step` pass them on


class EnvUnderTest:
    """The environment that the checks examine.

    Args:
        env: the environment.
        key: a typed key.
        traced_parameters: whether the parameters are arguments of traced and compiled functions, as inside `rollout`.
            Otherwise they are constants.
    """

    def __init__(self, env: AnyEnv, key: jax.Array, traced_parameters: bool = True) -> None:
        self.env = env
        self.key = key
        self.traced_parameters = traced_parameters

        self.levels = tuple(layers(env))  # the environment and what it wraps, from the outside in

    @functools.cached_property
    def report(self) -> TraceReport:
        """Every function, traced under JAX's default settings."""
        return self.trace_all()

    @functools.cached_property
    def strict_report(self) -> TraceReport:
        """Every function, traced with `jax_numpy_dtype_promotion="strict"`."""
        with jax.numpy_dtype_promotion("strict"):
            return self.trace_all()

    def trace(self, function: Callable[..., Any], *args: Any) -> Trace | Failure:
        """Trace `function(env, *args)`."""
        changed = False

        def observed(*args: Any) -> Any:  # a new object, for which JAX has no cached trace
            nonlocal changed
            args = args if self.traced_parameters else (self.env, *args)
            before = jax.tree.leaves_with_path(args)
            out = function(*args)
            after = jax.tree.leaves_with_path(args)
            changed = len(before) != len(after) or any(a[1] is not b[1] for a, b in zip(before, after, strict=True))
            return out

        args = (self.env, *args) if self.traced_parameters else args
        made = self.attempt(lambda: jax.make_jaxpr(observed, return_shape=True)(*args))
        return made if isinstance(made, Failure) else Trace(made[0], made[1], changed)

    def trace_all(self) -> TraceReport:
        """Trace every function again, under the JAX settings that hold now."""
        report = TraceReport({}, {}, {"key": self.key})
        for name, (arguments, result) in FUNCTIONS.items():
            if not report.values.keys() >= set(arguments):
                continue
            trace = self.trace(functools.partial(call_function, name), *(report.values[key] for key in arguments))
            if isinstance(trace, Failure):
                report.failures[name] = trace
                continue
            report.traces[name] = trace
            if result:
                report.values[result] = jax.tree.map(lambda leaf: leaf.update(weak_type=False), trace.out)
        return report

    def trace_scene(self) -> Trace | Failure:
        """Trace `scene`."""
        return self.trace(lambda env, state: env.scene(state), self.report.values["state"])

    def trace_next_episode(self) -> Trace | Failure:
        """Trace `initial_after`."""
        last, key = self.report.values["state"], self.report.values["key"]
        return self.trace(lambda env, last, key: env.initial_after(last, key), last, key)

    def attempt(self, function: Callable[[], Any]) -> Any | Failure:
        """Return what `function` returns, or the exception that it raised as a `Failure`.

        This is the only place that catches every exception. The code under test may raise anything, which is a finding
        and no reason to stop checking.
        """
        try:
            return function()
        except Exception as error:
            return Failure(error, self._place(error))

    def _place(self, error: Exception) -> str:
        """Return the last line of the environment's own files that the exception passed through."""
        classes = {cls for level in self.levels for cls in type(level).__mro__ if issubclass(cls, FuncEnv)}
        modules = {cls.__module__ for cls in classes} - {FuncEnv.__module__}
        files = {getattr(sys.modules.get(module), "__file__", None) for module in modules}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        return f" at line {frames[-1].lineno} of {frames[-1].filename.rpartition('/')[2]}" if frames else ""


def call_function(name: str, env: AnyEnv, *args: Any) -> Any:
    """Call a function of the environment, or of one of its spaces, by its name in `FUNCTIONS`."""
    return functools.reduce(getattr, name.split("."), env)(*args)  # type: ignore[operator]


def inputs_used(jaxpr: Jaxpr, outputs: list[bool] | None = None) -> list[bool]:
    """Return for each input whether any of these outputs, by default all, depends on it.

    A loop or a branch counts as using all of its inputs. Calls of jitted functions are followed.

    >>> inputs_used(jax.make_jaxpr(lambda x, y: (x + 1, 2.0))(0.0, 0.0).jaxpr)
    [True, False]
    """
    live = _variables(jaxpr.outvars, outputs or [True] * len(jaxpr.outvars))
    for eqn in reversed(jaxpr.eqns):
        needed = [var in live for var in eqn.outvars]
        if any(needed):
            called = eqn.params.get("jaxpr") if eqn.primitive.name in ("jit", "pjit") else None
            used = inputs_used(called.jaxpr, needed) if called else [True] * len(eqn.invars)
            live |= _variables(eqn.invars, used)
    return [var in live for var in jaxpr.invars]


def _variables(atoms: Any, selected: list[bool]) -> set[Any]:
    return {atom for atom, use in zip(atoms, selected, strict=True) if use and not isinstance(atom, Literal)}


def leaves_by_path(tree: Any) -> dict[str, Any]:
    """Return the leaves by their paths, such as `theta`, `env.gravity` or `['x']`; a single leaf has the path "".

    >>> leaves_by_path({"x": 1})
    {"['x']": 1}
    """
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path).removeprefix("."): leaf for path, leaf in leaves}


def same_structure(first: Any, second: Any) -> bool:
    """Return whether two trees have the same containers, static fields and number of leaves.

    >>> same_structure((1, 2), [1, 2])
    False
    """
    structure: Any = jax.tree.structure(first)
    return bool(structure == jax.tree.structure(second))


def format_values(tree: Any) -> str:
    """Format a tree in one line.

    >>> format_values({"x": 1, "y": 2})
    "['x'] = 1, ['y'] = 2"
    """
    return ", ".join(f"{path} = {leaf!s}".removeprefix(" = ") for path, leaf in leaves_by_path(tree).items())[:400]


def format_aval(leaf: Any) -> str:
    """Format dtype and shape, as in `float32[4]`."""
    return f"{leaf.dtype}{list(leaf.shape)}"

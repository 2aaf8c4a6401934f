"""The environment under test, and its functions as JAX sees them: traced, not run."""

from __future__ import annotations

import dataclasses
import functools
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from funcenv.func_env import FuncEnv
from funcenv.wrappers.base import layers

# Each function, what it is called with, and what its result is called; every argument is known when its turn comes.
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


@dataclasses.dataclass(frozen=True)
class Failure:
    """An exception that the environment's code raised, as a value."""

    error: Exception
    place: str  # where in the environment's files, or ""

    def __str__(self) -> str:
        lines = [line.strip() for line in str(self.error).splitlines() if line.strip()]
        message = lines[0][:400].rstrip(".:") if lines else "no message"
        return f"{type(self.error).__name__}{self.place}: {message}"


@dataclasses.dataclass(frozen=True)
class Trace:
    """One function, traced: the program, and the shapes, dtypes and weak types of what it returned."""

    jaxpr: ClosedJaxpr
    out: Any


@dataclasses.dataclass(frozen=True)
class Survey:
    """All functions, traced under the same settings; one whose arguments could not be made is left out."""

    traces: dict[str, Trace]
    failures: dict[str, Failure]
    known: dict[str, Any]  # abstract arguments by name, with strong types, as `reset` and `step` pass them on


class Subject:
    """What the checks look at.

    Args:
        env: the environment.
        key: a typed key.
        traced: whether the parameters are arguments of the traced and compiled functions, as they are inside
            `rollout`; where the environment cannot bear that, they are constants.
    """

    def __init__(self, env: FuncEnv[Any, Any, Any], key: jax.Array, traced: bool = True) -> None:
        self.env = env
        self.key = key
        self.traced = traced
        self.name = type(env).__name__

    @property
    def levels(self) -> Iterator[FuncEnv[Any, Any, Any]]:
        """The environment and what it wraps, from the outside in."""
        return layers(self.env)

    @functools.cached_property
    def survey(self) -> Survey:
        """Every function of the contract, traced under JAX's default settings."""
        return self.trace_all()

    @functools.cached_property
    def strict_survey(self) -> Survey:
        """The same with `jax_numpy_dtype_promotion="strict"`."""
        with jax.numpy_dtype_promotion("strict"):
            return self.trace_all()

    def trace(self, function: Callable[..., Any], *args: Any) -> Trace | Failure:
        """Trace `function(env, *args)`."""
        if self.traced:
            traceable = functools.partial(function)  # a new object, so that nothing is remembered from an earlier trace
            made = self.attempt(lambda: jax.make_jaxpr(traceable, return_shape=True)(self.env, *args))
        else:
            traceable = functools.partial(function, self.env)
            made = self.attempt(lambda: jax.make_jaxpr(traceable, return_shape=True)(*args))
        return made if isinstance(made, Failure) else Trace(*made)

    def trace_all(self) -> Survey:
        """Trace every function anew, under whatever JAX settings hold now."""
        survey = Survey({}, {}, {"key": self.key})
        for name, (arguments, produced) in FUNCTIONS.items():
            if not all(argument in survey.known for argument in arguments):
                continue
            trace = self.trace(functools.partial(call, name), *(survey.known[argument] for argument in arguments))
            if isinstance(trace, Failure):
                survey.failures[name] = trace
                continue
            survey.traces[name] = trace
            if produced:
                survey.known[produced] = strong(trace.out)
        return survey

    def attempt(self, function: Callable[[], Any]) -> Any | Failure:
        """What `function` returns, or the exception it raised as a `Failure`.

        The one place where any exception is caught: the code under test is anybody's and may raise anything, and that
        is a finding and no reason to stop looking.
        """
        try:
            return function()
        except Exception as error:
            return Failure(error, self._place(error))

    def _place(self, error: Exception) -> str:
        """The last line of the environment's own files that the exception passed through."""
        classes = {cls for level in self.levels for cls in type(level).__mro__ if issubclass(cls, FuncEnv)}
        modules = {cls.__module__ for cls in classes} - {FuncEnv.__module__}
        files = {getattr(sys.modules.get(module), "__file__", None) for module in modules}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        return f" at line {frames[-1].lineno} of {frames[-1].filename.rpartition('/')[2]}" if frames else ""


def call(name: str, env: FuncEnv[Any, Any, Any], *args: Any) -> Any:
    """Call a function of the environment, or of one of its spaces, by its name in `FUNCTIONS`."""
    return functools.reduce(getattr, name.split("."), env)(*args)  # type: ignore[operator]


def strong(tree: Any) -> Any:
    """The same abstract values without weak types."""
    return jax.tree.map(lambda leaf: leaf.update(weak_type=False), tree)


def leaves_by_path(tree: Any) -> dict[str, Any]:
    """Leaves by where they are, as `theta`, `env.gravity` or `['x']`; a single leaf is at the empty path.

    >>> leaves_by_path({"x": 1})
    {"['x']": 1}
    """
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path).removeprefix("."): leaf for path, leaf in leaves}


def show_values(tree: Any) -> str:
    """A tree in one line.

    >>> show_values({"x": 1, "y": 2})
    "['x'] = 1, ['y'] = 2"
    """
    parts = [f"{path} = {leaf}" if path else str(leaf) for path, leaf in leaves_by_path(tree).items()]
    return ", ".join(parts)[:400]


def same_structure(first: Any, second: Any) -> bool:
    """Whether two trees have the same containers, static fields and number of leaves.

    >>> same_structure((1, 2), [1, 2])
    False
    """
    structure: Any = jax.tree.structure(first)
    return bool(structure == jax.tree.structure(second))


def show_kind(leaf: Any) -> str:
    """Dtype and shape, as `float32[4]`."""
    return f"{leaf.dtype}{list(leaf.shape)}"

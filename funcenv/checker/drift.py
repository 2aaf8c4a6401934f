"""Drift: a state or a time step that changes its kind on the way, so that `jax.lax.scan` cannot carry it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.subject import Failure, Subject, leaves_by_path, same_structure, show_kind

FIX = (
    "return the same structure, shapes and dtypes from initial and transition, say with astype or jnp.zeros((), float)"
)


def check_drift(subject: Subject) -> Iterator[Finding]:
    """`transition` returns what `initial` returned, and `step` what `reset` did."""
    traces = subject.survey.traces
    initial, transition = traces["initial"].out, traces["transition"].out
    for seen in kind_differences(initial, transition):
        yield error("state-drift", f"{subject.name}.transition", seen, FIX)
    for name in ("initial", "transition"):
        weak = [path for path, leaf in leaves_by_path(traces[name].out).items() if leaf.weak_type]
        if weak:
            yield warning(
                "state-weak-type",
                f"{subject.name}.{name}",
                f"{', '.join(path or 'the state' for path in weak)} has a weak type, as a Python number has; reset and "
                "step make it strong, but a scan over transition itself compiles twice or fails",
                "give the dtype, as in jnp.zeros((), float) or jnp.asarray(x, jnp.int32)",
            )


def check_whole(subject: Subject) -> Iterator[Finding]:
    """`reset` and `step` trace as a whole."""
    known = subject.survey.known
    traces = {
        "reset": subject.trace(lambda env, key: env.reset(key), known["key"]),
        "step": subject.trace(lambda env, *args: env.step(*args), known["state"], known["action"], known["key"]),
    }
    for name, trace in traces.items():
        if isinstance(trace, Failure):
            yield error(
                f"{name}-fails",
                f"{subject.name}.{name}",
                f"the functions trace one by one, but together {name} raises {trace}",
                "let each function return what FuncEnv documents; the keys of infos are strings",
            )


def kind_differences(initial: Any, transition: Any) -> Iterator[str]:
    """Where the states of `initial` and `transition` differ: in structure, or else leaf by leaf in shape or dtype."""
    if not same_structure(initial, transition):
        structures = _shape_of_tree(initial), _shape_of_tree(transition)
        yield "its structure is {} after initial and {} after transition".format(*structures)
        return
    others = leaves_by_path(transition)
    for path, leaf in leaves_by_path(initial).items():
        other = others[path]
        if (leaf.shape, leaf.dtype) != (other.shape, other.dtype):
            yield f"{path or 'the state'} is {show_kind(leaf)} after initial and {show_kind(other)} after transition"


def _shape_of_tree(tree: Any) -> str:
    return str(jax.tree.structure(tree)).removeprefix("PyTreeDef(").removesuffix(")")

"""What travels: an environment survives pickling, and its picture can be traced."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.subject import Failure, Subject, same_structure


def check_pickle(subject: Subject) -> Iterator[Finding]:
    """A pickled copy has the same structure and the same parameters."""
    copy = subject.attempt(lambda: pickle.loads(pickle.dumps(subject.env)))
    if isinstance(copy, Failure):
        yield warning(
            "pickle-fails",
            subject.name,
            f"pickling it and loading it again raises {copy}",
            "define classes and functions at the top of a module, and use no lambda as a field",
        )
    elif subject.attempt(lambda: _equal(copy, subject.env)) is False:
        yield error(
            "pickle-differs",
            subject.name,
            "a pickled copy is not equal to the original in its static fields or parameters, so that jit compiles "
            "again for it",
            "give what a static field holds an __eq__ and __hash__ by value",
        )


def check_scene(subject: Subject) -> Iterator[Finding]:
    """`scene` traces, unless the environment has none."""
    trace = subject.trace(lambda env, state: env.scene(state), subject.survey.known["state"])
    if isinstance(trace, Failure) and not isinstance(trace.error, NotImplementedError):
        yield error(
            "scene-fails",
            f"{subject.name}.scene",
            f"traced, it raises {trace}",
            "build the scene from jnp operations, with a number of shapes that does not depend on the state",
        )


def _equal(copy: Any, env: Any) -> bool:
    return same_structure(copy, env) and all(map(np.array_equal, jax.tree.leaves(copy), jax.tree.leaves(env)))

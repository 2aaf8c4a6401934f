"""What travels: an environment survives pickling, and its picture can be traced."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.subject import Failure, Subject, Trace, same_structure
from funcenv.scene import Scene, rasterize, require_same_structure

_WALKS, _STEPS = 4, 20  # on which the scene is looked at


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
    """`scene` traces and can be drawn, unless the environment has none."""
    known = subject.survey.known["state"]
    trace = subject.trace(lambda env, state: env.scene(state), known)
    if isinstance(trace, Failure):
        if not isinstance(trace.error, NotImplementedError):
            changed = subject.attempt(lambda: _require_steady_scene(subject))
            named = isinstance(changed, Failure) and isinstance(changed.error, ValueError)
            reason = f"; run, it raises {changed}" if named else ""
            yield error(
                "scene-fails",
                f"{subject.name}.scene",
                f"traced, it raises {trace}{reason}",
                "build the scene from jnp operations, with a number of shapes that does not depend on the state",
            )
        return
    if not isinstance(trace.out, Scene):
        drawn: Any = f"it is not a Scene but a {type(trace.out).__name__}"
    else:
        drawn = subject.trace(lambda env, state: rasterize(env.scene(state), 8, 8), known)
    if not isinstance(drawn, Trace):
        yield error(
            "scene-fails",
            f"{subject.name}.scene",
            f"drawn, it raises {drawn}" if isinstance(drawn, Failure) else drawn,
            "return a funcenv.scene.Scene of shapes, each with the fields that its class declares",
        )


def _require_steady_scene(subject: Subject) -> None:
    """Raise `ValueError` where the shapes of a scene that does not trace change on some walks."""
    env, first = subject.env, None
    for key in jax.random.split(subject.key, _WALKS):
        keys = jax.random.split(key, 2 * _STEPS + 1)
        state = env.initial(keys[-1])
        first = env.scene(state) if first is None else first
        for t in range(_STEPS):
            require_same_structure(first, env.scene(state), f"after {t} steps")
            state = env.transition(state, env.action_space.sample(keys[2 * t]), keys[2 * t + 1])


def _equal(copy: Any, env: Any) -> bool:
    return same_structure(copy, env) and all(map(np.array_equal, jax.tree.leaves(copy), jax.tree.leaves(env)))

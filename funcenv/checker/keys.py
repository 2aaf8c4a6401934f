"""Random keys: each is used once, none is kept, and the first state depends on its own."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp

from funcenv.checker.dependence import inputs_used
from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.subject import Subject, leaves_by_path


def check_keys(subject: Subject) -> Iterator[Finding]:
    """Key reuse, keys in the state, and an `initial` that ignores its key."""
    yield from _reuse(subject)
    state = leaves_by_path(subject.survey.known["state"])
    kept = [path or "the state" for path, leaf in state.items() if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)]
    if kept:
        yield error(
            "key-in-state",
            f"{subject.name}.initial",
            f"{', '.join(kept)} holds a random key, so that stepping twice from one state draws the same",
            "draw from the key that transition is given, and keep what was drawn",
        )
    if not any(level.fixed_start for level in subject.levels):
        trace = subject.survey.traces["initial"]
        if not inputs_used(trace.jaxpr)[-1]:
            yield warning(
                "key-ignored",
                f"{subject.name}.initial",
                "the first state does not depend on the key: every episode starts alike",
                "draw the state from the key, or declare it with the class attribute fixed_start = True",
            )


def _reuse(subject: Subject) -> Iterator[Finding]:
    with jax.debug_key_reuse(True):
        failures = subject.trace_all().failures
    for name, failure in failures.items():
        if isinstance(failure.error, jax.errors.KeyReuseError):
            yield error(
                "key-reuse",
                f"{subject.name}.{name}",
                f"a key is used more than once, so that draws are equal or correlated: {failure}",
                "split it once, at the top: first_key, second_key = jax.random.split(key)",
            )

"""Checks that the functions compute from their arguments alone, and use each random key once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.trace import EnvUnderTest, inputs_used, leaves_by_path

REMEDY = "compute from the arguments alone: keep memory in the state, draw from the key, and read no clock or global"


def check_keys(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that keys are used once and kept nowhere, and that `initial` depends on its key."""
    with jax.debug_key_reuse(True):
        failures = tested.trace_all().failures
    for name, failure in failures.items():
        if isinstance(failure.error, jax.errors.KeyReuseError):
            yield error(
                "key-reuse",
                f"{tested.name}.{name}",
                f"a key is used more than once, so that draws are equal or correlated: {failure}",
                "split it once, at the top: first_key, second_key = jax.random.split(key)",
            )
    kept = [
        path or "the state" for path, leaf in leaves_by_path(tested.report.values["state"]).items() if _is_key(leaf)
    ]
    if kept:
        yield error(
            "key-in-state",
            f"{tested.name}.initial",
            f"{', '.join(kept)} holds a random key, so that stepping twice from one state draws the same",
            "draw from the key that transition is given, and keep what was drawn",
        )
    uses_key = inputs_used(tested.report.traces["initial"].jaxpr)[-1]
    if not uses_key and not any(level.fixed_start for level in tested.levels):
        yield warning(
            "key-ignored",
            f"{tested.name}.initial",
            "the first state does not depend on the key: every episode starts alike",
            "draw the state from the key, or declare it with the class attribute fixed_start = True",
        )


def check_purity(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that a second trace gives the same program, and that no traced array outlives its call."""
    again = tested.trace_all().traces
    for name, trace in tested.report.traces.items():
        if name in again and _program(trace.jaxpr) != _program(again[name].jaxpr):
            yield error(
                "impure-trace",
                f"{tested.name}.{name}",
                "tracing it twice with the same arguments gives two different programs: it reads something that "
                "changes, such as a counter, a clock or numpy.random",
                REMEDY,
            )
    with jax.checking_leaks():
        failures = tested.trace_all().failures
    for name, failure in failures.items():
        if "Leaked" in str(failure):
            yield error(
                "tracer-leak",
                f"{tested.name}.{name}",
                "it stores a traced array outside of its own call, in an attribute or a global, where a later call "
                "would find a dead value",
                REMEDY,
            )


def _program(closed: ClosedJaxpr) -> tuple[str, list[bytes]]:
    """Return the program as text, without addresses of Python objects, and its constants."""
    text = re.sub(r"0x[0-9a-f]+", "", str(closed))
    return text, [np.asarray(const).tobytes() for const in closed.consts if not _is_key(const)]


def _is_key(leaf: jax.Array) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))

"""Purity, as tracing shows it: the same call gives the same program, and leaves nothing behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from funcenv.checker.findings import Finding, error
from funcenv.checker.subject import Subject

REMEDY = "compute from the arguments alone: keep memory in the state, draw from the key, and read no clock or global"


def check_purity(subject: Subject) -> Iterator[Finding]:
    """Trace everything again and compare; then once more under JAX's leak detector."""
    again = subject.trace_all()
    for name, trace in subject.survey.traces.items():
        if name in again.traces and _program(trace.jaxpr) != _program(again.traces[name].jaxpr):
            yield error(
                "impure-trace",
                f"{subject.name}.{name}",
                "tracing it twice with the same arguments gives two different programs: it reads something that "
                "changes, such as a counter, a clock or numpy.random",
                REMEDY,
            )
    with jax.checking_leaks():
        failures = subject.trace_all().failures
    for name, failure in failures.items():
        if "Leaked" in str(failure):
            yield error(
                "tracer-leak",
                f"{subject.name}.{name}",
                "it stores a traced array outside of its own call, in an attribute or a global, where a later call "
                "would find a dead value",
                REMEDY,
            )


def _program(closed: ClosedJaxpr) -> tuple[str, list[Any]]:
    """The program as text, without addresses of Python objects, and its constants."""
    text = re.sub(r"0x[0-9a-f]+", "", str(closed))
    return text, [np.asarray(const).tobytes() for const in closed.consts if not _is_key(const)]


def _is_key(const: Any) -> bool:
    return bool(jnp.issubdtype(const.dtype, jax.dtypes.prng_key))

"""Strict promotion of dtypes and ranks: arithmetic whose result type nobody has to guess."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from funcenv.checker.findings import Finding, error
from funcenv.checker.subject import Subject

REMEDIES = {
    "dtype": "cast explicitly, as in action.astype(x.dtype)",
    "rank": "give the arrays the same number of axes, as in x[:, None]",
}


def check_promotion(subject: Subject) -> Iterator[Finding]:
    """Trace with `jax_numpy_dtype_promotion="strict"`, then with `jax_numpy_rank_promotion="raise"`."""
    with jax.numpy_rank_promotion("raise"):
        same_ranks = subject.trace_all()
    for kind, failures in (("dtype", subject.strict_survey.failures), ("rank", same_ranks.failures)):
        for name, failure in failures.items():
            if name not in subject.survey.failures:
                yield error(
                    f"{kind}-promotion",
                    f"{subject.name}.{name}",
                    f"under strict {kind} promotion it raises {failure}",
                    REMEDIES[kind],
                )

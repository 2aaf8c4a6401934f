"""64-bit numbers: with `jax_enable_x64` the state is wider, the observation is what its space says."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from funcenv.checker.drift import kind_differences
from funcenv.checker.findings import Finding, error
from funcenv.checker.subject import Subject, leaves_by_path, show_kind


def check_x64(subject: Subject) -> Iterator[Finding]:
    """Trace with `jax_enable_x64`; with strict promotion too, unless a parameter has a dtype of its own."""
    numbers = all(isinstance(leaf, (bool, int, float)) for leaf in jax.tree.leaves(subject.env))
    with jax.enable_x64(True):
        wide = subject.trace_all()
        if numbers and not wide.failures and not subject.strict_survey.failures:
            with jax.numpy_dtype_promotion("strict"):
                wide = subject.trace_all()
        member = jax.eval_shape(subject.env.observation_space.sample, subject.key)
    for name, failure in wide.failures.items():
        if name not in subject.survey.failures:
            yield error(
                "x64-fails",
                f"{subject.name}.{name}",
                f"with jax_enable_x64 it raises {failure}",
                "write dtype float instead of jnp.float32 for what follows the precision, and cast where dtypes meet",
            )
    if "transition" in wide.traces:
        for seen in kind_differences(wide.traces["initial"].out, wide.traces["transition"].out):
            yield error(
                "x64-drift",
                f"{subject.name}.transition",
                f"with jax_enable_x64, {seen}",
                "give both the same explicit dtype: float for reals, jnp.int32 for counts",
            )
    if "observation" in wide.known:
        declared = leaves_by_path(member)
        for path, leaf in leaves_by_path(wide.known["observation"]).items():
            if leaf.dtype != declared[path].dtype:
                yield error(
                    "x64-dtype",
                    f"{subject.name}.observation",
                    f"with jax_enable_x64, {path or 'it'} is {show_kind(leaf)}, but its space says "
                    f"{declared[path].dtype}",
                    "cast the observation to the dtype of its space with astype",
                )

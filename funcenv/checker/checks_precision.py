"""Checks under stricter settings of JAX: no implicit promotion of dtypes or ranks, and 64-bit numbers."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from funcenv.checker.checks_kinds import state_differences
from funcenv.checker.findings import Finding, error
from funcenv.checker.trace import EnvUnderTest, format_aval, leaves_by_path


def check_promotion(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that tracing works with strict dtype promotion, and with `jax_numpy_rank_promotion="raise"`."""
    with jax.numpy_rank_promotion("raise"):
        ranks = tested.trace_all().failures
    for kind, failures, remedy in (
        ("dtype", tested.strict_report.failures, "cast explicitly, as in action.astype(x.dtype)"),
        ("rank", ranks, "give the arrays the same number of axes, as in x[:, None]"),
    ):
        for name, failure in failures.items():
            seen = f"under strict {kind} promotion it raises {failure}"
            yield error(f"{kind}-promotion", f"{tested.name}.{name}", seen, remedy)


def check_x64(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that tracing works with `jax_enable_x64`, and that observations keep the dtypes of their space.

    Promotion is strict as well, unless a parameter has a dtype of its own or strict promotion fails without x64.
    """
    has_plain_parameters = all(isinstance(leaf, (bool, int, float)) for leaf in jax.tree.leaves(tested.env))
    with jax.enable_x64(True):
        wide = tested.trace_all()
        if has_plain_parameters and not wide.failures and not tested.strict_report.failures:
            with jax.numpy_dtype_promotion("strict"):
                wide = tested.trace_all()
        declared = leaves_by_path(jax.eval_shape(tested.env.observation_space.sample, tested.key))
    for name, failure in wide.failures.items():
        remedy = "write dtype float instead of jnp.float32 for what follows the precision, and cast where dtypes meet"
        yield error("x64-fails", f"{tested.name}.{name}", f"with jax_enable_x64 it raises {failure}", remedy)
    if "transition" in wide.traces:
        for seen in state_differences(wide.traces["initial"].out, wide.traces["transition"].out):
            remedy = "give both the same explicit dtype: float for reals, jnp.int32 for counts"
            yield error("x64-drift", f"{tested.name}.transition", f"with jax_enable_x64, {seen}", remedy)
    for path, leaf in leaves_by_path(wide.values.get("observation")).items():
        if leaf.dtype != declared[path].dtype:
            seen = f"{path or 'it'} is {format_aval(leaf)}, but its space says {declared[path].dtype}"
            remedy = "cast the observation to the dtype of its space with astype"
            yield error("x64-dtype", f"{tested.name}.observation", f"with jax_enable_x64, {seen}", remedy)

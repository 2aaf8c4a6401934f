"""Checks that trace the functions again: for purity, for single use of keys, and under stricter settings of JAX."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from funcenv.checker.checks_kinds import state_differences
from funcenv.checker.findings import Finding, error, portability, warning
from funcenv.checker.trace import EnvUnderTest, Failure, format_aval, inputs_used, leaves_by_path
from funcenv.func_env import AnyEnv
from funcenv.random.keys import is_key

PURE = "compute from the arguments alone: keep memory in the state, draw from the key, and read no clock or global"


def check_keys(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that keys are used once and kept nowhere, and that `initial` depends on its key."""
    with jax.debug_key_reuse(True):
        failures = tested.trace_all().failures
    for name, failure in failures.items():
        if isinstance(failure.error, jax.errors.KeyReuseError):
            seen = f"a key is used more than once, so that draws are equal or correlated: {failure}"
            remedy = "split it once, at the top: first_key, second_key = jax.random.split(key)"
            yield error("key-reuse", tested.env, name, seen, remedy)
    leaves = leaves_by_path(tested.report.values["state"])
    if kept := ", ".join(path or "the state" for path, leaf in leaves.items() if is_key(leaf)):
        seen = f"{kept} holds a random key, so that stepping twice from one state draws the same"
        remedy = "draw from the key that transition is given, and keep what was drawn"
        yield error("key-in-state", tested.env, "initial", seen, remedy)
    uses_key = inputs_used(tested.report.traces["initial"].jaxpr.jaxpr)[-1]
    if not uses_key and not any(level.fixed_start for level in tested.levels):
        seen = "the first state does not depend on the key: every episode starts alike"
        remedy = "draw the state from the key, or declare it with the class attribute fixed_start = True"
        yield warning("key-ignored", tested.env, "initial", seen, remedy)


def check_purity(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that tracing changes no argument, gives the same program twice, and leaves no traced array behind."""
    again = tested.trace_all().traces
    for name, trace in tested.report.traces.items():
        if name in again and _program(trace.jaxpr) != _program(again[name].jaxpr):
            seen = "tracing it twice with the same arguments gives two different programs: it reads something that "
            seen += "changes, such as a counter, a clock or numpy.random"
            yield error("impure-trace", tested.env, name, seen, PURE)
        if trace.changed:
            seen = "it changes a dict or a list that it is given, so that its caller's state changes in plain calls"
            yield error("argument-changed", tested.env, name, seen, "build a new one, as in {**state, 'x': x}")
    with jax.checking_leaks():
        failures = tested.trace_all().failures
    for name, failure in failures.items():
        if "Leaked" in str(failure):
            seen = "it stores a traced array outside of its own call, in an attribute or a global, where a later call "
            yield error("tracer-leak", tested.env, name, seen + "would find a dead value", PURE)


def _program(closed: ClosedJaxpr) -> tuple[str, list[bytes]]:
    """Return the program as text, without addresses of Python objects, and its constants."""
    text = re.sub(r"0x[0-9a-f]+", "", str(closed))
    return text, [np.asarray(const).tobytes() for const in closed.consts if not is_key(const)]


def check_promotion(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that tracing works with strict dtype promotion, and with `jax_numpy_rank_promotion="raise"`."""
    with jax.numpy_rank_promotion("raise"):
        ranks = tested.trace_all().failures
    for kind, setting, failures, remedy in (
        ("dtype", "strict", tested.strict_report.failures, "cast explicitly, as in action.astype(x.dtype)"),
        ("rank", "raise", ranks, "give the arrays the same number of axes, as in x[:, None]"),
    ):
        for name, failure in failures.items():
            seen = f"with jax_numpy_{kind}_promotion={setting!r}, which is not the default, it raises {failure}"
            yield portability(f"{kind}-promotion", _culprit(tested, failure), name, seen, remedy)


def _culprit(tested: EnvUnderTest, failure: Failure) -> AnyEnv:
    """Return the innermost environment or wrapper whose file the exception passed through."""
    files = [frame.filename for frame in traceback.extract_tb(failure.error.__traceback__)]
    for level in reversed(tested.levels):
        if getattr(sys.modules.get(type(level).__module__), "__file__", None) in files:
            return level
    return tested.env


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
        seen = f"with jax_enable_x64 it raises {failure}"
        yield portability("x64-fails", _culprit(tested, failure), name, seen, remedy)
    if "transition" in wide.traces:
        for seen in state_differences(wide.traces["initial"].out, wide.traces["transition"].out):
            remedy = "give both the same explicit dtype: float for reals, jnp.int32 for counts"
            yield portability("x64-drift", tested.env, "transition", f"with jax_enable_x64, {seen}", remedy)
    for path, leaf in leaves_by_path(wide.values.get("observation")).items():
        if leaf.dtype != declared[path].dtype:
            seen = f"{path or 'it'} is {format_aval(leaf)}, but its space says {declared[path].dtype}"
            remedy = "cast the observation to the dtype of its space with astype"
            yield portability("x64-dtype", tested.env, "observation", f"with jax_enable_x64, {seen}", remedy)

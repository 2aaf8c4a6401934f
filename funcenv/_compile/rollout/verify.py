"""Comparison of a rollout program with the plain program, step by step.

The program plays one step at a time, and the plain program plays the same steps from the same states, until some
episode has ended and the next has begun. Single steps are compared because rounding differences grow along the
trajectory of a chaotic system.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv._compile.options import quick_options
from funcenv._compile.rollout.program import RolloutArgs, RolloutResult, RolloutSpec, reference_step
from funcenv._compile.verified import agree
from funcenv.struct import NDArray
from funcenv.vector import VectorState
from funcenv.vector_step import take

_MAX_STEPS = 256
_MAX_ENV_STEPS = 2**20
_MAX_COMPARED_ENVS = 256

Program = Callable[[RolloutArgs, VectorState[Any], Any, Any, Any], RolloutResult]  # `run_steps` with its spec


def matches_reference(
    program: Program,
    spec: RolloutSpec,
    args: RolloutArgs,
    vstate: VectorState[Any],
    reset_first: bool,
    num_steps: int,
    reference: Callable[..., RolloutResult] | None = None,
) -> bool:
    """Return whether the program's single steps equal those of the plain program; floats up to rounding.

    Args:
        program: the program to verify.
        spec: what it is compiled for.
        args: its arguments.
        vstate: the state to start from, with `key=None`. Ignored when `reset_first` is true.
        reset_first: whether to start from a reset.
        num_steps: at most so many steps are compared.
        reference: from `compile_reference`, which is called by default.
    """
    max_steps = max(min(num_steps, _MAX_STEPS, _MAX_ENV_STEPS // args.venv.num_envs), 1)
    if reset_first:
        vstate = program(args, vstate, np.True_, np.uint32(0), np.int32(0)).vstate
    reference = compile_reference(spec, args, vstate) if reference is None else reference
    for step in range(max_steps):
        result = program(args, vstate, np.False_, np.uint32(step), np.int32(1))
        ended = _ended(vstate, result.vstate)
        if step < 2 or ended.any() or step == max_steps - 1:
            rows = _compared_rows(ended)
            if not agree(_at_rows(result, rows), reference(args, vstate, np.uint32(step), rows)):
                return False
            if (ended.any() and step >= 2) or _is_finished(spec, result):
                break
        vstate = result.vstate
    return True


def compile_reference(spec: RolloutSpec, args: RolloutArgs, vstate: VectorState[Any]) -> Callable[..., RolloutResult]:
    """Compile a plain step of some environments, quickly; the arguments are those of `matches_reference`."""
    rows = _compared_rows(np.zeros(args.venv.num_envs, bool))
    lowered = jax.jit(functools.partial(_reference, spec)).lower(args, vstate, np.uint32(0), rows)
    compiled: Callable[..., RolloutResult] = lowered.compile(compiler_options=quick_options())
    return compiled


def _reference(
    spec: RolloutSpec, args: RolloutArgs, vstate: VectorState[Any], step_index: jax.Array, rows: jax.Array
) -> RolloutResult:
    """Take a plain step of some environments."""
    venv = args.venv.subset(rows.size, lambda leaf: take(leaf, rows)).replace(reset_strategy="select")
    keys, policy_keys, vstate = take((args.keys, args.policy_keys, vstate), rows)
    args = RolloutArgs(venv, args.policy, keys, policy_keys)
    (vstate, _, totals), kept = reference_step(spec, args, vstate, step_index, venv)
    return RolloutResult(vstate.replace(key=None), None if spec.collect is None else spec.collect(*kept), totals)


def _at_rows(result: RolloutResult, rows: Any) -> RolloutResult:
    """Return some rows of a result of one step, on the host."""
    vstate, collected, totals = jax.device_get(result)
    collected = jax.tree.map(lambda leaf: leaf[0], collected)
    result = RolloutResult(vstate, collected, totals)
    if rows.size == vstate.done.size:  # All rows: what is collected need not have a leading axis `[num_envs]`.
        return result
    some: RolloutResult = jax.tree.map(lambda leaf: leaf[rows], result)
    return some


def _ended(before: VectorState[Any], after: VectorState[Any]) -> NDArray:
    """Return where an episode ended or began."""
    return np.asarray(after.done) | (np.asarray(after.num_calls) - np.asarray(before.num_calls) > 1)


def _is_finished(spec: RolloutSpec, result: RolloutResult) -> bool:
    """Return whether the program would play no more steps."""
    return spec.accumulator.is_finished is not None and bool(spec.accumulator.is_finished(result.totals))


def _compared_rows(ended: NDArray) -> NDArray:
    """Return all rows; of a large batch the first rows that ended, and others from everywhere."""
    if ended.size <= _MAX_COMPARED_ENVS:
        return np.arange(ended.size, dtype=np.int32)
    first = np.flatnonzero(ended)[: _MAX_COMPARED_ENVS // 2]
    others = np.linspace(0, ended.size - 1, _MAX_COMPARED_ENVS - first.size)
    return np.concatenate([first, others.astype(int)]).astype(np.int32)

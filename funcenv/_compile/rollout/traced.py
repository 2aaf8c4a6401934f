"""Rollouts inside a traced function: one kernel within the user's own program.

`funcenv._compile.traced` says where that is possible, and how it is verified.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.lazy_reset import fits_a_kernel
from funcenv._compile.options import trial_options
from funcenv._compile.rollout.program import (
    RolloutArgs,
    RolloutResult,
    RolloutSpec,
    empty_vstate,
    fit_spec,
    plain_steps,
    run_steps,
    treats_rows_alone,
)
from funcenv._compile.rollout.step import Accumulator, policy_actions
from funcenv._compile.rollout.verify import matches_reference
from funcenv._compile.single_kernel import compile_single_kernel, mark_single_kernel
from funcenv._compile.traced import Trials, allows_kernels, merge_envs, merge_rows, restore_numbers
from funcenv.func_env import AnyEnv
from funcenv.vector import AnyVectorEnv, VectorState


def run_traced(
    accumulator: Accumulator,
    args: RolloutArgs,
    vstate: VectorState[Any] | None,
    num_steps: int,
    collect: Callable[[Any, Any], Any] | None = None,
) -> RolloutResult | None:
    """Play `num_steps` steps by a single kernel within the program that is being traced.

    Args:
        accumulator: which totals to keep. Where it can be finished, `collect` must be None.
        args: environments, policy and keys.
        vstate: the state to resume from, with its keys; None resets first.
        num_steps: at least 1.
        collect: what to keep of a step, from the time step and the actions of all environments.

    Returns:
        The result, with keys in its vector state. None on other devices than a single CPU, inside `jax.shard_map`,
        for what XLA cannot put into a kernel without options, and with `FUNCENV_NO_FAST_PATH=1`.
    """
    spec = _usable_spec(accumulator, args, vstate, num_steps, collect)
    if spec is None:
        return None
    impls = jax.random.key_impl(args.keys), jax.random.key_impl(args.policy_keys)
    # Keys enter as integers: JAX's key-reuse check counts a key that enters a custom rule as consumed.
    data = jax.random.key_data(args.keys), jax.random.key_data(args.policy_keys)
    without_keys = None if vstate is None else vstate.replace(key=None)
    result: RolloutResult = _steps(spec, num_steps, impls, args.venv, args.policy, data, without_keys)
    return result._replace(vstate=result.vstate.replace(key=args.keys))


def _usable_spec(
    accumulator: Accumulator,
    args: RolloutArgs,
    vstate: VectorState[Any] | None,
    num_steps: int,
    collect: Callable[[Any, Any], Any] | None,
) -> RolloutSpec | None:
    """Return the spec of a kernel that is known to be right, or None."""
    if num_steps >= 2**31 or not allows_kernels(args.venv.env, args, vstate):
        return None
    if not fits_a_kernel(args.venv.env, args.venv.num_envs):
        return None
    if _captures_tracers(args) or (collect is not None and not treats_rows_alone(collect, args)):
        return None
    spec = fit_spec(accumulator, collect, 0 if collect is None else num_steps, args)
    return spec if spec is not None and _is_verified(spec, args, num_steps) else None


def _captures_tracers(args: RolloutArgs) -> bool:
    """Return whether the policy uses values of the program around it that are not among its own leaves."""
    timestep = jax.eval_shape(lambda venv, keys: venv.reset(keys), args.venv, args.keys)[1]
    index = jax.ShapeDtypeStruct((), "uint32")  # type: ignore[no-untyped-call]  # JAX declares no types for it.
    closed = jax.make_jaxpr(policy_actions)(args.policy, args.policy_keys, index, timestep.observation)
    return any(isinstance(const, jax.core.Tracer) for const in closed.consts)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _steps(
    spec: RolloutSpec, num_steps: int, impls: tuple[Any, Any], venv: Any, policy: Any, data: Any, vstate: Any
) -> RolloutResult:
    """Play by a kernel; in derivatives by the plain program."""
    return _kernel_steps(spec, num_steps, impls, venv, policy, data, vstate)


@_steps.defjvp
def _steps_jvp(spec: RolloutSpec, num_steps: int, impls: Any, primals: Any, tangents: Any) -> Any:
    return jax.jvp(functools.partial(_plain, spec, num_steps, impls), primals, tangents)


def _plain(
    spec: RolloutSpec, num_steps: int, impls: Any, venv: Any, policy: Any, data: Any, vstate: Any
) -> RolloutResult:
    args = _with_keys(impls, venv, policy, data)
    state = None if vstate is None else vstate.replace(key=args.keys)
    result = plain_steps(spec.accumulator, args, state, num_steps, spec.collect)
    return result._replace(vstate=result.vstate.replace(key=None))


def _with_keys(impls: Any, venv: Any, policy: Any, data: Any) -> RolloutArgs:
    keys, policy_keys = (jax.random.wrap_key_data(words, impl=impl) for words, impl in zip(data, impls, strict=True))
    return RolloutArgs(venv, policy, keys, policy_keys)


def _kernel_steps(
    spec: RolloutSpec, num_steps: int, impls: Any, venv: Any, policy: Any, data: Any, vstate: Any
) -> RolloutResult:
    """Play by a kernel, whose batch `jax.vmap` makes larger."""
    numbers = venv, policy

    @jax.custom_batching.custom_vmap
    def kernel_steps(venv: AnyVectorEnv, policy: Any, data: Any, vstate: Any) -> RolloutResult:
        args = _with_keys(impls, venv, policy, data)
        start = empty_vstate(args) if vstate is None else vstate
        kernel = mark_single_kernel(functools.partial(run_steps, spec), spec.chunks.style)
        reset_first = jnp.asarray(vstate is None)
        result: RolloutResult = kernel(args, start, reset_first, jnp.uint32(0), jnp.int32(num_steps))
        return result

    @kernel_steps.def_vmap
    def _(size: int, is_batched: Any, venv: AnyVectorEnv, policy: Any, data: Any, vstate: Any) -> Any:
        venv, policy = restore_numbers((is_batched[0], is_batched[1]), (venv, policy), numbers)
        everything = venv, policy, data, vstate
        result = None
        if not any(jax.tree.leaves(is_batched[1])):  # One policy acts in all environments.
            result = _merged_steps(spec, num_steps, impls, size, is_batched, everything)
        if result is None:
            axes = tuple(jax.tree.map(lambda batched: 0 if batched else None, is_batched))
            plain = functools.partial(_plain, spec, num_steps, impls)
            result = jax.vmap(plain, in_axes=axes, axis_size=size)(*everything)
        return result, jax.tree.map(lambda _: True, result)

    result: RolloutResult = kernel_steps(venv, policy, data, vstate)
    return result


def _merged_steps(
    spec: RolloutSpec, num_steps: int, impls: Any, size: int, is_batched: Any, everything: Any
) -> RolloutResult | None:
    """Play `size` mapped rollouts as one with all of their environments; None where no kernel can."""
    venv, policy, data, vstate = _merge(size, is_batched, *everything)
    args = _with_keys(impls, venv, policy, data)
    wide = fit_spec(spec.accumulator, spec.collect, spec.capacity, args)
    if wide is None or not _is_verified(wide, args, num_steps):
        return None
    merged = _kernel_steps(wide, num_steps, impls, venv, policy, data, vstate)
    by_rollout = jax.tree.map(lambda leaf: leaf.reshape(size, -1, *leaf.shape[1:]), (merged.vstate, merged.totals))
    collected = jax.tree.map(
        lambda leaf: jnp.moveaxis(leaf.reshape(leaf.shape[0], size, -1, *leaf.shape[2:]), 1, 0), merged.collected
    )
    return RolloutResult(by_rollout[0], collected, by_rollout[1])


def _merge(size: int, is_batched: Any, venv: AnyVectorEnv, policy: Any, data: Any, vstate: Any) -> Any:
    """Make one vector environment of `size` mapped ones."""
    env = merge_envs(size, is_batched[0].env, venv.env, venv.num_envs)
    data, vstate = merge_rows(size, (is_batched[2], is_batched[3]), (data, vstate))
    return venv.replace(env=env, num_envs=size * venv.num_envs), policy, data, vstate


def _is_verified(spec: RolloutSpec, args: RolloutArgs, num_steps: int) -> bool:
    """Return whether a kernel of this kind compiles and equals the plain program."""

    def try_it(env: AnyEnv, args: RolloutArgs) -> bool:
        return _try(spec, args._replace(venv=args.venv.replace(env=env)), num_steps)

    return trials.is_verified(spec, args.venv.env, args, try_it)


trials = Trials()


def _try(spec: RolloutSpec, args: RolloutArgs, num_steps: int) -> bool:
    start = args, empty_vstate(args), np.True_
    program = compile_single_kernel(
        functools.partial(run_steps, spec),
        *start,
        np.uint32(0),
        np.int32(1),
        style=spec.chunks.style,
        options=trial_options(),
    )
    return program is not None and matches_reference(program, spec, args, start[1], True, num_steps)

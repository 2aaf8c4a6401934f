"""Rollouts inside a traced function that are one kernel within the user's own program.

`funcenv._compile.traced` says where that is possible, and how it is verified.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.lazy_reset import require_fitting
from funcenv._compile.options import trial_options
from funcenv._compile.rollout.program import (
    RolloutArgs,
    RolloutResult,
    RolloutSpec,
    empty_vstate,
    fit_spec,
    plain_steps,
    require_rows_alone,
    run_steps,
)
from funcenv._compile.rollout.step import (
    Accumulator,
    Step,
    kernel_step_or_plain,
    looped_step,
    plain_step,
    policy_actions,
)
from funcenv._compile.rollout.verify import compile_reference, matches_reference
from funcenv._compile.single_kernel import compile_single_kernel, mark_single_kernel
from funcenv._compile.traced import kernel_in_trace, merge_envs, merge_rows, require_kernels, require_verified
from funcenv._compile.verified import Refusal, fast_or_plain
from funcenv._jax import Shape
from funcenv.func_env import AnyEnv
from funcenv.vector import AnyVectorEnv, VectorState


class _Kind(NamedTuple):
    """What a traced rollout is traced for, besides its arguments; hashable."""

    spec: RolloutSpec
    num_steps: int
    impls: tuple[Hashable, Hashable]
    """the PRNG implementations of the keys of the environments and of the policies"""

    def args(self, venv: AnyVectorEnv, policy: Any, data: tuple[jax.Array, jax.Array]) -> RolloutArgs:
        """Return the arguments of a rollout, whose keys come as integers."""
        keys, policy_keys = (
            jax.random.wrap_key_data(words, impl=impl) for words, impl in zip(data, self.impls, strict=True)
        )
        return RolloutArgs(venv, policy, keys, policy_keys)


def play_in_trace(
    accumulator: Accumulator,
    args: RolloutArgs,
    vstate: VectorState[Any] | None,
    num_steps: int,
    collect: Callable[[Any, Any], Any] | None = None,
) -> RolloutResult:
    """Play `num_steps` steps by a single kernel within the program that is being traced.

    Args:
        accumulator: which totals to keep. Where it can be finished, `collect` must be None.
        args: environments, policy and keys.
        vstate: the state to resume from, with its keys; None resets first.
        num_steps: at least 1.
        collect: what to keep of a step, from the time step and the actions of all environments.

    Returns:
        The result, with keys in its vector state.

    Raises:
        Refusal: no kernel can play this rollout, or none is allowed here.
    """
    require_kernels(args.venv.env, args, vstate)
    require_fitting(args.venv.env, args.venv.num_envs)
    if num_steps >= 2**31:
        raise Refusal("a kernel takes fewer than 2**31 steps")
    observation = jax.eval_shape(lambda venv, keys: venv.reset(keys), args.venv, args.keys)[1].observation
    if _captures_tracers(args, observation):
        raise Refusal("the policy captures a traced value, which is not one of its own leaves")
    if collect is not None:
        require_rows_alone(collect, args)
    spec = fit_spec(accumulator, collect, 0 if collect is None else num_steps, args)
    impls = jax.random.key_impl(args.keys), jax.random.key_impl(args.policy_keys)
    kind = _Kind(spec, num_steps, impls)
    data = jax.random.key_data(args.keys), jax.random.key_data(args.policy_keys)
    result = _play(kind, args.venv, args.policy, data, None if vstate is None else vstate.replace(key=None))
    return result._replace(vstate=result.vstate.replace(key=args.keys))


def _captures_tracers(args: RolloutArgs, observation: Any) -> bool:
    """Return whether the policy uses values of the program around it that are not among its own leaves."""
    closed = jax.make_jaxpr(policy_actions)(args.policy, args.policy_keys, Shape((), "uint32"), observation)
    return any(isinstance(const, jax.core.Tracer) for const in closed.consts)


def _play(kind: _Kind, *args: Any) -> RolloutResult:
    """Play by a verified kernel."""
    rollout_args = kind.args(*args[:3])
    if kind.spec.acts_outside:
        raise Refusal("the policy's network is faster outside of a kernel")

    def matches(env: AnyEnv, rest: RolloutArgs) -> bool:
        return _matches(kind.spec, kind.num_steps, rest._replace(venv=rest.venv.replace(env=env)))

    require_verified(kind.spec, matches, rollout_args.venv.env, rollout_args)
    parts = functools.partial(_marked, kind), functools.partial(_plain, kind), functools.partial(_batch, kind)
    return kernel_in_trace(*parts, *args)


def _marked(kind: _Kind, venv: AnyVectorEnv, policy: Any, data: Any, vstate: Any) -> RolloutResult:
    args = kind.args(venv, policy, data)
    start = empty_vstate(args) if vstate is None else vstate
    kernel = mark_single_kernel(functools.partial(run_steps, kind.spec), kind.spec.chunks.style)
    result: RolloutResult = kernel(args, start, jnp.asarray(vstate is None), jnp.uint32(0), jnp.int32(kind.num_steps))
    return result


def _plain(
    kind: _Kind, venv: AnyVectorEnv, policy: Any, data: Any, vstate: Any, take_step: Step = plain_step
) -> RolloutResult:
    args = kind.args(venv, policy, data)
    state = None if vstate is None else vstate.replace(key=args.keys)
    result = plain_steps(kind.spec.accumulator, args, state, kind.num_steps, kind.spec.collect, take_step)
    return result._replace(vstate=result.vstate.replace(key=None))


def _batch(
    kind: _Kind, size: int, is_batched: Any, venv: AnyVectorEnv, policy: Any, data: Any, vstate: Any
) -> RolloutResult | None:
    """Play `size` mapped rollouts as one with all of their environments; None if each has a policy of its own."""
    if any(jax.tree.leaves(is_batched[1])):
        return None
    env = merge_envs(size, is_batched[0].env, venv.env, venv.num_envs)
    venv = venv.replace(env=env, num_envs=size * venv.num_envs)
    data, vstate = merge_rows(size, tuple(is_batched[2:]), (data, vstate))
    args, spec = kind.args(venv, policy, data), kind.spec
    wide = kind._replace(spec=fit_spec(spec.accumulator, spec.collect, spec.capacity, args))
    kernel = functools.partial(_play, wide, venv, policy, data, vstate)
    take_step = looped_step(spec.accumulator, kernel_step_or_plain)
    plain = functools.partial(_plain, wide, venv, policy, data, vstate, take_step)
    merged = fast_or_plain(f"{spec.accumulator.entry} in a traced function", venv.num_envs, kernel, plain)
    by_rollout = jax.tree.map(lambda leaf: leaf.reshape(size, -1, *leaf.shape[1:]), (merged.vstate, merged.totals))
    collected = jax.tree.map(
        lambda leaf: jnp.moveaxis(leaf.reshape(leaf.shape[0], size, -1, *leaf.shape[2:]), 1, 0), merged.collected
    )
    return RolloutResult(by_rollout[0], collected, by_rollout[1])


def _matches(spec: RolloutSpec, num_steps: int, args: RolloutArgs) -> bool:
    """Compile a kernel, and return whether its single steps equal those of the plain program."""
    function, start = functools.partial(run_steps, spec), empty_vstate(args)
    reference = functools.cache(functools.partial(compile_reference, spec, args, start))
    program = compile_single_kernel(
        *(function, args, start, np.True_, np.uint32(0), np.int32(1)),
        style=spec.chunks.style,
        options=trial_options(),
        meanwhile=reference,
    )
    return matches_reference(program, spec, args, start, True, num_steps, reference())

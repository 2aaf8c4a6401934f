"""A rollout as one CPU kernel or as a loop of kernels, with all state in the cache, and as a plain program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.chunks import Chunks, count_bytes
from funcenv._compile.jaxpr import iter_eqns
from funcenv._compile.rollout.step import (
    Accumulator,
    Step,
    acts_outside,
    kernel_step,
    looped_step,
    plain_step,
    policy_step,
    reads_observation,
)
from funcenv._compile.switch import is_enabled
from funcenv._compile.verified import Refusal
from funcenv.sharding import axis_of_rows, spread_rows, target_platform, vary_over, varying_axes
from funcenv.vector import AnyVectorEnv, VectorState
from funcenv.vector_step import reset_rows, rollout_keys


class RolloutSpec(NamedTuple):
    """The kind of a rollout program: all that it is compiled for, besides its arguments; hashable."""

    accumulator: Accumulator
    collect: Callable[[Any, Any], Any] | None  # what to keep of a step
    capacity: int  # how many steps can be kept
    chunks: Chunks
    acts_outside: bool = False  # The policy then acts outside of kernels, and each step is a kernel of its own.


class RowKeys(NamedTuple):
    """The keys of a rollout that are split already; they stand for its one key."""

    keys: Any  # [num_envs], of the environments; None where they are those of a vector state
    policy_keys: jax.Array  # [num_envs]


class RolloutArgs(NamedTuple):
    """The arguments that do not change from step to step."""

    venv: AnyVectorEnv
    policy: Any  # a pytree, from `as_policy`
    keys: jax.Array  # [num_envs], of the environments
    policy_keys: jax.Array  # [num_envs]


def rollout_args(
    venv: AnyVectorEnv,
    policy: Any,
    key: jax.Array | RowKeys,
    vstate: VectorState[Any] | None,
    split: Callable[..., Any] | None = None,
) -> RolloutArgs:
    """Return the arguments of a rollout, with the keys that derive from its key.

    Args:
        venv: the environments.
        policy: from `as_policy`.
        key: split into a key for the reset and one for the policy; with `vstate` all of it is the policy's.
        vstate: the state to resume from, which has the keys of its environments; None resets first.
        split: a compiled `split_keys`.
    """
    keys, policy_keys = (split or split_keys)(key, venv.num_envs, vstate is None)
    return RolloutArgs(venv, policy, vstate.key if vstate is not None else keys, policy_keys)


def split_keys(key: jax.Array | RowKeys, num_envs: int, resets: bool) -> RowKeys:
    """Return the keys of the environments, None without a reset, and of their policies; `[num_envs]` each."""
    if isinstance(key, RowKeys):
        return key
    if not resets:
        return RowKeys(None, jax.random.split(key, num_envs))
    reset_key, policy_key = rollout_keys(key)
    return RowKeys(jax.random.split(reset_key, num_envs), jax.random.split(policy_key, num_envs))


def fit_spec(
    accumulator: Accumulator, collect: Callable[[Any, Any], Any] | None, capacity: int, args: RolloutArgs
) -> RolloutSpec:
    """Return the spec of a fast rollout; raise `Refusal` if `collect` mixes environments of several chunks."""
    venv = args.venv
    first = jax.eval_shape(lambda venv, keys: venv.reset(keys), venv, args.keys)
    chunks = Chunks.fit(venv.num_envs, count_bytes(first) // venv.num_envs)
    if collect is not None and not chunks.is_whole:
        require_rows_alone(collect, args)
    outside = acts_outside(args.policy, first[1].observation, args.policy_keys)
    return RolloutSpec(accumulator, collect, capacity, chunks, outside)


def require_rows_alone(collect: Callable[[Any, Any], Any], args: RolloutArgs) -> None:
    """Raise `Refusal` unless what is collected of an environment depends on this environment alone."""
    timestep = jax.eval_shape(lambda venv, keys: venv.reset(keys), args.venv, args.keys)[1]
    actions = jax.eval_shape(jax.vmap(args.venv.single_action_space.sample), args.keys)
    if not is_elementwise(collect, timestep, actions):
        raise Refusal("collect may mix environments")


def empty_vstate(args: RolloutArgs) -> VectorState[Any]:
    """Return what stands for the vector state, with `key=None`, where the environments are reset first."""
    first = jax.eval_shape(lambda venv, keys: venv.reset(keys)[0].replace(key=None), args.venv, args.keys)
    empty: VectorState[Any] = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), first)
    return empty


class RolloutResult(NamedTuple):
    """The result of a rollout."""

    vstate: VectorState[Any]  # with `key=None` inside compiled programs, because keys do not change
    collected: Any  # [num_steps, num_envs, ...], or None
    totals: Any  # what the accumulator has added up


def run_steps(
    spec: RolloutSpec,
    args: RolloutArgs,
    vstate: VectorState[Any],
    reset_first: jax.Array,
    step_index: jax.Array,
    num_steps: jax.Array,
) -> RolloutResult:
    """Play `num_steps` steps in every environment, chunk by chunk.

    Args:
        spec: what the program is compiled for.
        args: environments, policy and keys.
        vstate: the state to resume from, with `key=None`. Ignored when `reset_first` is true.
        reset_first: whether to reset all environments first, a bool scalar.
        step_index: of the first step, a uint32 scalar.
        num_steps: an int32 scalar, at most `spec.capacity` if steps are collected.
    """
    chunks, accumulator, collect = spec.chunks, spec.accumulator, spec.collect

    def run_chunk(start: jax.Array, result: RolloutResult) -> RolloutResult:
        venv = args.venv.subset(chunks.size, lambda leaf: chunks.slice(leaf, start))
        keys, policy_keys = chunks.slice((args.keys, args.policy_keys), start)

        def reset() -> VectorState[Any]:
            first_calls = jnp.zeros(venv.num_envs, jnp.uint32)
            fresh: VectorState[Any] = reset_rows(venv.env, venv.num_envs, keys, first_calls, None)[0].replace(key=None)
            return fresh

        first = jax.lax.cond(reset_first, reset, lambda: chunks.slice(vstate, start))
        observation, totals = venv.observation(first.replace(key=keys)), accumulator.init(venv, first)
        skip_observation = collect is None and not reads_observation(args.policy, observation, policy_keys)

        def goes_on(loop: Any) -> jax.Array:
            step, (_, _, totals), _ = loop
            unfinished = True if accumulator.is_finished is None else ~accumulator.is_finished(totals)
            return (step < num_steps) & unfinished

        def one_step(loop: Any) -> Any:
            step, (state, observation, totals), collected = loop
            carry = state.replace(key=keys), observation, totals
            index = step_index + step.astype(jnp.uint32)
            carry, kept = policy_step(
                venv,
                args.policy,
                policy_keys,
                accumulator,
                carry,
                index,
                single_kernel=not spec.acts_outside,
                skip_observation=skip_observation,
                take_step=looped_step(accumulator, kernel_step),
            )
            if collect is not None:
                collected = chunks.write_step(collected, collect(*kept), step, start)
            state, observation, totals = carry
            return step + 1, (state.replace(key=None), observation, totals), collected

        loop = jnp.zeros((), jnp.int32), (first, observation, totals), result.collected
        _, (last, _, totals), collected = jax.lax.while_loop(goes_on, one_step, loop)
        return RolloutResult(
            chunks.write(result.vstate, last, start), collected, chunks.write(result.totals, totals, start)
        )

    shapes = _result_shapes(spec, args, vstate)
    return chunks.for_each(run_chunk, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes))


def plain_steps(
    accumulator: Accumulator,
    args: RolloutArgs,
    vstate: VectorState[Any] | None,
    num_steps: int,
    collect: Callable[[Any, Any], Any] | None = None,
    take_step: Step = plain_step,
) -> RolloutResult:
    """Play `num_steps` steps in every environment, in any program.

    Args:
        accumulator: which totals to keep. Where it can be finished, the rollout stops then, and collects nothing.
        args: environments, policy and keys.
        vstate: the state to resume from, with its keys; None resets first.
        num_steps: at least 1.
        collect: what to keep of a step, from the time step and the actions of all environments; None for nothing.
        take_step: how the environments are stepped.

    Returns:
        The result, with keys in its vector state.
    """
    venv = args.venv
    if vstate is None:
        vstate, timestep = venv.reset(args.keys)
        observation = timestep.observation
    else:
        observation = venv.observation(vstate)
    totals, policy_keys = spread_rows(axis_of_rows(vstate), (accumulator.init(venv, vstate), args.policy_keys))
    axes = varying_axes(args, vstate)

    def step(carry: Any, step_index: jax.Array) -> tuple[Any, Any]:
        carry, kept = policy_step(venv, args.policy, policy_keys, accumulator, carry, step_index, take_step=take_step)
        return vary_over(axes, carry), None if collect is None else collect(*kept)

    def play(carry: Any, indices: jax.Array) -> tuple[Any, Any]:
        return jax.lax.scan(step, carry, indices, unroll=steps_of_iteration(step, carry, indices))

    carry: Any = vary_over(axes, (vstate, observation, totals))
    if accumulator.is_finished is None:
        # In the carry, the indices would be one more kernel on a GPU.
        (last, _, totals), collected = play(carry, jnp.arange(num_steps, dtype=jnp.uint32))
        return RolloutResult(last, collected, totals)
    is_finished = accumulator.is_finished
    offsets = np.arange(steps_between_checks(num_steps), dtype=np.uint32)

    def goes_on(loop: Any) -> jax.Array:
        start, (_, _, totals) = loop
        return (start < num_steps) & ~is_finished(totals)

    def play_on(loop: Any) -> Any:
        start, carry = loop
        return start + np.uint32(offsets.size), play(carry, start + offsets)[0]

    _, (last, _, totals) = jax.lax.while_loop(goes_on, play_on, (jnp.zeros((), jnp.uint32), carry))
    return RolloutResult(last, None, totals)


def steps_between_checks(num_steps: int) -> int:
    """Return how many steps to play before asking again whether all rows are finished, a divisor of `num_steps`.

    To ask is a reduction over all devices, and the host waits for the answer of an accelerator. A processor has it for
    nothing, and would pay for the steps after the last end.

    >>> steps_between_checks(500)
    1
    """
    if target_platform() == "cpu":
        return 1
    return max(number for number in range(1, _STEPS_BETWEEN_CHECKS + 1) if num_steps % number == 0)


_STEPS_BETWEEN_CHECKS = 16


def steps_of_iteration(step: Callable[[Any, Any], Any], carry: Any, indices: jax.Array) -> int:
    """Return how many steps an iteration of a rollout's loop should take: several on a GPU, if a step is small.

    Small steps take a GPU less time than their launch takes the host. XLA launches the kernels of an iteration as one
    graph if they are enough, and several steps in one kernel keep in registers what they would write and read.
    """
    if not is_enabled() or target_platform() != "gpu":
        return 1
    size = sum(1 for _ in iter_eqns(jax.make_jaxpr(step)(carry, indices[0]).jaxpr))
    return _STEPS_OF_ITERATION if size <= _MAX_UNROLLED_EQUATIONS else 1


_STEPS_OF_ITERATION = 4  # It compiles in two and a half times the time; docs/decisions/compilation.md has figures.
_MAX_UNROLLED_EQUATIONS = 1000  # Larger steps take a GPU longer than their launch, and longer to compile.


def _result_shapes(spec: RolloutSpec, args: RolloutArgs, vstate: VectorState[Any]) -> RolloutResult:
    def collect_once(args: RolloutArgs, vstate: VectorState[Any]) -> Any:
        if spec.collect is None:
            return None
        venv = args.venv.replace(reset_strategy="select")
        return spec.collect(*reference_step(spec, args, vstate, jnp.uint32(0), venv)[1])

    one_step = jax.eval_shape(collect_once, args, vstate)
    collected = jax.tree.map(lambda leaf: leaf.update(shape=(spec.capacity, *leaf.shape)), one_step)
    return RolloutResult(vstate, collected, jax.eval_shape(spec.accumulator.init, args.venv, vstate))


def reference_step(
    spec: RolloutSpec,
    args: RolloutArgs,
    vstate: VectorState[Any],
    step_index: jax.Array,
    venv: AnyVectorEnv,
) -> tuple[tuple[VectorState[Any], Any, Any], tuple[Any, Any]]:
    """Take one step of the plain program from `vstate`, with `key=None`, and return what `policy_step` does."""
    vstate = vstate.replace(key=args.keys)
    carry = vstate, venv.observation(vstate), spec.accumulator.init(venv, vstate)
    return policy_step(venv, args.policy, args.policy_keys, spec.accumulator, carry, step_index)


def is_elementwise(function: Callable[..., Any], *shapes: Any) -> bool:
    """Return whether each entry of the results depends only on entries at the same position, as the jaxpr shows.

    >>> shape = jax.ShapeDtypeStruct((3,), "float32")
    >>> is_elementwise(lambda x, y: {"both": (x > 0) & (y > 0), "x": x}, shape, shape)
    True
    >>> is_elementwise(lambda x, y: x - x.mean(), shape, shape)
    False
    """
    closed = jax.make_jaxpr(function)(*shapes)
    return not closed.consts and all(map(_is_elementwise, iter_eqns(closed.jaxpr)))


def _is_elementwise(eqn: Any) -> bool:
    name, takes_scalars = eqn.primitive.name, not any(variable.aval.shape for variable in eqn.invars)
    return name in _ELEMENTWISE or (name == "broadcast_in_dim" and takes_scalars)


_ELEMENTWISE = frozenset(
    ["add", "sub", "mul", "div", "neg", "abs", "sign", "min", "max", "and", "or", "not", "xor", "select_n"]
    + ["eq", "ne", "lt", "le", "gt", "ge", "is_finite", "convert_element_type", "stop_gradient", "copy"]
    + ["exp", "log", "sqrt", "tanh", "integer_pow"]
)

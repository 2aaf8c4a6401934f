"""A rollout by the fastest program that is known to be right: a kernel, a loop of kernels, or the plain program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile import store
from funcenv._compile.chunks import MAX_CHUNK_ENVS
from funcenv._compile.compiled_kinds import CompiledKinds
from funcenv._compile.host_jit import HostJit
from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.lazy_reset import is_large, require_fitting
from funcenv._compile.options import (
    applies_to,
    is_tracing,
    quick_options,
    require_backend,
    require_no_debugging,
    single_kernel_options,
)
from funcenv._compile.rollout.episodes import unfinished_steps
from funcenv._compile.rollout.program import (
    RolloutArgs,
    RolloutResult,
    RowKeys,
    empty_vstate,
    fit_spec,
    plain_steps,
    require_rows_alone,
    rollout_args,
    run_steps,
    split_keys,
)
from funcenv._compile.rollout.step import Accumulator, kernel_step_or_plain, looped_step
from funcenv._compile.rollout.threads import cut_shards, num_shards, num_threads, run_shards
from funcenv._compile.rollout.traced import play_in_trace
from funcenv._compile.rollout.verify import compile_reference, matches_reference
from funcenv._compile.sharing import MAX_SHARED_PROGRAMS
from funcenv._compile.signature import signature
from funcenv._compile.single_kernel import compile_single_kernel, require_no_host_call
from funcenv._compile.switch import is_enabled
from funcenv._compile.verified import Refusal, VerifiedProgram, fast_or_plain
from funcenv._jax import uses_64_bits
from funcenv.row_groups import RowGroup, cut_groups, join_groups, row_groups
from funcenv.sharding import spread_alike
from funcenv.transfers import transferred
from funcenv.vector import AnyVectorEnv, VectorState
from funcenv.vector_step import rollout_keys

Collect = Callable[[Any, Any], Any]


class _Call(NamedTuple):
    """The arguments of `play`."""

    accumulator: Accumulator
    venv: AnyVectorEnv
    policy: Any
    key: jax.Array | RowKeys
    vstate: VectorState[Any] | None
    num_steps: int
    collect: Collect | None


def play(
    accumulator: Accumulator,
    venv: AnyVectorEnv,
    policy: Any,
    key: jax.Array,
    vstate: VectorState[Any] | None,
    num_steps: int,
    collect: Collect | None = None,
) -> RolloutResult:
    """Play `num_steps` steps in every environment.

    Args:
        accumulator: which totals to keep. Where it can be finished, the rollout stops then, and `collect` must be None.
        venv: the environments.
        policy: from `as_policy`.
        key: split into a key for the reset and one for the policy; with `vstate` all of it is the policy's.
        vstate: the state to resume from; None resets first.
        num_steps: at least 1.
        collect: what to keep of a step, from the time step and the actions of all environments.

    Returns:
        The result, with keys in its vector state, and with the accumulator's summary in place of its totals.
    """
    call = _Call(accumulator, venv, policy, key, vstate, num_steps, collect)
    groups = row_groups(venv.env, venv.num_envs)
    return _play_groups(call, groups) if groups else _play_rows(call)


def _play_rows(call: _Call) -> RolloutResult:
    """Play in rows that one environment steps."""
    accumulator, venv = call.accumulator, call.venv
    entry, fast = accumulator.entry, _play_fast
    if is_tracing():
        entry, fast = f"{entry} in a traced function", _play_in_trace
    return fast_or_plain(entry, venv.num_envs, functools.partial(fast, call), functools.partial(_play_plainly, call))


def _play_groups(call: _Call, groups: list[RowGroup]) -> RolloutResult:
    """Play in each group of rows by itself, and join the results; in all at once if collecting may mix them."""
    accumulator, venv, policy, key, vstate, num_steps, collect = call
    sizes = tuple(group.size for group in groups)
    cut, join = functools.partial(_cut, sizes), functools.partial(_join, accumulator.summary)
    if not is_tracing():
        cut, join = _cut_program(sizes), _join_program(accumulator.summary)
    keys, shares = cut(key, vstate)
    if collect is not None:
        try:
            require_rows_alone(collect, RolloutArgs(venv, policy, keys.keys, keys.policy_keys))
        except Refusal:
            return _play_plainly(call)
    own, results = accumulator._replace(summary=None), []
    for group, (group_keys, group_vstate) in zip(groups, shares, strict=True):
        group_venv = venv.replace(env=group.env, num_envs=group.size)
        results.append(_play_rows(_Call(own, group_venv, policy, group_keys, group_vstate, num_steps, collect)))
    joined: RolloutResult = join(results)
    return joined


def _cut(sizes: tuple[int, ...], key: Any, vstate: VectorState[Any] | None) -> tuple[RowKeys, list[Any]]:
    """Return the keys of all rows, and for each group of rows its keys and its states."""
    keys = split_keys(key, sum(sizes), vstate is None)
    shares = cut_groups(sizes, (keys, vstate))
    return keys if vstate is None else keys._replace(keys=vstate.key), shares


def _join(summary: Callable[[Any], Any] | None, results: list[RolloutResult]) -> RolloutResult:
    """Return the result of all rows, given those of the groups."""
    vstate, totals = join_groups([(result.vstate, result.totals) for result in results])
    collected = join_groups([result.collected for result in results], axis=1)
    return RolloutResult(vstate, collected, totals if summary is None else summary(totals))


def _play_fast(call: _Call) -> RolloutResult:
    """Play by a program that is one kernel or a loop of kernels, in several threads if that pays."""
    device = _single_cpu(call.venv, (call.policy, call.key, call.vstate))
    if call.num_steps >= 2**31:
        raise Refusal("a kernel takes fewer than 2**31 steps")
    venv, policy = jax.tree.map(functools.partial(to_cached_array, device), (call.venv, call.policy))
    args = rollout_args(venv, policy, call.key, call.vstate, _split_program())
    shards, capacity = [(args, call.vstate)], call.num_steps
    if call.collect is None:
        shards = cut_shards(args, call.vstate, num_shards(venv.num_envs, call.num_steps, num_threads()))
        capacity = 0
    kind = call.accumulator, call.collect, capacity, device, *signature(shards[0])
    program = verified_rollout(*kind).get(*shards[0], call.num_steps)
    result = run_shards(functools.partial(program, num_steps=call.num_steps), shards, args.keys)
    if call.accumulator.summary is None:
        return result
    return result._replace(totals=_summary_program(call.accumulator.summary)(result.totals))


def _play_in_trace(call: _Call) -> RolloutResult:
    """Play by a kernel within the program that is being traced."""
    args = rollout_args(call.venv, call.policy, call.key, call.vstate)
    result = play_in_trace(call.accumulator, args, call.vstate, call.num_steps, call.collect)
    return _summarized(call.accumulator, result)


def _play_plainly(call: _Call) -> RolloutResult:
    """Play by the plain program."""
    accumulator, venv, policy, key, vstate, num_steps, collect = call
    venv = transferred(venv)
    if is_tracing():
        return _play_steps_in_trace(call._replace(venv=venv))
    _plain_kinds.add((accumulator, num_steps, collect, *signature((venv, policy, key, vstate))))
    if vstate is None and applies_to("cpu", (venv, policy, key)) and is_large(venv.env, venv.num_envs):
        reset_key, key = _keys_after_reset(key)
        vstate = reset_program()(venv, reset_key)
        if accumulator.is_finished is not None and venv.num_envs > MAX_CHUNK_ENVS:
            return unfinished_program(venv, policy, key, vstate, accumulator, num_steps, MAX_CHUNK_ENVS)
    result: RolloutResult = plain_program(venv, policy, key, vstate, accumulator, num_steps, collect)
    return result._replace(collected=spread_alike(result.vstate.num_calls, result.collected))


def _play_steps_in_trace(call: _Call) -> RolloutResult:
    """Play within the program that is being traced, by steps that are kernels where that is possible."""
    accumulator, venv, policy, key, vstate, num_steps, collect = call
    if _gathers_in_trace(call):
        reset_key, key = _keys_after_reset(key)
        vstate = venv.reset(reset_key)[0]
        args = rollout_args(venv, policy, key, vstate)
        return _summarized(accumulator, unfinished_steps(accumulator, args, vstate, num_steps, MAX_CHUNK_ENVS))
    args, take_step = rollout_args(venv, policy, key, vstate), looped_step(accumulator, kernel_step_or_plain)
    result = plain_steps(accumulator, args, vstate, num_steps, collect, take_step)
    collected = spread_alike(result.vstate.num_calls, result.collected)
    return _summarized(accumulator, result._replace(collected=collected))


def _keys_after_reset(key: jax.Array | RowKeys) -> tuple[Any, Any]:
    """Return the key of the reset, or the keys, and what is left for the policy."""
    return (key.keys, key._replace(keys=None)) if isinstance(key, RowKeys) else rollout_keys(key)


def _gathers_in_trace(call: _Call) -> bool:
    """Return whether whole episodes of a large batch are gathered in the program that is being traced.

    On several devices, rows would move between them.
    """
    is_wanted = call.vstate is None and call.accumulator.is_finished is not None and call.venv.num_envs > MAX_CHUNK_ENVS
    if not (is_wanted and is_enabled() and jax.default_backend() == "cpu"):
        return False
    return jax.device_count() == 1 and is_large(call.venv.env, call.venv.num_envs)


@functools.partial(HostJit, static_argnames=("accumulator", "num_steps", "collect"))
def plain_program(
    venv: AnyVectorEnv,
    policy: Any,
    key: jax.Array | RowKeys,
    vstate: VectorState[Any] | None,
    accumulator: Accumulator,
    num_steps: int,
    collect: Collect | None,
) -> RolloutResult:
    """Play by steps of several kernels, in any program."""
    args = rollout_args(venv, policy, key, vstate)
    return _summarized(accumulator, plain_steps(accumulator, args, vstate, num_steps, collect))


@functools.partial(HostJit, static_argnames=("accumulator", "num_steps", "chunk"))
def unfinished_program(
    venv: AnyVectorEnv,
    policy: Any,
    key: jax.Array,
    vstate: VectorState[Any],
    accumulator: Accumulator,
    num_steps: int,
    chunk: int,
) -> RolloutResult:
    """Play whole episodes by `unfinished_steps`."""
    args = rollout_args(venv, policy, key, vstate)
    return _summarized(accumulator, unfinished_steps(accumulator, args, vstate, num_steps, chunk))


def _clear_plain_programs() -> None:
    plain_program.clear_cache()
    unfinished_program.clear_cache()


_plain_kinds = CompiledKinds(MAX_SHARED_PROGRAMS, _clear_plain_programs)


def _summarized(accumulator: Accumulator, result: RolloutResult) -> RolloutResult:
    return result if accumulator.summary is None else result._replace(totals=accumulator.summary(result.totals))


class _FastRollout:
    """A rollout that is compiled to one kernel or a loop of kernels, for arguments like the given ones."""

    def __init__(
        self,
        accumulator: Accumulator,
        collect: Collect | None,
        capacity: int,
        meanwhile: Callable[[], object],
        args: RolloutArgs,
        vstate: VectorState[Any] | None,
        num_steps: int,
    ) -> None:
        del num_steps
        require_fitting(args.venv.env, args.venv.num_envs)
        self._spec = fit_spec(accumulator, collect, capacity, args)
        self._empty_vstate: Any = jax.device_put(empty_vstate(args)) if vstate is None else None
        function, style = functools.partial(run_steps, self._spec), self._spec.chunks.style
        example = *self._start(args, vstate), np.uint32(0), np.int32(1)
        parts = "rollout", self._spec
        if self._spec.acts_outside:
            self._program = _compile_loop(function, *example, parts=parts)
        else:
            self._program = compile_single_kernel(function, *example, style=style, parts=parts, meanwhile=meanwhile)

    def __call__(self, args: RolloutArgs, vstate: VectorState[Any] | None, num_steps: int) -> RolloutResult:
        """Play."""
        steps = transferred((np.uint32(0), np.int32(num_steps)))
        result: RolloutResult = self._program(*self._start(args, vstate), *steps)
        return result._replace(vstate=result.vstate.replace(key=args.keys))

    def matches(self, reference: Any, args: RolloutArgs, vstate: VectorState[Any] | None, num_steps: int) -> bool:
        """Return whether its single steps equal those of the plain program, as far as they are not compared already."""
        if self._spec.acts_outside:
            return True
        return matches_reference(self._program, self._spec, *self._start(args, vstate), num_steps, reference)

    def _start(self, args: RolloutArgs, vstate: VectorState[Any] | None) -> tuple[RolloutArgs, VectorState[Any], Any]:
        """Return the first arguments of `run_steps`."""
        if vstate is None:
            return args, self._empty_vstate, transferred(np.True_)
        return args, vstate.replace(key=None), transferred(np.False_)


def _compile_loop(function: Callable[..., Any], *args: Any, parts: Any) -> Callable[..., Any]:
    """Compile a rollout that loops over steps; raise `Refusal` if its steps or its policy stand in the way.

    Steps that are kernels are compared with plain ones by themselves, as in any program that is traced.
    """
    name = store.describe("loop of kernels", parts, args)
    program: Callable[..., Any] = store.compile_kept(
        name, lambda: jax.jit(function).trace(*args), check=require_no_host_call
    )
    return program


@functools.lru_cache(maxsize=MAX_SHARED_PROGRAMS)
def verified_rollout(
    accumulator: Accumulator, collect: Collect | None, capacity: int, *signature: Any
) -> VerifiedProgram[_FastRollout]:
    """Return the program of rollouts that are compiled alike."""
    del signature  # It only keeps programs apart that are compiled for other arguments.

    def describe(*args: Any) -> str | None:
        return store.describe("trial of a rollout", (accumulator, collect, capacity), args[:-1])

    def reference(args: RolloutArgs, vstate: VectorState[Any] | None, num_steps: int) -> Any:
        spec = fit_spec(accumulator, collect, capacity, args)
        if spec.acts_outside:
            return None
        return compile_reference(spec, args, empty_vstate(args) if vstate is None else vstate.replace(key=None))

    make = functools.partial(_FastRollout, accumulator, collect, capacity)
    return VerifiedProgram(make, _FastRollout.matches, describe, reference)


def _single_cpu(venv: AnyVectorEnv, args: Any) -> jax.Device:
    """Return the CPU device that all arguments lie on; raise `Refusal` if a kernel cannot take them."""
    if venv.env.calls_host:
        raise Refusal("the environment calls the host")
    require_backend("cpu")
    require_no_debugging()
    leaves = jax.tree.leaves((venv, args))
    if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise Refusal("an argument is traced")
    devices = {device for leaf in leaves if isinstance(leaf, jax.Array) for device in leaf.devices()}
    if len(devices) > 1:
        raise Refusal("the arguments lie on several devices")
    return next(iter(devices))


def to_cached_array(device: jax.Device, leaf: Any) -> Any:
    """Convert a Python scalar to a cached device array; return any other leaf unchanged."""
    kind: Any = type(leaf)
    if kind not in (bool, int, float):
        return leaf
    return _array_of(leaf or str(leaf), kind, uses_64_bits(), device)


@functools.lru_cache(maxsize=1024)
def _array_of(number: Any, kind: type, wide: bool, device: jax.Device) -> jax.Array:
    """Make a scalar array. Zeros come as strings, because a cache takes 0.0 and -0.0 for equal."""
    del wide  # It only keeps the dtypes apart.
    with jax.default_device(device):
        return jnp.asarray(transferred(number != "False" if kind is bool else kind(number)))


@functools.cache
def _split_program() -> Any:
    names = "num_envs", "resets"
    return KeptJit(split_keys, "split of keys", static_argnames=names, options=single_kernel_options(level=1))


@functools.cache
def _cut_program(sizes: tuple[int, ...]) -> Any:
    return KeptJit(functools.partial(_cut, sizes), "groups of rows", sizes, options=quick_options())


@functools.cache
def _join_program(summary: Callable[[Any], Any] | None) -> Any:
    return KeptJit(functools.partial(_join, summary), "rows of groups", summary, options=quick_options())


@functools.cache
def reset_program() -> Any:
    """Compile the first reset quickly where that of a large environment would take as long to compile as a step."""
    return KeptJit(lambda venv, key: venv.reset(key)[0], "reset before a rollout", options=quick_options())


@functools.cache
def _summary_program(summary: Callable[[Any], Any]) -> Any:
    """Compile a summary quickly, because it concerns few numbers."""
    return KeptJit(summary, "summary of a rollout", summary, options=quick_options(level=1))

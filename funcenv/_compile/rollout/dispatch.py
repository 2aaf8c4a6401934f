"""The choice between a verified single-kernel program and the plain program of a rollout."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.lazy_reset import fits_a_kernel
from funcenv._compile.options import applies_to, is_debugging, single_kernel_options
from funcenv._compile.rollout.program import (
    RolloutArgs,
    RolloutResult,
    empty_vstate,
    fit_spec,
    rollout_args,
    run_steps,
    split_keys,
)
from funcenv._compile.rollout.step import Accumulator
from funcenv._compile.rollout.threads import cut_shards, num_shards, num_threads, run_shards
from funcenv._compile.rollout.verify import matches_reference
from funcenv._compile.single_kernel import compile_single_kernel
from funcenv.vector import AnyVectorEnv, VectorState


def run(
    accumulator: Accumulator,
    venv: AnyVectorEnv,
    policy: Any,
    key: jax.Array,
    vstate: VectorState[Any] | None,
    num_steps: int,
    collect: Callable[[Any, Any], Any] | None = None,
) -> RolloutResult | None:
    """Play `num_steps` steps by a single-kernel program.

    Args:
        accumulator: which totals to keep.
        venv: the environments.
        policy: from `as_policy`.
        key: split into a key for the reset and one for the policy; with `vstate` all of it is the policy's.
        vstate: the state to resume from; None resets first.
        num_steps: at least 1.
        collect: what to keep of a step, from the time step and the actions of all environments.

    Returns:
        The result, with keys in its vector state. None where the fast path does not apply: inside a traced function,
        on any device other than a single CPU, for a program that XLA cannot compile to one kernel or whose results
        differ from the plain program's, and with `FUNCENV_NO_FAST_PATH=1`.
    """
    device = _single_cpu((venv, policy, key, vstate))
    if num_steps >= 2**31 or device is None or venv.env.calls_host:
        return None
    venv, policy = jax.tree.map(functools.partial(_to_cached_array, device), (venv, policy))
    args = rollout_args(venv, policy, key, vstate, _split_program())
    shards = [(args, vstate)]
    if collect is None:
        shards = cut_shards(args, vstate, num_shards(venv.num_envs, num_steps, num_threads()))
    capacity = 0 if collect is None else num_steps
    program = _program(accumulator, collect, capacity, device, *_signature(shards[0]))
    if not program.prepare(*shards[0], num_steps):
        return None
    return run_shards(functools.partial(program.run, num_steps=num_steps), shards, args.keys)


class _RolloutProgram:
    """The program of rollouts with the same signature, compiled and verified when it is first needed."""

    def __init__(self, accumulator: Accumulator, collect: Any, capacity: int) -> None:
        self._accumulator, self._collect, self._capacity = accumulator, collect, capacity
        self._lock = threading.Lock()
        self._is_usable: bool | None = None  # None until it is compiled
        self._program: Callable[..., RolloutResult] | None = None
        self._empty_vstate: Any = None  # stands for `vstate` where the environments are reset first

    def prepare(self, args: RolloutArgs, vstate: VectorState[Any] | None, num_steps: int) -> bool:
        """Compile the program if it is not compiled yet; return whether `run` may be called."""
        with self._lock:
            if self._is_usable is None:
                self._is_usable = self._compile(args, vstate, num_steps)
        return self._is_usable

    def run(self, args: RolloutArgs, vstate: VectorState[Any] | None, num_steps: int) -> RolloutResult:
        """Play."""
        assert self._program is not None
        result = self._program(*self._start(args, vstate), np.uint32(0), np.int32(num_steps))
        return result._replace(vstate=result.vstate.replace(key=args.keys))

    def _compile(self, args: RolloutArgs, vstate: VectorState[Any] | None, num_steps: int) -> bool:
        if not fits_a_kernel(args.venv.env, args.venv.num_envs):
            return False
        spec = fit_spec(self._accumulator, self._collect, self._capacity, args)
        if spec is None:
            return False
        if vstate is None:
            self._empty_vstate = jax.device_put(empty_vstate(args))
        start = self._start(args, vstate)
        function = functools.partial(run_steps, spec)
        program = compile_single_kernel(function, *start, np.uint32(0), np.int32(1), style=spec.chunks.style)
        self._program = program
        return program is not None and matches_reference(program, spec, *start, num_steps)

    def _start(self, args: RolloutArgs, vstate: VectorState[Any] | None) -> tuple[RolloutArgs, VectorState[Any], Any]:
        """Return the first arguments of `run_steps`."""
        if vstate is None:
            return args, self._empty_vstate, np.True_
        return args, vstate.replace(key=None), np.False_


@functools.lru_cache(maxsize=128)
def _program(accumulator: Accumulator, collect: Any, capacity: int, *signature: Any) -> _RolloutProgram:
    del signature  # It only keeps programs apart that are compiled for other arguments.
    return _RolloutProgram(accumulator, collect, capacity)


def _signature(tree: Any) -> tuple[Any, ...]:
    """Return what a compiled program depends on in its arguments."""
    leaves, structure = jax.tree.flatten(tree)
    wide = jax.config.jax_enable_x64  # type: ignore[attr-defined]  # JAX adds its options at run time.
    return structure, wide, *map(_leaf_signature, leaves)


def _leaf_signature(leaf: Any) -> Any:
    """Return shape, dtype and weak type, as `jax.typeof` does more slowly."""
    if isinstance(leaf, jax.Array):
        return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)  # Keys have no weak type.
    return jax.typeof(leaf)


def _single_cpu(args: Any) -> jax.Device | None:
    """Return the CPU device that all arguments lie on, or None if the fast path does not apply."""
    leaves = jax.tree.leaves(args)
    if not applies_to("cpu", leaves) or is_debugging():
        return None
    devices = {device for leaf in leaves if isinstance(leaf, jax.Array) for device in leaf.devices()}
    return next(iter(devices)) if len(devices) == 1 else None


def _to_cached_array(device: jax.Device, leaf: Any) -> Any:
    """Convert a Python scalar to a cached device array; return any other leaf unchanged."""
    kind: Any = type(leaf)
    if kind not in (bool, int, float):
        return leaf
    wide: bool = jax.config.jax_enable_x64  # type: ignore[attr-defined]  # JAX adds its options at run time.
    return _array_of(leaf or str(leaf), kind, wide, device)


@functools.lru_cache(maxsize=1024)
def _array_of(number: Any, kind: type, wide: bool, device: jax.Device) -> jax.Array:
    """Make a scalar array. Zeros come as strings, because a cache takes 0.0 and -0.0 for equal."""
    del wide  # It only keeps the dtypes apart.
    with jax.default_device(device):
        return jnp.asarray(number != "False" if kind is bool else kind(number))


@functools.cache
def _split_program() -> Any:
    return jax.jit(split_keys, static_argnums=(1, 2), compiler_options=single_kernel_options(level=1))

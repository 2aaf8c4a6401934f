"""Vector steps inside a traced function: one kernel in the loop of the user's own program.

A plain step is dozens of small kernels, which compute what several results need once for each of them, and resets that
are thrown away. `funcenv._compile.traced` says where a kernel is possible, and how it is verified.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.chunks import Chunks, count_bytes
from funcenv._compile.compare import agree
from funcenv._compile.lazy_reset import fits_a_kernel, plain_step, single_kernel_step
from funcenv._compile.options import is_tracing, quick_options, trial_options
from funcenv._compile.single_kernel import compile_single_kernel, mark_single_kernel
from funcenv._compile.traced import Trials, allows_kernels, merge_envs, merge_rows, random_keys, restore_numbers
from funcenv.func_env import AnyEnv
from funcenv.parameters import map_batched
from funcenv.vector_step import AutoresetMode, VectorState, VectorTimestep, map_rows, reset_row

_MAX_TRIAL_STEPS = 256
_MAX_TRIAL_ENV_STEPS = 2**20

StepResult = tuple[VectorState[Any], VectorTimestep[Any]]

trials = Trials()


class StepSpec(NamedTuple):
    """The kind of a step: all that it is compiled for, besides the shapes of its arguments; hashable."""

    mode: AutoresetMode
    strategy: str
    chunks: Chunks
    impl: Hashable
    """the PRNG implementation of the keys"""


def step_in_kernel(
    env: AnyEnv, num_envs: int, mode: AutoresetMode, strategy: str, vstate: VectorState[Any], actions: Any
) -> StepResult | None:
    """Step every environment by a kernel within the program that is being traced.

    Args:
        env: the environment, or a batch of `num_envs`.
        num_envs: how many environments there are.
        mode: when an ended episode is followed by a new one.
        strategy: for resets, "auto", "select" or "lazy".
        vstate: the state before the step.
        actions: `[num_envs, ...]`.

    Returns:
        What `funcenv._compile.lazy_reset.plain_step` returns for these arguments. None outside of traced programs,
        where `allows_kernels` says so, and for what XLA cannot put into a kernel without options.
    """
    leaves = jax.tree.leaves((env, vstate, actions))
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in leaves) or not is_tracing():
        return None
    actions = jax.tree.map(jnp.asarray, actions)
    if not allows_kernels(env, vstate, actions) or not fits_a_kernel(env, num_envs):
        return None
    # Keys enter as integers: JAX's key-reuse check counts a key that enters a custom rule as consumed.
    impl, data = jax.random.key_impl(vstate.key), jax.random.key_data(vstate.key)
    args = env, data, vstate.replace(key=None), actions
    spec = _fit_spec(mode, strategy, num_envs, impl, *args)
    if not _is_verified(spec, *args):
        return None
    stepped, timestep = _step(spec, *args)
    return stepped.replace(key=vstate.key), timestep


def _fit_spec(mode: AutoresetMode, strategy: str, num_envs: int, impl: Any, *args: Any) -> StepSpec:
    spec = StepSpec(mode, strategy, Chunks(num_envs, num_envs), impl)
    stepped = jax.eval_shape(functools.partial(_plain, spec), *args)
    return spec._replace(chunks=Chunks.fit(num_envs, count_bytes(stepped) // num_envs))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _step(spec: StepSpec, env: Any, data: jax.Array, vstate: Any, actions: Any) -> StepResult:
    """Step by a kernel; in derivatives by the plain program."""
    return _mapped_kernel(spec, env, data, vstate, actions)


@_step.defjvp
def _step_jvp(spec: StepSpec, primals: Any, tangents: Any) -> Any:
    return jax.jvp(functools.partial(_plain, spec), primals, tangents)


def _plain(spec: StepSpec, env: Any, data: jax.Array, vstate: Any, actions: Any) -> StepResult:
    vstate = vstate.replace(key=jax.random.wrap_key_data(data, impl=spec.impl))
    vstate, timestep = plain_step(env, spec.chunks.num_envs, spec.mode, spec.strategy, vstate, actions)
    return vstate.replace(key=None), timestep


def _kernel(spec: StepSpec, env: Any, keys: jax.Array, vstate: Any, actions: Any) -> StepResult:
    """Step chunk by chunk, in a program that becomes a single kernel."""
    chunks = spec.chunks

    def step_chunk(start: jax.Array, result: Any) -> Any:
        chunk_env = map_batched(env, chunks.num_envs, lambda leaf: chunks.slice(leaf, start))
        state, chunk_keys, chunk_actions = chunks.slice((vstate, keys, actions), start)
        state = state.replace(key=chunk_keys)
        state, timestep = single_kernel_step(chunk_env, chunks.size, spec.mode, spec.strategy, state, chunk_actions)
        return chunks.write(result, (state.replace(key=None), timestep), start)

    if chunks.is_whole:
        return step_chunk(jnp.zeros((), jnp.int32), None)
    shapes = jax.eval_shape(functools.partial(_plain, spec), env, jax.random.key_data(keys), vstate, actions)
    return chunks.for_each(step_chunk, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes))


def _mapped_kernel(spec: StepSpec, *args: Any) -> StepResult:
    """Step by a kernel, whose batch `jax.vmap` makes larger."""

    @jax.custom_batching.custom_vmap
    def step(env: Any, data: jax.Array, vstate: Any, actions: Any) -> StepResult:
        kernel = mark_single_kernel(functools.partial(_kernel, spec), spec.chunks.style)
        result: StepResult = kernel(env, jax.random.wrap_key_data(data, impl=spec.impl), vstate, actions)
        return result

    @step.def_vmap
    def _(size: int, is_batched: Any, env: Any, *rows: Any) -> Any:
        env = restore_numbers(is_batched[0], env, args[0])
        num_envs = spec.chunks.num_envs
        merged = merge_envs(size, is_batched[0], env, num_envs), *merge_rows(size, tuple(is_batched[1:]), rows)
        wide = _fit_spec(spec.mode, spec.strategy, size * num_envs, spec.impl, *merged)
        step = _mapped_kernel if _is_verified(wide, *merged) else _plain
        result = jax.tree.map(lambda leaf: leaf.reshape(size, -1, *leaf.shape[1:]), step(wide, *merged))
        return result, jax.tree.map(lambda _: True, result)

    result: StepResult = step(*args)
    return result


def _is_verified(spec: StepSpec, env: AnyEnv, *rest: Any) -> bool:
    """Return whether a kernel of this kind compiles and equals the plain program."""
    return trials.is_verified(spec, env, rest, functools.partial(_try, spec))


def _try(spec: StepSpec, env: AnyEnv, rest: Any) -> bool:
    """Compare steps of a kernel with those of the plain program, until a new episode has begun and gone on."""
    num_envs = spec.chunks.num_envs
    keys = random_keys((num_envs,), spec.impl)

    @functools.partial(jax.jit, compiler_options=quick_options())
    def reset(env: AnyEnv, keys: jax.Array, calls: jax.Array) -> Any:
        return map_rows(reset_row, env, num_envs, keys, calls)[0].replace(key=None)

    @functools.partial(jax.jit, compiler_options=quick_options())
    def reference(env: AnyEnv, keys: jax.Array, vstate: Any, step: jax.Array) -> tuple[Any, StepResult]:
        """Return random actions and the step that they lead to."""
        drawn = map_rows(lambda env, key: env.action_space.sample(jax.random.fold_in(key, step)), env, num_envs, keys)
        actions = jax.tree.map(lambda drawn, given: drawn.astype(given.dtype), drawn, rest[2])
        return actions, _plain(spec, env, jax.random.key_data(keys), vstate, actions)

    vstate = reset(env, keys, np.zeros(num_envs, np.uint32))
    if not _have_same_form(vstate, rest[1]):
        return False
    program = compile_single_kernel(
        functools.partial(_kernel, spec), env, keys, vstate, rest[2], style=spec.chunks.style, options=trial_options()
    )
    if program is None:
        return False
    num_after_end = 0
    for step in range(max(min(_MAX_TRIAL_STEPS, _MAX_TRIAL_ENV_STEPS // num_envs), 1)):
        actions, expected = reference(env, keys, vstate, np.uint32(step))
        if not agree(program(env, keys, vstate, actions), expected):
            return False
        vstate = expected[0]
        num_after_end += bool(num_after_end) or bool(np.asarray(expected[1].done).any())
        if num_after_end > 2:
            break
    return True


def _have_same_form(one: Any, other: Any) -> bool:
    """Return whether two pytrees have the same structure, shapes and dtypes."""

    def form(tree: Any) -> tuple[Any, list[Any]]:
        leaves, structure = jax.tree.flatten(tree)
        return structure, [(kind.shape, kind.dtype) for kind in map(jax.typeof, leaves)]

    return form(one) == form(other)

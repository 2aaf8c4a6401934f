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
from funcenv._compile.lazy_reset import plain_step, require_fitting, single_kernel_step
from funcenv._compile.options import is_tracing, quick_options, trial_options
from funcenv._compile.single_kernel import compile_single_kernel, mark_single_kernel
from funcenv._compile.traced import (
    kernel_in_trace,
    merge_envs,
    merge_rows,
    random_keys,
    require_kernels,
    require_verified,
)
from funcenv._compile.verified import Refusal, agree, fast_or_plain
from funcenv.func_env import AnyEnv
from funcenv.parameters import map_batched
from funcenv.vector_step import AutoresetMode, VectorState, VectorTimestep, map_rows, reset_row

_MAX_TRIAL_STEPS = 256
_MAX_TRIAL_ENV_STEPS = 2**20

StepResult = tuple[VectorState[Any], VectorTimestep[Any]]


class StepSpec(NamedTuple):
    """The kind of a step: all that it is compiled for, besides the shapes of its arguments; hashable."""

    mode: AutoresetMode
    strategy: str
    chunks: Chunks
    impl: Hashable
    """the PRNG implementation of the keys"""


def step(
    env: AnyEnv, num_envs: int, mode: AutoresetMode, strategy: str, vstate: VectorState[Any], actions: Any
) -> StepResult:
    """Step every environment: by a kernel within a program that is being traced, where that is possible.

    The arguments and results are those of `funcenv._compile.lazy_reset.plain_step`.
    """
    leaves = jax.tree.leaves((env, vstate, actions))
    fast, plain = (
        functools.partial(function, env, num_envs, mode, strategy, vstate, actions)
        for function in (kernel_step, plain_step)
    )
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in leaves) or not is_tracing():
        return plain()
    return fast_or_plain("step in a traced function", num_envs, fast, plain)


def kernel_step(
    env: AnyEnv, num_envs: int, mode: AutoresetMode, strategy: str, vstate: VectorState[Any], actions: Any
) -> StepResult:
    """Step every environment by a kernel within the program that is being traced.

    The arguments and results are those of `step`.

    Raises:
        Refusal: no kernel can step these environments, or none is allowed here.
    """
    rows = jax.tree.map(jnp.asarray, actions)
    require_kernels(env, vstate, rows)
    require_fitting(env, num_envs)
    impl, data = jax.random.key_impl(vstate.key), jax.random.key_data(vstate.key)
    args = env, data, vstate.replace(key=None), rows
    stepped, timestep = _kernel_step(_fit_spec(mode, strategy, num_envs, impl, *args), *args)
    return stepped.replace(key=vstate.key), timestep


def _fit_spec(mode: AutoresetMode, strategy: str, num_envs: int, impl: Any, *args: Any) -> StepSpec:
    spec = StepSpec(mode, strategy, Chunks(num_envs, num_envs), impl)
    stepped = jax.eval_shape(functools.partial(_plain, spec), *args)
    return spec._replace(chunks=Chunks.fit(num_envs, count_bytes(stepped) // num_envs))


def _kernel_step(spec: StepSpec, *args: Any) -> StepResult:
    """Step by a verified kernel."""
    require_verified(spec, functools.partial(_matches, spec), args[0], args[1:])
    parts = functools.partial(_marked, spec), functools.partial(_plain, spec), functools.partial(_batch, spec)
    return kernel_in_trace(*parts, *args)


def _marked(spec: StepSpec, env: Any, data: jax.Array, vstate: Any, actions: Any) -> StepResult:
    kernel = mark_single_kernel(functools.partial(_kernel, spec), spec.chunks.style)
    result: StepResult = kernel(env, jax.random.wrap_key_data(data, impl=spec.impl), vstate, actions)
    return result


def _batch(spec: StepSpec, size: int, is_batched: Any, env: Any, *rows: Any) -> StepResult:
    """Take `size` mapped steps as one step of all of their environments."""
    num_envs = spec.chunks.num_envs
    args = merge_envs(size, is_batched[0], env, num_envs), *merge_rows(size, tuple(is_batched[1:]), rows)
    wide = _fit_spec(spec.mode, spec.strategy, size * num_envs, spec.impl, *args)
    step, plain = functools.partial(_kernel_step, wide, *args), functools.partial(_plain, wide, *args)
    merged = fast_or_plain("step in a traced function", size * num_envs, step, plain)
    result: StepResult = jax.tree.map(lambda leaf: leaf.reshape(size, -1, *leaf.shape[1:]), merged)
    return result


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


def _matches(spec: StepSpec, env: AnyEnv, rest: Any) -> bool:
    """Compare steps of a kernel with those of the plain program, until a new episode has begun and gone on."""
    num_envs = spec.chunks.num_envs
    keys = random_keys((num_envs,), spec.impl)

    @functools.partial(jax.jit, compiler_options=quick_options())
    def reset(env: AnyEnv, keys: jax.Array, calls: jax.Array) -> Any:
        return map_rows(reset_row, env, num_envs, keys, calls)[0].replace(key=None)

    @functools.cache
    def compile_reference() -> Any:
        example: Any = env, keys, vstate, np.uint32(0)
        return jax.jit(reference).lower(*example).compile(compiler_options=quick_options())

    def reference(env: AnyEnv, keys: jax.Array, vstate: Any, step: jax.Array) -> tuple[Any, StepResult]:
        """Return random actions and the step that they lead to."""
        drawn = map_rows(lambda env, key: env.action_space.sample(jax.random.fold_in(key, step)), env, num_envs, keys)
        actions = jax.tree.map(lambda drawn, given: drawn.astype(given.dtype), drawn, rest[2])
        return actions, _plain(spec, env, jax.random.key_data(keys), vstate, actions)

    vstate = reset(env, keys, np.zeros(num_envs, np.uint32))
    if not _have_same_form(vstate, rest[1]):
        raise Refusal("the state has other shapes or dtypes than that of a reset")
    program = compile_single_kernel(
        *(functools.partial(_kernel, spec), env, keys, vstate, rest[2]),
        style=spec.chunks.style,
        options=trial_options(),
        meanwhile=compile_reference,
    )
    num_after_end = 0
    for step in range(max(min(_MAX_TRIAL_STEPS, _MAX_TRIAL_ENV_STEPS // num_envs), 1)):
        actions, expected = compile_reference()(env, keys, vstate, np.uint32(step))
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

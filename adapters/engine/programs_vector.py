"""The compiled functions of a stateful vector environment.

The result of a call is a pair: a `StepOutput`, and a packed array (`engine/packing.py`) with the state that the next
call needs. For NumPy output the packed array holds the output as well, and the first half of the pair is None: one
call, one array, one read. A value that the output and the state share is stored once (`engine/observation_aliases.py`).

On a CPU a step is a single kernel (`funcenv._compile.single_kernel`), a loop over chunks of environments
(`engine/chunks.py`): it unpacks a chunk, steps it, and writes it to its place in the result. The few environments that
start an episode are reset after the loop, several at a time, so that the vector instructions are full.

Keys are passed as the words they consist of, because JAX takes an array of typed keys apart in Python at every call.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile import store
from funcenv._compile.chunks import VECTOR_LANES
from funcenv._compile.compiled_kinds import CompiledKinds
from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.lazy_reset import plain_step
from funcenv._compile.options import quick_options
from funcenv._compile.rows import IndexList, read_row, split_constants, write_constants
from funcenv._compile.sharing import share_programs
from funcenv._compile.single_kernel import SingleKernel, refusals_of_the_compiler, require_supported
from funcenv._compile.verified import Refusal
from funcenv.adapters.engine.chunks import inline_chunk_size, vector_chunk_size
from funcenv.adapters.engine.observation_aliases import observation_aliases
from funcenv.adapters.engine.packing import Packing
from funcenv.parameters import map_batched
from funcenv.random._counter_based import Style
from funcenv.random.generators import with_style
from funcenv.trees import select
from funcenv.vector import AnyVectorEnv, AutoresetMode, VectorState, VectorTimestep
from funcenv.vector_step import map_rows, replace_by_select, reset_call, reset_row, step_before_reset, take


class StepOutput(NamedTuple):
    """The report of a call to the user; every leaf has a leading axis `[num_envs]`."""

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: Any
    final_observation: Any  # None except in SAME_STEP mode
    final_info: Any  # None except in SAME_STEP mode; zeros where no episode ended
    ended: Any  # terminated | truncated; None except in SAME_STEP mode and if the output is not packed


Result = tuple[StepOutput | None, jax.Array]

MAX_ROLLOUT_LENGTHS = 16
"""The numbers of steps for which the programs of a rollout are kept."""


class VectorPrograms:
    """The compiled functions of one vector environment.

    Args:
        venv: the environments.
        impl: the PRNG implementation of their keys.
        packs_output: whether the packed array holds the output.
        chunk_size: how many environments a single kernel steps at a time, a divisor of `num_envs`. By default
            `vector_chunk_size` decides; where that is None, the programs are ordinary ones.

    Attributes:
        layout: the layout of the packed array: the output, or None, and the vector state without keys.
    """

    def __init__(
        self,
        venv: AnyVectorEnv,
        impl: Hashable,
        packs_output: bool,
        chunk_size: int | None = None,
    ) -> None:
        self._venv, self._impl, self._packs_output = venv, impl, packs_output
        self._parts: Any = venv, str(impl), packs_output
        self._same_step = venv.autoreset_mode is AutoresetMode.SAME_STEP
        self._key_shapes = jax.eval_shape(lambda: jax.random.split(jax.random.key(0, impl=impl), venv.num_envs))
        vstate, timestep = jax.eval_shape(venv.reset, self._key_shapes)
        self._output_shapes, self._state_shapes = jax.eval_shape(self._output, timestep), vstate.replace(key=None)
        num_outputs = len(jax.tree.leaves(self._output_shapes))  # whose observations come first
        aliases = observation_aliases(venv, vstate) if packs_output else {}
        self.layout = Packing(
            (self._output_shapes if packs_output else None, self._state_shapes),
            venv.num_envs,
            {num_outputs + leaf: entry for leaf, entry in aliases.items()},
        )
        self.first_reset = KeptJit(self._first_reset, "first reset of a vector environment", self._parts)
        self.reset = KeptJit(self._reset, "reset of a vector environment", self._parts)
        self.step_with = jax.jit(self._step_with)
        self.rollout_with: Any = jax.jit(self._rollout_with)  # JAX does not declare its clear_cache
        self.vstate = jax.jit(self._vstate)
        self.pack_vstate = jax.jit(self._pack_vstate)
        self._compile_steps(chunk_size or vector_chunk_size(venv.num_envs, self.layout.words_per_env))

    def with_chunk_size(self, size: int) -> VectorPrograms:
        """Return the same programs with another chunk size."""
        other = copy.copy(self)
        other._compile_steps(size)
        return other

    def _forget_rollouts(self) -> None:
        self.rollout.clear_cache()
        self.rollout_with.clear_cache()

    def count_operations(self) -> float:
        """Return how many operations XLA counts in a single-kernel step; infinity if it cannot compile one."""
        key_words = jax.eval_shape(jax.random.key_data, self._key_shapes)
        packed = jax.eval_shape(self._pack_vstate, self._state_shapes)
        actions = jax.eval_shape(jax.vmap(self._venv.single_action_space.sample), self._key_shapes)
        traced = self.step.kernel.trace(key_words, packed, actions)
        try:
            require_supported(traced.jaxpr.jaxpr)
            with refusals_of_the_compiler():
                program = traced.lower().compile(compiler_options=quick_options())
        except Refusal:
            return math.inf
        return float((program.cost_analysis() or {}).get("flops", math.inf))

    def _compile_steps(self, chunk_size: int | None) -> None:
        chunked: Callable[..., Result] = functools.partial(self._chunked_step, chunk_size or self._venv.num_envs)
        if self._venv.env.remembers:
            chunked = self._step  # In chunks, resets come after all steps and do not see the last states.
        refusal = None if chunk_size else f"no chunks of at least {VECTOR_LANES} environments divide them"
        kernel = functools.partial(
            SingleKernel, view=self._readable, refusal=refusal, style=Style.BATCHED_SINGLE_KERNEL
        )
        parts = *self._parts, chunk_size
        self.step = kernel(chunked, plain=self._step, parts=("step", *parts))
        self.rollout = kernel(self._scan(chunked), plain=self._scan(self._step), parts=("rollout", *parts))
        self.rollout_lengths = CompiledKinds(MAX_ROLLOUT_LENGTHS, self._forget_rollouts)

    def _step(self, key_words: jax.Array, packed: jax.Array, actions: Any) -> Result:
        venv, vstate = self._venv, self._vstate(key_words, packed)
        return self._result(
            *plain_step(venv.env, venv.num_envs, venv.autoreset_mode, venv.reset_strategy, vstate, actions)
        )

    def _chunked_step(self, size: int, key_words: jax.Array, packed: jax.Array, actions: Any) -> Result:
        """Step chunk by chunk; then reset, a block at a time."""
        env, num_envs, mode = self._venv.env, self._venv.num_envs, self._venv.autoreset_mode
        keys = with_style(self._wrap_keys(key_words), Style.BATCHED_SINGLE_KERNEL)
        block = VECTOR_LANES if size >= VECTOR_LANES else 1
        resets = mode is not AutoresetMode.DISABLED

        def fresh(rows: Any) -> tuple[StepOutput, VectorState[Any]]:
            calls = reset_call(mode, self.layout.unpack_rows(packed, rows)[1].num_calls)
            rows_env = map_batched(env, num_envs, lambda leaf: take(leaf, rows))
            vstate, timestep = map_rows(reset_row, rows_env, rows.size, take(keys, rows), calls)
            output = self._output(timestep)
            if self._same_step:
                nothing = jax.tree.map(lambda _: None, self._output_shapes)
                output = nothing._replace(observation=output.observation, info=output.info)
            return output, vstate.replace(key=None)

        constants, rest = split_constants(fresh, block) if resets else (None, fresh)

        def step_chunk(index: jax.Array, carry: tuple[Result, Any]) -> tuple[Result, IndexList | None]:
            result, listed = carry
            start = index * size

            def chunk(leaf: jax.Array) -> jax.Array:
                return jax.lax.dynamic_slice_in_dim(leaf, start, size, allow_negative_indices=False)

            vstate = self.layout.unpack_slice(packed, start, size)[1].replace(key=chunk(keys))
            chunk_env, chunk_actions = map_batched(env, num_envs, chunk), jax.tree.map(chunk, actions)
            step = step_before_reset(chunk_env, size, mode, vstate, chunk_actions)
            after = self._output(step.timestep), step.vstate.replace(key=None)
            if resets:
                after, listed = write_constants(step.mask, constants, after), listed.extend(step.mask, start)
            return self._write(result, *after, start), listed

        def write_row(result: Result, new: Any, index: jax.Array, row: jax.Array) -> Result:
            output, vstate = read_row(new, index)
            return self._write(result, output, vstate, row)

        start = self._empty_result(), IndexList.empty(num_envs, block) if resets else None
        result, listed = jax.lax.fori_loop(0, num_envs // size, step_chunk, start)
        return listed.for_each(result, rest, write_row, block) if resets else result

    def _step_with(
        self, usual: Any, present: Any, key_words: jax.Array, packed: jax.Array, actions: Any
    ) -> tuple[Result, Any]:
        """Step environments whose present episodes have parameters of their own.

        Args:
            usual: the environments from the next episodes on; every parameter has a leading axis.
            present: the environments of the present episodes, likewise.
            key_words: the words of the keys.
            packed: the packed array of the last call.
            actions: a batch of actions.

        Returns:
            The result and the environments of the next call.
        """
        mode, vstate = self._venv.autoreset_mode, self._vstate(key_words, packed)
        step = step_before_reset(present, self._venv.num_envs, mode, vstate, actions, reset_env=usual)
        if mode is AutoresetMode.DISABLED:
            return self._result(step.vstate, step.timestep), present
        after = step.finish(*replace_by_select(step.mask, step.replaceable(), step.fresh))
        return self._result(*after), select(step.mask, usual, present)

    def _scan(self, step: Callable[..., Result]) -> Callable[..., Result]:
        """Return the function that takes many steps; actions and outputs have a leading axis `[num_steps]`."""

        def rollout(key_words: jax.Array, packed: jax.Array, actions: Any) -> Result:
            def one_step(packed: jax.Array, actions: Any) -> tuple[jax.Array, StepOutput]:
                result = step(key_words, packed, actions)
                return result[1], self.unpack_output(result)

            packed, outputs = jax.lax.scan(one_step, packed, actions)
            return outputs, packed

        return rollout

    def _rollout_with(
        self, usual: Any, present: Any, key_words: jax.Array, packed: jax.Array, actions: Any
    ) -> tuple[Result, Any]:
        """Take many steps with `_step_with`."""

        def one_step(carry: tuple[jax.Array, Any], actions: Any) -> tuple[tuple[jax.Array, Any], StepOutput]:
            result, present = self._step_with(usual, carry[1], key_words, carry[0], actions)
            return (result[1], present), self.unpack_output(result)

        (packed, present), outputs = jax.lax.scan(one_step, (packed, present), actions)
        return (outputs, packed), present

    def _first_reset(self, env: Any, key_words: jax.Array) -> Result:
        """Reset all environments at the start of their key streams."""
        return self._result(*self._venv.replace(env=env).reset(self._wrap_keys(key_words)))

    def _reset(self, env: Any, key_words: jax.Array, packed: jax.Array, seeded: jax.Array, mask: jax.Array) -> Result:
        """Reset the environments in `mask`; those in `seeded` restart their key streams."""
        vstate = self._vstate(key_words, packed)
        vstate = vstate.replace(num_calls=jnp.where(seeded, np.uint32(0), vstate.num_calls))
        vstate, timestep = self._venv.replace(env=env).reset(vstate=vstate, mask=mask)
        return self._result(vstate, timestep.replace(info=_zero_unless(mask, timestep.info)))

    def _vstate(self, key_words: jax.Array, packed: jax.Array) -> VectorState[Any]:
        vstate: VectorState[Any] = self.layout.unpack(packed)[1].replace(key=self._wrap_keys(key_words))
        return vstate

    def _wrap_keys(self, key_words: jax.Array) -> jax.Array:
        return jax.random.wrap_key_data(key_words, impl=self._impl)

    def _pack_vstate(self, vstate: VectorState[Any]) -> jax.Array:
        """Return the packed array of a state, with zeros for an output."""
        nothing = _zeros(self._output_shapes) if self._packs_output else None
        return self.layout.pack((nothing, vstate.replace(key=None)))

    def _output(self, timestep: VectorTimestep[Any]) -> StepOutput:
        return StepOutput(
            observation=timestep.observation,
            reward=timestep.reward.astype(float),
            terminated=timestep.terminated,
            truncated=timestep.truncated,
            info=timestep.info,
            final_observation=timestep.final_observation if self._same_step else None,
            final_info=_zero_unless(timestep.done, timestep.final_info) if self._same_step else None,
            ended=timestep.done if self._same_step and not self._packs_output else None,
        )

    def _result(self, vstate: VectorState[Any], timestep: VectorTimestep[Any]) -> Result:
        output, vstate = self._output(timestep), vstate.replace(key=None)
        return (
            (None, self.layout.pack((output, vstate)))
            if self._packs_output
            else (output, self.layout.pack((None, vstate)))
        )

    def _empty_result(self) -> Result:
        return None if self._packs_output else _zeros(self._output_shapes), self.layout.zeros()

    def _write(self, result: Result, output: StepOutput, vstate: VectorState[Any], start: jax.Array) -> Result:
        """Replace what a result holds of the environments from `start` on; a leaf that is None is left as it is."""
        if self._packs_output:
            return None, self.layout.write(result[1], (output, vstate), start)

        def write(new: Any, leaf: Any) -> Any:
            return leaf if new is None else jax.lax.dynamic_update_slice_in_dim(leaf, new, start, axis=0)

        outputs = jax.tree.map(write, output, result[0], is_leaf=lambda leaf: leaf is None)
        return outputs, self.layout.write(result[1], (None, vstate), start)

    def unpack_output(self, result: Result) -> StepOutput:
        """Return the output of a result; traceable."""
        output: StepOutput = result[0] if result[0] is not None else self.layout.unpack(result[1])[0]
        return output

    def _readable(self, result: Result) -> Any:
        """Return the values in a result on the host, where the two ways to compile a step are compared."""
        return result[0], self.layout.read(result[1])


def _make_programs(venv: AnyVectorEnv, impl: Hashable, packs_output: bool) -> VectorPrograms:
    programs = VectorPrograms(venv, impl, packs_output)

    def count_operations(size: int) -> float:
        parts = venv, str(impl), packs_output, size
        count = store.find_out("operations", parts, lambda: programs.with_chunk_size(size).count_operations())
        return float(count)

    inline = inline_chunk_size(venv.num_envs, count_operations)
    return programs if inline is None else programs.with_chunk_size(inline)


vector_programs = share_programs(_make_programs)


def _zero_unless(condition: jax.Array, tree: Any) -> Any:
    return select(condition, tree, jax.tree.map(jnp.zeros_like, tree))


def _zeros(shapes: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

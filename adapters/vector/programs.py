"""The compiled functions of a stateful vector environment, and where its numbers lie.

What one call carries to the next is packed (`BatchPacking`). On a CPU a step runs over chunks of environments in one
fused function (`funcenv._compile.single_kernel`): it takes a chunk, steps it, and puts it where it lies in the result. Fresh episodes of
the few that begin anew are put over that when all chunks are done: then the vectors that compute them are full. With
numpy output, what is shown lies in the same array, where a number that is also carried is stored once
(`adapters.vector.observation_aliases`): one call, one array, one read.

A chunk fits the innermost cache. But with asynchronous dispatch, which is JAX's default, the CPU backend hands a
program to another thread, and that takes longer than a step of a few hundred environments; unless it counts fewer than
1000 operations, with those in the body of a loop counted once. Chunks of two environments or of one, and draws that are
made one after another, get many a step below that.

Keys go in as the words they are made of, because JAX takes an array of typed keys apart in Python, call by call.
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

from funcenv._compile.options import is_enabled, quick_options
from funcenv._compile.rows import IndexList, read_row, split_constants, write_constants
from funcenv._compile.single_kernel import SingleKernel
from funcenv.adapters.vector.observation_aliases import Shared, shared_words
from funcenv.adapters.vector.packing import BatchPacking
from funcenv.parameters import map_batched
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep
from funcenv.vector_step import (
    map_rows,
    replace_by_select,
    reset_call,
    reset_row,
    select,
    step_before_reset,
    take,
)

_MOST_ENVS = 256  # in a chunk: with more, XLA splits the work among threads, which a fused function cannot
_FEWEST_ENVS = 16  # in each of several chunks: fewer do not fill the vector registers
_MOST_WORDS = 2**16  # in a chunk
_INLINE_ENVS = 1024  # with more, small chunks cost more than another thread
_INLINE_OPERATIONS = 1000
_MOST_FRESH = 16  # episodes that begin together: the lanes of a 512-bit register


class Shown(NamedTuple):
    """What a call tells the user; every leaf has a leading axis `[num_envs]`."""

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: Any
    final_observation: Any  # None unless episodes begin within the step that ended them
    final_info: Any  # likewise; zeros where nothing ended
    ended: Any  # likewise, and None in packed output, where the flags tell


class VectorPrograms:
    """The compiled functions of one vector environment.

    A call takes the words of the keys `[num_envs, words]` and what the last call carried to it. It returns an "output":
    with `packed` one array, which is also what it carries; else what is shown and what is carried, a pair.

    Args:
        venv: the environments.
        impl: the generator of their keys.
        packed: the kind of output.
        chunk_size: how many environments a fused function steps at a time, a divisor of `num_envs`; by default as many
            as are useful, and on other devices no fused function is made.
    """

    def __init__(
        self,
        venv: FuncVectorEnv[Any, Any, Any],
        impl: Hashable,
        packed: bool,
        chunk_size: int | None = None,
    ) -> None:
        self._venv, self._impl, self._packed = venv, impl, packed
        keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0, impl=impl), venv.num_envs))
        vstate, timestep = jax.eval_shape(venv.reset, keys)
        self._keys = keys
        self._shapes = jax.eval_shape(self._show, timestep), vstate.replace(key=None)
        if packed:
            self._layout = BatchPacking(self._shapes, venv.num_envs, self._shared_words(vstate))
            spans = self._layout.spans()[0]
            self._num_shown = max(span.stop for span in jax.tree.leaves(spans))
            self._flags = slice(spans.terminated.start, spans.truncated.stop)
        else:
            self._layout = BatchPacking((None, self._shapes[1]), venv.num_envs)
        self.step_with = jax.jit(self._step_with)
        self.play_with = jax.jit(self._play_with)
        self.begin = jax.jit(self._begin)
        self.begin_some = jax.jit(self._begin_some)
        self.vstate = jax.jit(self._vstate)
        self.restore = jax.jit(self._restore)
        self._set_chunk_size(chunk_size or _chunk_size(venv.num_envs, self._layout.words_per_env))

    def in_chunks_of(self, size: int) -> VectorPrograms:
        """The same programs, whose fused functions step so many environments at a time."""
        other = copy.copy(self)
        other._set_chunk_size(size)
        return other

    def _set_chunk_size(self, chunk: int | None) -> None:
        """Make the functions that depend on it; None: no fused ones."""
        self._chunk_size = chunk or self._venv.num_envs
        fused, plain, attempt = self._fused_step, self._step, chunk is not None
        self.step = SingleKernel(fused, self._view, plain, attempt, batched=True)
        self.play = SingleKernel(
            self._played_by(fused), self._view_of_many, self._played_by(plain), attempt, batched=True
        )

    def _shared_words(self, vstate: Any) -> Shared:
        """By the numbers of leaves among those that are shown and kept; observations are shown first."""
        num_shown = len(jax.tree.leaves(self._shapes[0]))
        actions = jax.eval_shape(jax.vmap(self._venv.single_action_space.sample), self._keys)
        shared = shared_words(self._venv, vstate, actions)
        return {num_shown + leaf: entry for leaf, entry in shared.items()}

    def readers(self) -> Shown:
        """For each leaf that is shown, a function from words that `own` gave to its numpy array; for packed output."""
        return Shown(*self._layout.readers()[0])

    def read_flags(self, words: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Both flags at once, which lie side by side."""
        flags = words[self._flags] != 0
        return flags[: self._venv.num_envs], flags[self._venv.num_envs :]

    def own(self, output: jax.Array) -> np.ndarray[Any, Any]:
        """The words of an output that are shown: a copy, which its readers do not copy again."""
        return np.asarray(output)[: self._num_shown].copy()

    def counted_operations(self) -> float:
        """How many operations XLA counts in a step that is one function; infinity if it cannot be compiled so."""
        words = jax.eval_shape(jax.random.key_data, self._keys)
        carried = jax.eval_shape(self._restore, self._shapes[1])
        actions = jax.eval_shape(jax.vmap(self._venv.single_action_space.sample), self._keys)
        try:
            program = self.step.lower(words, carried, actions).compile(compiler_options=quick_options())
        except jax.errors.JaxRuntimeError:
            return math.inf
        return float((program.cost_analysis() or {}).get("flops", math.inf))

    def _fused_step(self, words: jax.Array, carried: jax.Array, actions: Any) -> Any:
        """One step, chunk by chunk; then the resets, a few at a time."""
        keys, num_envs = self._wrapped(words), self._venv.num_envs
        mode, size = self._venv.autoreset_mode, self._chunk_size
        block = _MOST_FRESH if size >= _FEWEST_ENVS else 1

        def fresh(rows: Any) -> tuple[Shown, VectorState[Any]]:
            calls = reset_call(mode, self._layout.take_rows(carried, rows)[1].num_calls)
            env = map_batched(self._venv.env, num_envs, lambda leaf: take(leaf, rows))
            vstate, timestep = map_rows(reset_row, env, rows.size, take(keys, rows), calls)
            shown = self._show(timestep)
            if mode is AutoresetMode.SAME_STEP:
                nothing = jax.tree.map(lambda _: None, self._shapes[0])
                shown = nothing._replace(observation=shown.observation, info=shown.info)
            return shown, vstate.replace(key=None)

        resets = mode is not AutoresetMode.DISABLED
        common, rest = split_constants(fresh, block) if resets else (None, fresh)

        def step_chunk(number: jax.Array, carry: tuple[Any, Any]) -> tuple[Any, IndexList | None]:
            output, anew = carry
            start = number * size

            def rows(leaf: jax.Array) -> jax.Array:
                return jax.lax.dynamic_slice_in_dim(leaf, start, size, allow_negative_indices=False)

            env = map_batched(self._venv.env, num_envs, rows)
            vstate = self._layout.take(carried, start, size)[1].replace(key=rows(keys))
            step = step_before_reset(env, size, mode, vstate, jax.tree.map(rows, actions))
            after = self._show(step.timestep), step.vstate.replace(key=None)
            if resets:
                after, anew = write_constants(step.mask, common, after), anew.extend(step.mask, start)
            return self._put(output, *after, start), anew

        def put(output: Any, new: Any, number: jax.Array, row: jax.Array) -> Any:
            shown, vstate = read_row(new, number)
            return self._put(output, shown, vstate, row)

        first = self._unwritten(), IndexList.empty(num_envs, block) if resets else None
        output, anew = jax.lax.fori_loop(0, num_envs // size, step_chunk, first)
        return anew.for_each(output, rest, put, block) if resets else output

    def _unwritten(self) -> Any:
        """An output, to be put together."""
        words = self._layout.zeros()
        if self._packed:
            return words
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self._shapes[0]), words

    def _put(self, output: Any, shown: Shown, kept: VectorState[Any], start: jax.Array) -> Any:
        """An output with what some environments show and keep; what is None in `shown` is left alone."""
        if self._packed:
            return self._layout.put(output, (shown, kept), start)

        def put(new: Any, leaf: Any) -> Any:
            return leaf if new is None else jax.lax.dynamic_update_slice_in_dim(leaf, new, start, axis=0)

        return jax.tree.map(put, shown, output[0], is_leaf=_is_none), self._layout.put(output[1], (None, kept), start)

    def _step(self, words: jax.Array, carried: jax.Array, actions: Any) -> Any:
        return self._output(*self._venv.step(self._vstate(words, carried), actions))

    def _played_by(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Many steps: `actions` has a leading axis `[num_steps]`, and so has what is shown."""

        def play(words: jax.Array, carried: jax.Array, actions: Any) -> tuple[Shown, jax.Array]:
            def one_step(carried: jax.Array, actions: Any) -> tuple[jax.Array, Shown]:
                shown, carried = self._parts(step(words, carried, actions))
                return carried, shown

            carried, shown = jax.lax.scan(one_step, carried, actions)
            return shown, carried

        return play

    def _play_with(
        self, usual: Any, present: Any, words: jax.Array, carried: jax.Array, actions: Any
    ) -> tuple[Shown, jax.Array, Any]:
        """Many steps, as `_step_with` plays one."""

        def one_step(carry: tuple[jax.Array, Any], actions: Any) -> tuple[tuple[jax.Array, Any], Shown]:
            output, present = self._step_with(usual, carry[1], words, carry[0], actions)
            shown, carried = self._parts(output)
            return (carried, present), shown

        (carried, present), shown = jax.lax.scan(one_step, (carried, present), actions)
        return shown, carried, present

    def _step_with(
        self, usual: Any, present: Any, words: jax.Array, carried: jax.Array, actions: Any
    ) -> tuple[Any, Any]:
        """A step of environments with the parameters `present`, which are `usual` again from their next episode on.

        Both are batched throughout. Returns the output and the parameters for the next step.
        """
        mode = self._venv.autoreset_mode
        step = step_before_reset(
            present, self._venv.num_envs, mode, self._vstate(words, carried), actions, reset_env=usual
        )
        if mode is AutoresetMode.DISABLED:
            return self._output(step.vstate, step.timestep), present
        vstate, timestep = step.finish(*replace_by_select(step.mask, step.replaceable(), step.fresh))
        return self._output(vstate, timestep), select(step.mask, usual, present)

    def _begin(self, env: Any, words: jax.Array) -> Any:
        """Every environment's first episode."""
        return self._output(*self._venv.replace(env=env).reset(self._wrapped(words)))

    def _begin_some(self, env: Any, words: jax.Array, carried: jax.Array, seeded: jax.Array, mask: jax.Array) -> Any:
        """A new episode where the mask says so; from the beginning of its stream where `seeded` does."""
        vstate = self._vstate(words, carried)
        vstate = vstate.replace(num_calls=jnp.where(seeded, np.uint32(0), vstate.num_calls))
        vstate, timestep = self._venv.replace(env=env).reset(vstate=vstate, mask=mask)
        return self._output(vstate, timestep.replace(info=_or_zeros(mask, timestep.info)))

    def _vstate(self, words: jax.Array, carried: jax.Array) -> VectorState[Any]:
        vstate: VectorState[Any] = self._layout.unpack(carried)[1].replace(key=self._wrapped(words))
        return vstate

    def _wrapped(self, words: jax.Array) -> jax.Array:
        return jax.random.wrap_key_data(words, impl=self._impl)

    def _restore(self, vstate: VectorState[Any]) -> jax.Array:
        """What is carried to the next call; it shows nothing."""
        shown = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self._shapes[0])
        return self._layout.pack((shown if self._packed else None, vstate.replace(key=None)))

    def _show(self, timestep: VectorTimestep[Any]) -> Shown:
        same_step = self._venv.autoreset_mode is AutoresetMode.SAME_STEP
        return Shown(
            observation=timestep.observation,
            reward=timestep.reward.astype(float),
            terminated=timestep.terminated,
            truncated=timestep.truncated,
            info=timestep.info,
            final_observation=timestep.final_observation if same_step else None,
            final_info=_or_zeros(timestep.done, timestep.final_info) if same_step else None,
            ended=timestep.done if same_step and not self._packed else None,
        )

    def _output(self, vstate: VectorState[Any], timestep: VectorTimestep[Any]) -> Any:
        shown, kept = self._show(timestep), vstate.replace(key=None)
        return self._layout.pack((shown, kept)) if self._packed else (shown, self._layout.pack((None, kept)))

    def _parts(self, output: Any) -> tuple[Shown, jax.Array]:
        """What an output shows, and what it carries to the next call."""
        return (self._layout.unpack(output)[0], output) if self._packed else output

    def _view(self, output: Any) -> Any:
        """The numbers of an output, on the host."""
        return self._layout.read(output) if self._packed else (output[0], self._layout.read(output[1]))

    def _view_of_many(self, result: tuple[Shown, jax.Array]) -> Any:
        return result[0], self._layout.read(result[1])


def vector_programs(venv: FuncVectorEnv[Any, Any, Any], impl: Hashable, packed: bool) -> VectorPrograms:
    """Shared between equal environments; made anew for those that cannot be compared, as with array parameters."""
    try:
        hash(venv)
    except TypeError:
        return _programs(venv, impl, packed)
    return _shared_programs(venv, impl, packed, bool(jnp.zeros(()).dtype == np.float64), is_enabled())


@functools.lru_cache(maxsize=64)
def _shared_programs(
    venv: FuncVectorEnv[Any, Any, Any], impl: Hashable, packed: bool, x64: bool, fused: bool
) -> VectorPrograms:
    del x64, fused  # a part of what a program depends on
    return _programs(venv, impl, packed)


def _programs(venv: FuncVectorEnv[Any, Any, Any], impl: Hashable, packed: bool) -> VectorPrograms:
    programs = VectorPrograms(venv, impl, packed)
    asynchronous = jax.config.values.get("jax_cpu_enable_async_dispatch", True)
    if asynchronous and is_enabled() and jax.default_backend() == "cpu" and venv.num_envs <= _INLINE_ENVS:
        for chunk_size in (2, 1):
            if venv.num_envs % chunk_size == 0:
                small = programs.in_chunks_of(chunk_size)
                count = small.counted_operations()
                if count < _INLINE_OPERATIONS:
                    return small
                if count >= 2 * _INLINE_OPERATIONS:
                    break
    return programs


def _chunk_size(num_envs: int, words_per_env: int) -> int | None:
    """How many environments one fused function steps at a time; None where none is made."""
    if jax.default_backend() != "cpu":
        return None
    most = min(_MOST_ENVS, _MOST_WORDS // words_per_env)
    if num_envs <= most:
        return num_envs
    divisors = [size for size in range(_FEWEST_ENVS, most + 1) if num_envs % size == 0]
    return max(divisors, default=None)


def _or_zeros(condition: jax.Array, tree: Any) -> Any:
    return select(condition, tree, jax.tree.map(jnp.zeros_like, tree))


def _is_none(value: Any) -> bool:
    return value is None

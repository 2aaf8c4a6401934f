"""Automatic resets computed only for the environments that need one.

Under `jax.vmap` a choice is a selection: a step that resets where an episode ended computes a new episode for every
environment and discards nearly all of them. The functions here replace rows of the step's result instead, a block at a
time, so that the cost follows the number of episodes that end. They are `Replace` functions of
`funcenv.vector_step.step_and_reset`: keys, laws and results are those of `replace_by_select`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from funcenv._compile import single_kernel, store
from funcenv._compile.chunks import VECTOR_LANES
from funcenv._compile.jaxpr import count_jaxpr, iter_eqns
from funcenv._compile.rows import IndexList, expand_mask, read_row, split_constants, write_constants, write_row
from funcenv._compile.verified import Refusal
from funcenv._jax import Shape
from funcenv.func_env import AnyEnv
from funcenv.parameters import parameter_axes
from funcenv.row_groups import by_group
from funcenv.vector_step import (
    AutoresetMode,
    Fresh,
    VectorState,
    VectorTimestep,
    by_device,
    step_and_reset,
    step_before_reset,
    take,
)

if TYPE_CHECKING:
    from jax.extend.core import Jaxpr

_MAX_SELECT_RESET_STEPS = 4.0  # A reset that costs more steps than this is done lazily,
_MAX_SELECT_RESET_OPERATIONS = 50_000.0  # and so is one with more operations, such as drawing an image.
_SMALL_RESET_BLOCK_ENVS = 4  # the same in a small batch, where more ends in one step are rare
_MAX_SMALL_BATCH_ENVS = 64
_MAX_BLOCKS = 64  # Many ends at once in a large batch then take at most this many iterations.


def step_lazily(
    env: AnyEnv,
    num_envs: int,
    mode: AutoresetMode,
    vstate: VectorState[Any],
    actions: Any,
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step with lazy resets; where derivatives are taken, with selected ones.

    A loop of unknown length has no reverse-mode derivative. The arguments are those of
    `funcenv.vector_step.step_and_reset`.
    """
    # Keys enter as integers: JAX's key-reuse check counts a key that enters a custom rule as consumed.
    key_data, impl = jax.random.key_data(vstate.key), jax.random.key_impl(vstate.key)
    next_vstate, timestep = _step_lazily(impl, num_envs, mode, env, vstate.replace(key=None), key_data, actions)
    return next_vstate.replace(key=vstate.key), timestep


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _step_lazily(
    impl: Any, num_envs: int, mode: AutoresetMode, env: Any, vstate: Any, key_data: jax.Array, actions: Any
) -> Any:
    return _step_without_keys(replace_in_blocks, impl, num_envs, mode, env, vstate, key_data, actions)


@_step_lazily.defjvp
def _step_lazily_jvp(
    impl: Any, num_envs: int, mode: AutoresetMode, primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> Any:
    return jax.jvp(functools.partial(_step_without_keys, None, impl, num_envs, mode), primals, tangents)


def _step_without_keys(
    replace: Any,
    impl: Any,
    num_envs: int,
    mode: AutoresetMode,
    env: Any,
    vstate: Any,
    key_data: jax.Array,
    actions: Any,
) -> Any:
    vstate = vstate.replace(key=jax.random.wrap_key_data(key_data, impl=impl))
    vstate, timestep = step_and_reset(env, num_envs, mode, vstate, actions, replace)
    return vstate.replace(key=None), timestep


def replace_in_blocks(mask: Bool[Array, "num_envs"], old: Any, fresh: Fresh) -> Any:
    """Replace the rows in the mask, a block of rows at a time; a `Replace` function for any program.

    >>> replace_in_blocks(jnp.array([True, False, True]), jnp.zeros(3, int), lambda rows: rows + 1)
    Array([1, 0, 3], dtype=int32)
    """
    if mask.size == 1:  # XLA would compute the only row that there can be ahead of the loop, in every step.
        return jax.lax.cond(mask[0], lambda: fresh(jnp.zeros(1, jnp.int32)), lambda: old)
    block = min(mask.size, max(VECTOR_LANES, mask.size // _MAX_BLOCKS))
    counts = jnp.cumsum(mask.astype(jnp.int32))  # how many rows up to each are in the mask
    rank, total = counts - 1, counts[-1]

    def replace_block(carry: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
        start, old = carry
        rows = jnp.searchsorted(counts, start + jnp.arange(1, block + 1, dtype=jnp.int32)).astype(jnp.int32)
        new = fresh(jnp.where(rows < mask.size, rows, rows[0]))  # Entries beyond the last row in the mask are not used.
        position = rank - start
        here, position = mask & (position >= 0) & (position < block), jnp.clip(position, 0, block - 1)
        merged = jax.tree.map(lambda a, b: jnp.where(expand_mask(here, b), take(a, position), b), new, old)
        return start + block, merged

    return jax.lax.while_loop(lambda carry: carry[0] < total, replace_block, (jnp.zeros((), jnp.int32), old))[1]


def replace_one_by_one(
    mask: Bool[Array, "num_envs"],
    old: Any,
    fresh: Fresh,
    block: int = VECTOR_LANES,
    listed: IndexList | None = None,
) -> Any:
    """Replace the rows in the mask one by one; a `Replace` function for a program that becomes a single kernel.

    Args:
        mask: as for every `Replace` function, and so are `old` and `fresh`.
        old: see there.
        fresh: see there.
        block: how many rows `fresh` computes together.
        listed: the rows in the mask, if they are listed already.

    >>> replace_one_by_one(jnp.array([True, False, True]), jnp.zeros(3, int), lambda rows: rows + 1)
    Array([1, 0, 3], dtype=int32)
    """
    block = min(block, mask.size)
    constants, rest = split_constants(fresh, block)

    def write(old: Any, new: Any, position: jax.Array, row: jax.Array) -> Any:
        return write_row(old, read_row(new, position), row)

    listed = listed or IndexList.empty(mask.size, block).extend(mask)
    return listed.for_each(write_constants(mask, constants, old), rest, write, block)


def plain_step(
    env: AnyEnv, num_envs: int, mode: AutoresetMode, strategy: str, vstate: VectorState[Any], actions: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step in any program.

    The arguments are those of `funcenv.vector_step.step_and_reset`, and a strategy for resets: "auto", "select" or
    "lazy".
    """

    def step(env: AnyEnv, num_envs: int, vstate: VectorState[Any], actions: Any) -> Any:
        is_lazy = choose_strategy(strategy, env, num_envs) == "lazy"
        return (step_lazily if is_lazy else step_and_reset)(env, num_envs, mode, vstate, actions)

    step_rows = functools.partial(by_device, step)
    stepped: tuple[VectorState[Any], VectorTimestep[Any]] = by_group(step_rows, env, num_envs, vstate, actions)
    return stepped


def single_kernel_step(
    env: AnyEnv,
    num_envs: int,
    mode: AutoresetMode,
    strategy: str,
    vstate: VectorState[Any],
    actions: Any,
    skip_observation: bool = False,
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step in a program that becomes a single kernel, where resets one by one are cheap.

    The arguments are those of `plain_step`. With `skip_observation` the time step does not hold the observation and
    info of new episodes.
    """
    if strategy == "select" or mode is AutoresetMode.DISABLED:
        return step_and_reset(env, num_envs, mode, vstate, actions)
    block = _SMALL_RESET_BLOCK_ENVS if num_envs <= _MAX_SMALL_BATCH_ENVS else VECTOR_LANES
    step = step_before_reset(env, num_envs, mode, vstate, actions)
    if skip_observation:
        step = step._replace(fields=tuple(name for name in step.fields if name not in ("observation", "info")))
    return step.finish(*replace_one_by_one(step.mask, step.replaceable(), step.fresh, block))


def choose_strategy(strategy: str, env: AnyEnv, num_envs: int) -> str:
    """Return the strategy of a plain step, "select" or "lazy", given the user's, which may be "auto"."""
    if strategy != "auto":
        return strategy
    return "lazy" if is_reset_costly(env, num_envs) else "select"


def is_reset_costly(env: AnyEnv, num_envs: int) -> bool:
    """Return whether a reset of one environment is so much more work than a step that a loop pays, or calls the host.

    Args:
        env: the environment, or a batch of `num_envs`.
        num_envs: the size of the batch.

    >>> import funcenv
    >>> is_reset_costly(funcenv.make("CartPole-v1"), 8)
    False
    """
    programs = _programs_of_one(env, num_envs)
    if any(eqn.primitive.name == "pure_callback" for eqn in iter_eqns(programs[0])):
        return True  # No count of operations shows what the host does.
    reset, step = map(count_jaxpr, programs)
    return reset > _MAX_SELECT_RESET_OPERATIONS or reset > _MAX_SELECT_RESET_STEPS * step


def require_fitting(env: AnyEnv, num_envs: int) -> None:
    """Raise `Refusal` unless a kernel can and should hold reset and step, as far as those of one environment show.

    A batch of them takes longer to trace, which is in vain for programs as large as those of rigid bodies.

    Args:
        env: the environment, or a batch of `num_envs`.
        num_envs: the size of the batch.

    >>> import funcenv
    >>> require_fitting(funcenv.make("CartPole-v1"), 8)
    """

    def refusal() -> str | None:
        try:
            for program in _programs_of_one(env, num_envs):
                single_kernel.require_supported(program)
                single_kernel.require_no_image(program)
        except Refusal as reason:
            return str(reason)
        return None

    if (reason := store.find_out("what a kernel cannot hold", (env, num_envs), refusal)) is not None:
        raise Refusal(reason)


def is_large(env: AnyEnv, num_envs: int) -> bool:
    """Return whether reset or step of one environment are too large for a kernel; arguments as of `require_fitting`."""

    def is_large() -> bool:
        programs = _programs_of_one(env, num_envs)
        return any(_num_equations(jaxpr) > single_kernel.MAX_EQUATIONS for jaxpr in programs)

    return bool(store.find_out("whether a step is large", (env, num_envs), is_large))


def _programs_of_one(env: AnyEnv, num_envs: int) -> tuple[Jaxpr, Jaxpr]:
    """Return the programs of the reset and the step of one environment of a batch."""

    def of_one(leaf: Any, axis: int | None) -> Any:
        kind = jax.typeof(leaf)
        return Shape(kind.shape[axis is not None :], kind.dtype, weak_type=kind.weak_type)

    single, structure = jax.tree.flatten(jax.tree.map(of_one, env, parameter_axes(env, num_envs)))
    return _programs(structure, *single)


@functools.lru_cache(maxsize=256)
def _programs(structure: Any, *parameters: Any) -> tuple[Jaxpr, Jaxpr]:
    env = jax.tree.unflatten(structure, parameters)
    key = jax.eval_shape(lambda: jax.random.key(0))
    reset, (state, _) = jax.make_jaxpr(lambda env, key: env.reset(key), return_shape=True)(env, key)
    if env.remembers:
        reset = jax.make_jaxpr(lambda env, key, last: env.reset(key, after=last))(env, key, state)
    action = jax.eval_shape(lambda env, key: env.action_space.sample(key), env, key)
    step = jax.make_jaxpr(lambda env, *args: env.step(*args))(env, state, action, key)
    return reset.jaxpr, step.jaxpr


@functools.lru_cache(maxsize=256)
def _num_equations(jaxpr: Jaxpr) -> int:
    """Return how many equations a program has; they are counted once, because every plain rollout asks."""
    return sum(1 for _ in iter_eqns(jaxpr))

"""A vector step that computes a reset only for the environments that begin anew.

Under `jax.vmap` a choice is a selection: a step that resets where an episode ended computes a new episode for every
environment, and throws nearly all of them away. `lazy_step` steps all environments, and then, as long as there are
any left, takes the next few of those that begin anew and resets them together. The keys, the law and the results are
those of `FuncVectorEnv.step`; the cost follows the number of episodes that end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, Var, jaxpr_as_fun
from jaxtyping import Array, Bool, Int

from funcenv._compile.jaxpr import operations
from funcenv.func_env import FuncEnv
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep, map_batched, parameter_axes

Fresh = Callable[[Int[Array, "block"]], Any]
Put = Callable[[Any, Any, Int[Array, ""], Int[Array, ""]], Any]

_COSTLY = 4.0  # times the work of a step
_GREAT = 50_000.0  # operations; so many cost more than a loop, however much work a step is: where pictures are drawn
_FEWEST = 16  # environments reset together: the lanes of a 512-bit register
_BITS = 32  # of a word
_PARTS = 64  # of a large batch, one is reset together, so that many ends do not take many turns


def lazy_step(
    venv: FuncVectorEnv[Any, Any, Any],
    vstate: VectorState[Any],
    actions: Any,
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """What `venv.step(vstate, actions)` gives.

    Args:
        venv: the environments.
        vstate: their states.
        actions: with a leading axis `[num_envs]`.

    >>> import funcenv
    >>> venv = FuncVectorEnv(funcenv.make("CartPole-v1"), 3)
    >>> vstate, _ = venv.reset(funcenv.key(0))
    >>> _, timestep = jax.jit(lazy_step)(venv, vstate, jnp.array([0, 1, 1]))
    >>> timestep.reward
    Array([1., 1., 1.], dtype=float32)
    """
    step = step_before_resets(venv, vstate, actions)
    if step.begin is None:
        return step.vstate, step.timestep
    return step.finished(*replace_rows(step.anew, step.overwritten(), step.fresh))


class StepBeforeReset(NamedTuple):
    """A vector step of which only the resets are missing."""

    vstate: VectorState[Any]
    timestep: VectorTimestep[Any]
    anew: Bool[Array, "num_envs"]
    """Which environments begin anew."""
    begin: Callable[[Int[Array, "block"]], tuple[VectorState[Any], VectorTimestep[Any]]] | None
    """From the numbers of some environments to the beginnings of their new episodes; None: no resets."""
    names: tuple[str, ...]
    """The fields of the time step that a reset overwrites."""

    def overwritten(self) -> tuple[VectorState[Any], dict[str, Any]]:
        """What a reset overwrites: the vector state but for its keys, and some fields of the time step."""
        return self._picked(self.vstate, self.timestep)

    def fresh(self, rows: Int[Array, "block"]) -> tuple[VectorState[Any], dict[str, Any]]:
        """The same of new episodes of some environments."""
        assert self.begin is not None
        return self._picked(*self.begin(rows))

    def finished(self, vstate: VectorState[Any], shown: dict[str, Any]) -> tuple[VectorState[Any], VectorTimestep[Any]]:
        """The whole step, from `overwritten` with new episodes put in."""
        return vstate.replace(key=self.vstate.key), self.timestep.replace(**shown)

    def _picked(
        self, vstate: VectorState[Any], timestep: VectorTimestep[Any]
    ) -> tuple[VectorState[Any], dict[str, Any]]:
        return vstate.replace(key=None), {name: getattr(timestep, name) for name in self.names}


def step_before_resets(venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any], actions: Any) -> StepBeforeReset:
    """What `venv.step(vstate, actions)` does up to the resets, and how they are done.

    A reset at a step of its own overwrites everything; one within the step that ended an episode only how the next one
    begins.
    """
    mode = venv.autoreset_mode
    advanced, timestep = venv.replace(autoreset_mode=AutoresetMode.DISABLED).step(vstate, actions)
    if mode is AutoresetMode.DISABLED:
        return StepBeforeReset(advanced, timestep, jnp.zeros(venv.num_envs, bool), None, ())
    at_once = mode is AutoresetMode.SAME_STEP
    anew, before = (timestep.done, advanced) if at_once else (vstate.done, vstate)
    names = ("observation", "info") if at_once else tuple(timestep.__dataclass_fields__)
    return StepBeforeReset(advanced, timestep, anew, lambda rows: begin(venv, rows, take(before, rows)), names)


def begin(
    venv: FuncVectorEnv[Any, Any, Any], rows: Int[Array, "block"], before: VectorState[Any]
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """New episodes of some environments, as `venv.reset` would begin them.

    Args:
        venv: all environments.
        rows: the numbers of some.
        before: of these environments, `[block]`; their keys and how many calls they have had.
    """
    env = map_batched(venv.env, venv.num_envs, lambda leaf: take(leaf, rows))
    vstate, timestep = FuncVectorEnv(env, rows.size, AutoresetMode.DISABLED).reset(vstate=before)
    return vstate, timestep


def step_lazily(
    venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any], actions: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """`lazy_step`; where derivatives are taken, the step that selects, because a loop has none in reverse mode."""
    # Keys go in as numbers, because JAX's check of key reuse takes a key that enters a custom rule for spent.
    numbers, impl = jax.random.key_data(vstate.key), jax.random.key_impl(vstate.key)
    next_vstate, timestep = _step_lazily(impl, venv, vstate.replace(key=None), numbers, actions)
    return next_vstate.replace(key=vstate.key), timestep


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _step_lazily(impl: Any, venv: Any, vstate: Any, numbers: jax.Array, actions: Any) -> Any:
    return _without_keys(lazy_step(venv, _with_keys(vstate, numbers, impl), actions))


@_step_lazily.defjvp
def _step_lazily_jvp(impl: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    def step(venv: Any, vstate: Any, numbers: jax.Array, actions: Any) -> Any:
        venv = venv.replace(reset_strategy="select")
        return _without_keys(venv.step(_with_keys(vstate, numbers, impl), actions))

    return jax.jvp(step, primals, tangents)


def _with_keys(vstate: VectorState[Any], numbers: jax.Array, impl: Any) -> VectorState[Any]:
    return vstate.replace(key=jax.random.wrap_key_data(numbers, impl=impl))


def _without_keys(result: tuple[VectorState[Any], VectorTimestep[Any]]) -> Any:
    return result[0].replace(key=None), result[1]


def is_reset_costly(env: FuncEnv[Any, Any, Any], num_envs: int) -> bool:
    """Whether a reset of one environment is so much more work than a step that it is worth a loop.

    Args:
        env: the environment, or a batch of `num_envs`.
        num_envs: how many.

    >>> import funcenv
    >>> is_reset_costly(funcenv.make("CartPole-v1"), 8)
    False
    """
    shape_of: Any = jax.ShapeDtypeStruct  # for which JAX has no types

    def of_one(leaf: Any, axis: int | None) -> Any:
        kind = jax.typeof(leaf)
        return shape_of(kind.shape[axis is not None :], kind.dtype, weak_type=kind.weak_type)

    single, structure = jax.tree.flatten(jax.tree.map(of_one, env, parameter_axes(env, num_envs)))
    return _is_reset_costly(structure, *single)


@functools.lru_cache(maxsize=256)
def _is_reset_costly(structure: Any, *parameters: Any) -> bool:
    env = jax.tree.unflatten(structure, parameters)
    key = jax.eval_shape(lambda: jax.random.key(0))
    state = jax.eval_shape(lambda env, key: env.reset(key)[0], env, key)
    action = jax.eval_shape(lambda env, key: env.action_space.sample(key), env, key)
    reset_cost = operations(lambda env, key: env.reset(key), env, key)
    step_cost = operations(lambda env, *args: env.step(*args), env, state, action, key)
    return reset_cost > _GREAT or reset_cost > _COSTLY * step_cost


def replace_rows(flags: Bool[Array, "num_envs"], old: Any, fresh: Fresh) -> Any:
    """`old` with the rows replaced where a flag is set, a block of rows at a time.

    Args:
        flags: where.
        old: a tree of arrays with a leading axis `[num_envs]`.
        fresh: from the numbers of some rows, all of them valid, to what takes their place.

    >>> replace_rows(jnp.array([True, False, True]), jnp.zeros(3, int), lambda rows: rows + 1)
    Array([1, 0, 3], dtype=int32)
    """
    block = min(flags.size, max(_FEWEST, flags.size // _PARTS))
    so_far = jnp.cumsum(flags.astype(jnp.int32))
    rank, count = so_far - 1, so_far[-1]

    def replace_block(carry: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
        start, old = carry
        rows = jnp.searchsorted(so_far, start + jnp.arange(1, block + 1, dtype=jnp.int32)).astype(jnp.int32)
        new = fresh(jnp.minimum(rows, flags.size - 1))  # beyond the last flag any row will do
        place = rank - start
        here, place = flags & (place >= 0) & (place < block), jnp.clip(place, 0, block - 1)
        return start + block, jax.tree.map(lambda a, b: jnp.where(_like(here, b), take(a, place), b), new, old)

    return jax.lax.while_loop(lambda carry: carry[0] < count, replace_block, (jnp.zeros((), jnp.int32), old))[1]


def replace_rows_in_turn(
    flags: Bool[Array, "num_envs"], old: Any, fresh: Fresh, block: int = _FEWEST, listed: Rows | None = None
) -> Any:
    """`replace_rows` by loops over single rows, for a program that is compiled as one function (`funcenv._compile.single_kernel`).

    There a turn of a loop costs nothing but its arithmetic; elsewhere it costs microseconds. Rows that were `listed`
    from the flags already need not be again.

    >>> replace_rows_in_turn(jnp.array([True, False, True]), jnp.zeros(3, int), lambda rows: rows + 1)
    Array([1, 0, 3], dtype=int32)
    """
    block = min(block, flags.size)
    common, rest = split_constants(fresh, block)

    def put(old: Any, new: Any, number: jax.Array, row: jax.Array) -> Any:
        return put_row(old, take_row(new, number), row)

    listed = listed or with_flagged(no_rows(flags.size, block), flags)
    return for_each_listed(listed, put_where(flags, common, old), rest, put, block)


class Rows(NamedTuple):
    """A list of rows, in no particular order."""

    numbers: Int[Array, "capacity"]
    """The first `length` are of rows; what follows is in range, but no more."""
    length: Int[Array, ""]


def no_rows(most: int, block: int) -> Rows:
    """An empty list, for at most that many rows, which are taken `block` at a time."""
    return Rows(jnp.zeros(most + block, jnp.int32), jnp.zeros((), jnp.int32))


def with_flagged(listed: Rows, flags: Bool[Array, "some"], first: int | Int[Array, ""] = 0) -> Rows:
    """The list with the rows whose flag is set; `flags` are of the rows from `first` on.

    The flags become the bits of a few words, of which only those that are set are looked at. Fewer flags than one word
    has bits are looked at one by one, which is less to count where few operations matter (`adapters.vector.programs`).

    >>> with_flagged(no_rows(4, 1), jnp.array([True, False, True]), first=1).numbers[:2].tolist()
    [1, 3]
    """
    if flags.size < _BITS:

        def note(row: jax.Array, listed: Rows) -> Rows:
            appended = _appended(listed, first + row.astype(jnp.int32))
            return Rows(appended.numbers, listed.length + flags[row].astype(jnp.int32))

        return jax.lax.fori_loop(0, flags.size, note, listed)
    num_words = -(-flags.size // _BITS)
    bits = flags.astype(jnp.uint32)
    if flags.size % _BITS:  # what has no end to add would be copied
        bits = jnp.pad(bits, (0, -flags.size % _BITS))
    words = jnp.zeros(num_words, jnp.uint32)
    for bit in range(_BITS):  # row number `bit * num_words + word`, so that what is added up lies side by side
        words = words | (bits[bit * num_words : (bit + 1) * num_words] << np.uint32(bit))

    def note_word(number: jax.Array, listed: Rows) -> Rows:
        def note_bit(carry: tuple[Rows, jax.Array]) -> tuple[Rows, jax.Array]:
            listed, left = carry
            bit = np.uint32(_BITS - 1) - jax.lax.clz(left)
            row = bit.astype(jnp.int32) * num_words + number.astype(jnp.int32)
            return _appended(listed, first + row), left ^ (jnp.ones((), jnp.uint32) << bit)

        return jax.lax.while_loop(lambda carry: carry[1] != 0, note_bit, (listed, words[number]))[0]

    return jax.lax.fori_loop(0, num_words, note_word, listed)


def for_each_listed(listed: Rows, result: Any, fresh: Fresh, put: Put, block: int) -> Any:
    """`result = put(result, new, number, row)` for each row of a list, in no particular order.

    Args:
        listed: which rows; a list that was made for such blocks or larger ones.
        result: any tree.
        fresh: makes what is new for `block` rows together.
        put: told `new = fresh(rows)`, the `number` of a row in it, and the `row`.
        block: how many rows are made together.
    """

    def put_block(carry: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
        start, result = carry
        rows = jax.lax.dynamic_slice_in_dim(listed.numbers, start, block, allow_negative_indices=False)
        new = fresh(rows)
        if block == 1:
            return start + 1, put(result, new, jnp.zeros((), jnp.int32), rows[0])
        turns = jnp.minimum(block, listed.length - start)
        result = jax.lax.fori_loop(0, turns, lambda i, result: put(result, new, i, rows[i]), result)
        return start + block, result

    start = jnp.zeros((), jnp.int32)
    return jax.lax.while_loop(lambda carry: carry[0] < listed.length, put_block, (start, result))[1]


def split_constants(fresh: Fresh, block: int) -> tuple[Any, Fresh]:
    """What all fresh rows have in common, which can be put everywhere at once, and how the rest of them is made.

    Args:
        fresh: from the numbers of `block` rows to what is new there.
        block: how many rows.

    Returns:
        In the form of what `fresh` makes: a number where it fills a leaf with that one number, whatever the rows, and
        None elsewhere; and `fresh` with None for these leaves.

    >>> common, rest = split_constants(lambda rows: {"row": rows, "steps": jnp.zeros(rows.shape)}, block=2)
    >>> common["row"], float(common["steps"]), rest(jnp.array([3, 4]))
    (None, 0.0, {'row': Array([3, 4], dtype=int32), 'steps': None})
    """
    shape_of: Any = jax.ShapeDtypeStruct  # for which JAX has no types
    rows = shape_of((block,), jnp.int32)
    closed, shapes = jax.make_jaxpr(fresh, return_shape=True)(rows)
    filled = {
        equation.outvars[0]: equation.invars[0].val
        for equation in closed.jaxpr.eqns
        if equation.primitive.name == "broadcast_in_dim" and isinstance(equation.invars[0], Literal)
    }
    structure: Any = jax.tree.structure(shapes)
    numbers = [filled.get(variable) if isinstance(variable, Var) else None for variable in closed.jaxpr.outvars]

    def rest(rows: jax.Array) -> Any:
        leaves = jaxpr_as_fun(closed)(rows)
        return structure.unflatten(
            [leaf if number is None else None for leaf, number in zip(leaves, numbers, strict=True)]
        )

    return structure.unflatten(numbers), rest


def put_where(flags: Bool[Array, "num_envs"], common: Any, tree: Any) -> Any:
    """The tree with the numbers of `common`, which `split_constants` gave, in the rows whose flag is set."""

    def put(number: Any, leaf: jax.Array) -> jax.Array:
        return leaf if number is None else jnp.where(_like(flags, leaf), number, leaf)

    return jax.tree.map(put, common, tree, is_leaf=_is_none)


def take(tree: Any, rows: Int[Array, "block"]) -> Any:
    """Some rows of every leaf; their numbers must be in range."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf).at[rows].get(mode="promise_in_bounds"), tree)


def take_row(tree: Any, row: jax.Array) -> Any:
    """One row of every leaf, which keeps its leading axis; its number must be in range."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, row, 1, allow_negative_indices=False), tree)


def put_row(tree: Any, new: Any, row: jax.Array) -> Any:
    """The tree with one row replaced by what `take_row` gives of another tree; not of leaves where that is None."""

    def put(new: Any, leaf: jax.Array) -> jax.Array:
        if new is None:
            return leaf
        return jax.lax.dynamic_update_slice_in_dim(leaf, new, row, 0, allow_negative_indices=False)

    return jax.tree.map(put, new, tree, is_leaf=_is_none)


def _appended(listed: Rows, row: jax.Array) -> Rows:
    numbers = jax.lax.dynamic_update_index_in_dim(
        listed.numbers, row, listed.length, axis=0, allow_negative_indices=False
    )
    return Rows(numbers, listed.length + 1)


def _like(flags: jax.Array, leaf: jax.Array) -> jax.Array:
    return flags.reshape(-1, *(1,) * (leaf.ndim - 1))


def _is_none(value: Any) -> bool:
    return value is None

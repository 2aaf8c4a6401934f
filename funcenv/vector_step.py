"""The laws of a vector environment: keys, resets and steps of each row, and when an episode begins.

A vector environment is a batch of rows, and each row is one environment with its own stream of keys.

The law of keys. Every environment has one key and counts the calls it has answered; each reset and each step is a
call. Call number c uses

    call_key(env_key, c) = fold_in(env_key, c)

and `FuncEnv.reset` and `FuncEnv.step` split that key among their functions. An environment therefore lives the same
life for any `num_envs`, next to any neighbours and in every autoreset mode, up to the rounding of floats, and a plain
loop reproduces it:

    state, timestep = env.reset(call_key(env_key, 0))
    state, timestep = env.step(state, action, call_key(env_key, 1))     # suppose that this ends an episode
    state, timestep = env.reset(call_key(env_key, 2))
    state, timestep = env.step(state, action, call_key(env_key, 3))

Counts have 32 bits: a stream repeats after 2**32 calls on one key.

The law of autoreset. `step_before_reset` steps every row and says which rows begin a new episode, what their resets
overwrite and how to compute them. A `Replace` function then puts the new episodes in; it decides how much is computed,
and never what. `replace_by_select` is the plain one; `funcenv._compile.lazy_reset` has others.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt

from funcenv._jax import PartitionSpec
from funcenv.func_env import AnyEnv, Obs, State, Timestep
from funcenv.parameters import map_batched, parameter_axes
from funcenv.sharding import axis_in_context, axis_of_rows, spread_rows, vary_over, varying_axes
from funcenv.struct import PyTreeNode
from funcenv.trees import select
from funcenv.union import require_one_task


class AutoresetMode(enum.Enum):
    """The behaviour of a vector environment when an episode ends.

    SAME_STEP resets within the step that ended it: `observation` is the first of the new episode, `final_observation`
    the last of the old. NEXT_STEP resets at the next step, whose action is ignored and whose reward is 0. DISABLED
    leaves it to the caller: `reset(mask=...)`.
    """

    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"

    @classmethod
    def of(cls, value: object) -> AutoresetMode:
        """Return the mode that is given as a member or by its value.

        >>> AutoresetMode.of("SameStep")
        <AutoresetMode.SAME_STEP: 'SameStep'>
        """
        if not isinstance(value, (str, cls)):
            cls._missing_(value)
        return cls(value)

    @classmethod
    def _missing_(cls, value: object) -> None:
        modes = ", ".join(str(mode) for mode in cls)
        raise ValueError(f"autoreset_mode must be one of {modes}, got {value!r}")


class VectorState(PyTreeNode, Generic[State]):
    """The states of all environments, their keys and their running totals: leading axis `[num_envs]` throughout."""

    of_many: ClassVar = True  # the mark by which `FuncEnv.step` refuses it

    env_state: State
    key: Key[Array, "num_envs"]  # changes only in a reset with new keys
    num_calls: UInt[Array, "num_envs"]  # resets and steps answered with that key
    done: Bool[Array, "num_envs"]  # the episode has ended and has not been reset yet
    episode_return: Float[Array, "num_envs"]
    episode_length: Int[Array, "num_envs"]


class VectorTimestep(Timestep[Obs]):
    """The time steps of all environments after a reset or step; every leaf has a leading axis `[num_envs]`."""

    final_observation: Obs  # the last of the episode, before any reset; equals `observation` where none ended
    final_info: dict[str, Any]  # the same for `info`
    episode_return: Float[Array, "num_envs"]  # sum of rewards including this step; final where the episode ended
    episode_length: Int[Array, "num_envs"]  # steps including this one


def call_key(env_key: Key[Array, ""], call: int | UInt[Array, ""]) -> Key[Array, ""]:
    """Return the key of an environment's reset or step number `call`; call 0 is its first reset."""
    return jax.random.fold_in(env_key, call)


def rollout_keys(key: Key[Array, ""]) -> tuple[Key[Array, ""], Key[Array, ""]]:
    """Split the key of a rollout into the key of its reset and the key of its policy.

    Either is then split into one key for each environment.
    """
    reset_key, policy_key = jax.random.split(key)
    return reset_key, policy_key


def map_rows(function: Any, env: AnyEnv, num_envs: int, *args: Any) -> Any:
    """Map `function(env, *args)` over `num_envs` rows of the arguments, and of the parameters that are batched."""
    require_one_task("this function", env)

    def mapped(env: AnyEnv, num_envs: int, *args: Any) -> Any:
        return jax.vmap(function, in_axes=(parameter_axes(env, num_envs), *(0 for _ in args)))(env, *args)

    return by_device(mapped, env, num_envs, *args)


def by_device(function: Callable[..., Any], env: AnyEnv, num_envs: int, *rows: Any) -> Any:
    """Return `function(env, num_envs, *rows)`, of which each device of a mesh computes its own rows.

    Loops that end with their last row, and lists of rows that begin an episode, are then those of a device, and nothing
    crosses devices.
    """
    axes = parameter_axes(env, num_envs)
    is_batched = jax.tree.map(lambda axis, _: axis is not None, axes, env, is_leaf=lambda axis: axis is None)
    return rows_by_device(function, env, is_batched, num_envs, *rows)


def rows_by_device(function: Callable[..., Any], shared: Any, is_batched: Any, num_rows: int, *rows: Any) -> Any:
    """Return `function(shared, num_rows, *rows)`, of which each device of a mesh computes its own rows.

    The rows are spread as their types say, on a mesh with explicit axes, and otherwise over the axis "env" of the mesh
    in whose context the program is traced. Without a mesh, the function gets all rows.

    Args:
        function: treats each row by itself.
        shared: a tree of what all rows have in common, and of arrays with a row for each.
        is_batched: which of its leaves have rows.
        num_rows: in all.
        *rows: trees of arrays `[num_rows, ...]`.
    """
    explicit = axis_of_rows(rows)
    axis = axis_in_context(num_rows) if explicit is None else explicit
    if axis is None:
        return function(shared, num_rows, *rows)
    own, whole, mesh = PartitionSpec(axis), PartitionSpec(), jax.sharding.get_abstract_mesh()
    num_devices = math.prod(mesh.shape[name] for name in (axis if isinstance(axis, tuple) else (axis,)))
    shared = jax.tree.map(lambda batched, leaf: spread_rows(explicit, leaf) if batched else leaf, is_batched, shared)
    mapped: Callable[..., Any] = jax.shard_map(
        lambda shared, *rows: function(shared, num_rows // num_devices, *rows),
        in_specs=(jax.tree.map(lambda batched: own if batched else whole, is_batched), *(own for _ in rows)),
        out_specs=own,
        # JAX's rules for sharded types, which an index into a table breaks, shall apply to no axis of types.
        axis_names=set(mesh.axis_names) if explicit is not None else {axis},
        check_vma=False,  # Environments of users may hold loops that begin with constants, which it would refuse.
    )
    return mapped(shared, *spread_rows(explicit, rows))


def reset_row(
    env: AnyEnv, key: jax.Array, call: jax.Array, last: Any = None
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Start an episode in one environment, as its call number `call`, after an episode with the state `last`."""
    env_state, timestep = env.reset(call_key(key, call), after=last)
    vstate = VectorState(
        env_state=env_state,
        key=key,
        num_calls=call + np.uint32(1),
        done=jnp.zeros((), bool),
        episode_return=jnp.zeros_like(timestep.reward),
        episode_length=jnp.zeros((), jnp.int32),
    )
    return vary_over(varying_axes(env, key, call), (vstate, _vector_timestep(timestep, vstate)))


def step_row(env: AnyEnv, vstate: VectorState[Any], action: Any) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step one environment, without a reset."""
    env_state, timestep = env.step(vstate.env_state, action, call_key(vstate.key, vstate.num_calls))
    vstate = vstate.replace(
        env_state=env_state,
        num_calls=vstate.num_calls + np.uint32(1),
        done=timestep.done,
        episode_return=vstate.episode_return + timestep.reward,
        episode_length=vstate.episode_length + 1,
    )
    return vary_over(varying_axes(env, vstate, action), (vstate, _vector_timestep(timestep, vstate)))


def observe_row(env: AnyEnv, vstate: VectorState[Any]) -> VectorTimestep[Any]:
    """Return the time step of an environment that is left alone: its last observation, its flags, reward 0."""
    timestep = env.observe(vstate.env_state, call_key(vstate.key, vstate.num_calls - np.uint32(1)))
    return _vector_timestep(timestep, vstate)


Fresh = Callable[[Int[Array, "block"] | None], Any]
"""From the indices of some rows, or None for all rows, to the values that replace theirs."""

Replace = Callable[[Bool[Array, "num_envs"], Any, Fresh], Any]
"""From a mask, the old values `[num_envs, ...]` and `Fresh` to the old values with the rows in the mask replaced."""


class StepBeforeReset(NamedTuple):
    """A vector step of which only the resets are missing."""

    vstate: VectorState[Any]
    timestep: VectorTimestep[Any]
    mask: Bool[Array, "num_envs"]
    """The environments that begin a new episode."""
    begin: Callable[[Int[Array, "block"] | None], tuple[VectorState[Any], VectorTimestep[Any]]]
    """From the indices of some environments, None for all, to the first vector state and time step of new episodes."""
    fields: tuple[str, ...]
    """The fields of the time step that a reset overwrites."""

    def replaceable(self) -> tuple[VectorState[Any], dict[str, Any]]:
        """Return what a reset overwrites: the vector state without its keys, and `fields` of the time step."""
        return self._select_fields(self.vstate, self.timestep)

    def fresh(self, rows: Int[Array, "block"] | None) -> tuple[VectorState[Any], dict[str, Any]]:
        """Return the same of new episodes in some environments."""
        return self._select_fields(*self.begin(rows))

    def finish(self, vstate: VectorState[Any], fields: dict[str, Any]) -> tuple[VectorState[Any], VectorTimestep[Any]]:
        """Return the whole step, given `replaceable()` with the new episodes put in."""
        return vstate.replace(key=self.vstate.key), self.timestep.replace(**fields)

    def _select_fields(
        self, vstate: VectorState[Any], timestep: VectorTimestep[Any]
    ) -> tuple[VectorState[Any], dict[str, Any]]:
        return vstate.replace(key=None), {name: getattr(timestep, name) for name in self.fields}


def step_before_reset(
    env: AnyEnv,
    num_envs: int,
    mode: AutoresetMode,
    vstate: VectorState[Any],
    actions: Any,
    reset_env: AnyEnv | None = None,
) -> StepBeforeReset:
    """Step every environment, and say where and how new episodes begin.

    Args:
        env: the environment, or a batch of `num_envs`.
        num_envs: how many environments there are.
        mode: when a reset comes, which `reset_fields` turns into what it overwrites.
        vstate: the state before the step.
        actions: `[num_envs, ...]`.
        reset_env: the environment that new episodes begin in; `env` by default.
    """
    reset_env = env if reset_env is None else reset_env
    next_vstate, timestep = map_rows(step_row, env, num_envs, vstate, actions)
    mask = next_vstate.done if mode is AutoresetMode.SAME_STEP else vstate.done
    calls = reset_call(mode, vstate.num_calls)
    ended = next_vstate if mode is AutoresetMode.SAME_STEP else vstate
    last = ended.env_state if env.remembers else None

    def begin(rows: Int[Array, "block"] | None) -> tuple[VectorState[Any], VectorTimestep[Any]]:
        return reset_rows(reset_env, num_envs, vstate.key, calls, rows, last)

    return StepBeforeReset(next_vstate, timestep, mask, begin, reset_fields(mode))


def step_and_reset(
    env: AnyEnv,
    num_envs: int,
    mode: AutoresetMode,
    vstate: VectorState[Any],
    actions: Any,
    replace: Replace | None = None,
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step every environment, and put in new episodes by `replace`, which is `replace_by_select` by default.

    The other arguments are those of `step_before_reset`. In the mode DISABLED nothing is reset.
    """
    if mode is AutoresetMode.DISABLED:
        stepped: tuple[VectorState[Any], VectorTimestep[Any]] = map_rows(step_row, env, num_envs, vstate, actions)
        return stepped
    step = step_before_reset(env, num_envs, mode, vstate, actions)
    return step.finish(*(replace or replace_by_select)(step.mask, step.replaceable(), step.fresh))


def reset_fields(mode: AutoresetMode) -> tuple[str, ...]:
    """Return the fields of the time step that a reset overwrites.

    A reset within the step that ended the episode overwrites only how the next episode begins; a reset that is a step
    of its own overwrites everything.
    """
    if mode is AutoresetMode.SAME_STEP:
        return ("observation", "info")
    return tuple(VectorTimestep.__dataclass_fields__) if mode is AutoresetMode.NEXT_STEP else ()


def reset_call(mode: AutoresetMode, num_calls: UInt[Array, "..."]) -> UInt[Array, "..."]:
    """Return the number of the call that an automatic reset is, given how many calls came before the step.

    With SAME_STEP the step that ended the episode is a call as well.
    """
    return num_calls + np.uint32(1) if mode is AutoresetMode.SAME_STEP else num_calls


def reset_rows(
    env: AnyEnv, num_envs: int, keys: jax.Array, calls: jax.Array, rows: Int[Array, "block"] | None, last: Any = None
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Start episodes in the environments with the indices `rows`, which must be in range; in all for None.

    `last` holds the last states of all environments, if they remember anything from one episode to the next.
    """
    if rows is not None:
        env = map_batched(env, num_envs, lambda leaf: take(leaf, rows))
        keys, calls, last = take((keys, calls, last), rows)
        num_envs = rows.size
    vstate, timestep = map_rows(reset_row, env, num_envs, keys, calls, last)
    return vstate, timestep


def replace_by_select(mask: Bool[Array, "num_envs"], old: Any, fresh: Fresh) -> Any:
    """Compute new values for every row, and keep those in the mask; a `Replace` function."""
    return select(mask, fresh(None), old)


def take(tree: Any, rows: Int[Array, "block"]) -> Any:
    """Return some rows of every leaf; their indices must be in range."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf).at[rows].get(mode="promise_in_bounds"), tree)


def _vector_timestep(timestep: Timestep[Any], vstate: VectorState[Any]) -> VectorTimestep[Any]:
    return VectorTimestep(
        observation=timestep.observation,
        reward=timestep.reward,
        terminated=timestep.terminated,
        truncated=timestep.truncated,
        info=timestep.info,
        final_observation=timestep.observation,
        final_info=timestep.info,
        episode_return=vstate.episode_return,
        episode_length=vstate.episode_length,
    )

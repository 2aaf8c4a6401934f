"""Many environments at once, each with a random stream of its own.

The law of keys. Every environment has a key, and counts the calls that it has answered: each `reset` and each `step`
is one. Call number c uses

    fold_in(env_key, c)

and `FuncEnv.reset` and `FuncEnv.step` split that key among their functions. So environment i lives the same life
whatever `num_envs`, whatever becomes of its neighbours and in every autoreset mode, and a plain loop over one
environment lives it too:

    state, timestep = env.reset(call_key(env_key, 0))
    state, timestep = env.step(state, action, call_key(env_key, 1))     # say, the end of an episode
    state, timestep = env.reset(call_key(env_key, 2))
    state, timestep = env.step(state, action, call_key(env_key, 3))

Counts are 32-bit: after 2**32 calls on one key a stream begins again. Keys, integers and flags are equal bit for bit;
floats are, too, where XLA compiles the same arithmetic for another batch size, and equal to rounding elsewhere.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, Generic

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt

from funcenv.checks import require_size
from funcenv.func_env import Action, FuncEnv, Obs, State, Timestep
from funcenv.random import require_typed_key
from funcenv.spaces import Space
from funcenv.struct import PyTreeNode, field


class AutoresetMode(enum.Enum):
    """What a vector environment does when an episode ends.

    SAME_STEP resets within the step that ended it: `observation` is the first of the new episode, `final_observation`
    the last of the old. NEXT_STEP resets at the next step, whose action is ignored and whose reward is 0. DISABLED
    leaves it to the caller: `reset(mask=...)`.
    """

    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


class VectorState(PyTreeNode, Generic[State]):
    """The states of all environments, their keys and their running totals: leading axis `[num_envs]` throughout."""

    env_state: State
    key: Key[Array, "num_envs"]  # of each environment; never changes between resets with new keys
    num_calls: UInt[Array, "num_envs"]  # resets and steps answered with that key
    done: Bool[Array, "num_envs"]  # the episode has ended and has not been reset yet
    episode_return: Float[Array, "num_envs"]
    episode_length: Int[Array, "num_envs"]


class VectorTimestep(Timestep[Obs]):
    """What all agents are told; every leaf has a leading axis `[num_envs]`."""

    final_observation: Obs  # what the episode ended on, before any reset; `observation` where nothing ended
    final_info: dict[str, Any]  # likewise for `info`
    episode_return: Float[
        Array, "num_envs"
    ]  # sum of rewards so far, this step's included; final where the episode ended
    episode_length: Int[Array, "num_envs"]  # steps so far, this one included


class FuncVectorEnv(PyTreeNode, Generic[State, Action, Obs]):
    """`num_envs` copies of an environment, stepped together by one pure function.

    Args:
        env: the environment; or a batch of environments, whose parameters have a leading axis `[num_envs]`
            (`jax.vmap(lambda g: CartPole(gravity=g))(gs)`, or `CartPole(gravity=gs)`): environment i then has the i-th
            parameters.
        num_envs: at least 1.
        autoreset_mode: see `AutoresetMode`.
        reset_strategy: how a step computes the beginnings of episodes. "select": for every environment, keeping those
            that are needed, which is what `jax.vmap` makes of a choice. "lazy": for those that begin anew alone, a few
            at a time in a loop. The results are the same, bit for bit. "auto" decides once for each kind of
            environment: `chosen_reset_strategy` tells.

    Raises:
        ValueError: `num_envs` below 1, parameters with another leading axis, or an unknown strategy.

    >>> import funcenv, jax, jax.numpy as jnp
    >>> venv = FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs=3)
    >>> vstate, timestep = jax.jit(venv.reset)(funcenv.key(0))
    >>> vstate, timestep = jax.jit(venv.step)(vstate, jnp.array([0, 1, 1]))
    >>> timestep.observation.shape, timestep.reward
    ((3, 4), Array([1., 1., 1.], dtype=float32))
    """

    env: FuncEnv[State, Action, Obs]
    num_envs: int = field(pytree_node=False)
    autoreset_mode: AutoresetMode = field(pytree_node=False, default=AutoresetMode.SAME_STEP)
    reset_strategy: str = field(pytree_node=False, default="auto")

    def __post_init__(self) -> None:
        require_size("num_envs", self.num_envs)
        if not isinstance(self.autoreset_mode, AutoresetMode):
            modes = ", ".join(str(mode) for mode in AutoresetMode)
            raise TypeError(f"autoreset_mode must be one of {modes}, got {self.autoreset_mode!r}")
        if self.reset_strategy not in ("auto", "select", "lazy"):
            raise ValueError(f'reset_strategy must be "auto", "select" or "lazy", got {self.reset_strategy!r}')
        parameter_axes(self.env, self.num_envs)

    @property
    def single_observation_space(self) -> Space[Obs]:
        """The space of one environment's observations; for a batch of environments, the loosest one."""
        return self._loosest("observation_space")

    @property
    def single_action_space(self) -> Space[Action]:
        """The space of one environment's actions; for a batch of environments, the loosest one."""
        return self._loosest("action_space")

    def reset(
        self,
        key: jax.Array | None = None,
        *,
        vstate: VectorState[State] | None = None,
        mask: Bool[Array, "num_envs"] | None = None,
    ) -> tuple[VectorState[State], VectorTimestep[Obs]]:
        """Start episodes, in all environments or in some.

        Args:
            key: one key, which is split into `num_envs`, or an array of `num_envs` keys, used as they are. With
                `vstate` it may be left out: every environment then goes on with its own stream.
            vstate: the present state, when only some environments start anew or the streams go on.
            mask: where to reset; everywhere, if left out. Needs `vstate`. The others keep their state, show their
                present observation again, and have reward 0.

        Returns:
            The vector state and a time step with reward 0.

        Raises:
            TypeError: no key and no `vstate`; a `mask` without `vstate`; a legacy key; a mask that is not bool.
            ValueError: a number of keys, or a mask, that does not match `num_envs`.
        """
        if vstate is None:
            if key is None:
                raise TypeError("reset needs a key, such as funcenv.key(0), or the vstate whose streams go on")
            if mask is not None:
                raise TypeError("reset(mask=...) needs vstate=..., the state of the environments that are not reset")
            return self._map(_start, self._env_keys(key), jnp.zeros(self.num_envs, jnp.uint32))
        if key is None:
            keys, num_calls = vstate.key, vstate.num_calls
        else:
            keys, num_calls = self._env_keys(key), jnp.zeros(self.num_envs, jnp.uint32)
        fresh = self._map(_start, keys, num_calls)
        if mask is None:
            return fresh
        kept = vstate, self._map(_show_again, vstate)
        return select(self._checked_mask(mask), fresh, kept)

    def step(self, vstate: VectorState[State], actions: Action) -> tuple[VectorState[State], VectorTimestep[Obs]]:
        """Play one action in every environment.

        Args:
            vstate: from `reset` or an earlier `step`.
            actions: with a leading axis `[num_envs]`.

        Returns:
            The next vector state and time step.
        """
        if self.autoreset_mode is not AutoresetMode.DISABLED and self.chosen_reset_strategy() == "lazy":
            from funcenv._compile.lazy_reset import step_lazily  # which is written in terms of this class

            next_vstate, timestep = step_lazily(self, vstate, actions)
            return next_vstate, timestep
        return self._map(_STEPS[self.autoreset_mode], vstate, actions)

    def chosen_reset_strategy(self) -> str:
        """The strategy that `step` follows, "select" or "lazy".

        "auto" counts the operations of one environment's reset and of its step, without running either, and resets
        lazily if a reset is more than four times as much work, or as much as drawing a picture: below that, the loop
        costs more than it saves.
        `rollout` and `evaluate` on a CPU, where they run as one function, reset lazily unless told to select.

        >>> import funcenv
        >>> FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs=3).chosen_reset_strategy()
        'select'
        """
        if self.reset_strategy != "auto":
            return self.reset_strategy
        from funcenv._compile.lazy_reset import is_reset_costly  # which is written in terms of this class

        return "lazy" if is_reset_costly(self.env, self.num_envs) else "select"

    def observation(self, vstate: VectorState[State]) -> Obs:
        """What every environment showed last, drawn again from its state and its last key; `[num_envs, ...]`."""
        return self._map(_show_again, vstate).observation

    def _map(self, function: Any, *args: Any) -> Any:
        axes = parameter_axes(self.env, self.num_envs)
        return jax.vmap(function, in_axes=(axes, *(0 for _ in args)))(self.env, *args)

    def _env_keys(self, key: jax.Array) -> Key[Array, "num_envs"]:
        require_typed_key(key)
        if key.shape == ():
            return jax.random.split(key, self.num_envs)
        if key.shape != (self.num_envs,):
            raise ValueError(f"reset takes one key or {self.num_envs} of them, got keys of shape {key.shape}")
        return key

    def _checked_mask(self, mask: Any) -> jax.Array:
        mask = jnp.asarray(mask)
        if mask.dtype != bool:
            raise TypeError(f"mask must be a bool array, got {mask.dtype}")
        if mask.shape != (self.num_envs,):
            raise ValueError(
                f"mask must have shape ({self.num_envs},), one entry for each environment, got {mask.shape}"
            )
        return mask

    def _loosest(self, name: str) -> Any:
        leaves, treedef = jax.tree.flatten(self.env)
        batched = batched_leaves(self.env, self.num_envs)
        if not any(batched):
            return getattr(self.env, name)
        rows = [np.asarray(leaf) if differs else leaf for leaf, differs in zip(leaves, batched, strict=True)]
        space = None
        for i in range(self.num_envs):
            row = [leaf[i] if differs else leaf for leaf, differs in zip(rows, batched, strict=True)]
            single = getattr(jax.tree.unflatten(treedef, row), name)
            space = single if space is None or space == single else space.union(single)
        return space


def call_key(env_key: Key[Array, ""], number: int | UInt[Array, ""]) -> Key[Array, ""]:
    """The key of an environment's call number `number`, be it a reset or a step; 0 is its first reset."""
    return jax.random.fold_in(env_key, number)


def parameter_axes(env: FuncEnv[Any, Any, Any], num_envs: int) -> Any:
    """Which parameters of `env` differ between environments: 0 or None for each, as `jax.vmap` takes them.

    A parameter is batched if it has one axis more than one environment's: than the default of its field, than
    `funcenv.field(ndim=...)` says, or than a scalar where the field says neither.

    Raises:
        ValueError: a batched parameter whose leading axis is not `num_envs`.

    >>> import jax.numpy as jnp
    >>> from funcenv.envs import CartPole
    >>> axes = parameter_axes(CartPole(gravity=jnp.array([9.8, 1.6])), num_envs=2)
    >>> axes.gravity, axes.length
    (0, None)
    """

    def axis(path: tuple[Any, ...], leaf: Any) -> int | None:
        ndim = parameter_ndim(env, path)
        if np.ndim(leaf) == ndim:
            return None
        if np.ndim(leaf) != ndim + 1 or np.shape(leaf)[0] != num_envs:
            raise ValueError(
                f"parameter {jax.tree_util.keystr(path)} has shape {np.shape(leaf)}; a batch of environments needs "
                f"one value for each of num_envs={num_envs}, along the first axis. If it is one array-valued "
                "parameter, declare it with funcenv.field(ndim=...)"
            )
        return 0

    return jax.tree_util.tree_map_with_path(axis, env)


def map_batched(env: FuncEnv[Any, Any, Any], num_envs: int, pick: Callable[[Any], Any]) -> Any:
    """The environment with `pick` of the parameters that differ between environments, and the others as they are.

    Args:
        env: the environment, or a batch of `num_envs`.
        num_envs: how many.
        pick: from a parameter `[num_envs, ...]` to what takes its place, such as that of one environment.

    >>> from funcenv.envs import CartPole
    >>> second = map_batched(CartPole(gravity=jnp.array([9.8, 1.5])), 2, lambda values: values[1])
    >>> float(second.gravity), second.length
    (1.5, 0.5)
    """
    axes = parameter_axes(env, num_envs)
    return jax.tree.map(
        lambda axis, leaf: leaf if axis is None else pick(leaf), axes, env, is_leaf=lambda axis: axis is None
    )


def batched_leaves(env: FuncEnv[Any, Any, Any], num_envs: int) -> list[bool]:
    """For each of `jax.tree.leaves(env)`, whether it differs between environments.

    >>> from funcenv.envs import CartPole
    >>> sum(batched_leaves(CartPole(gravity=jnp.array([9.8, 1.6])), num_envs=2))
    1
    """
    return jax.tree.leaves(jax.tree.map(lambda _, axis: axis is not None, env, parameter_axes(env, num_envs)))


def parameter_ndim(env: FuncEnv[Any, Any, Any], path: tuple[Any, ...]) -> int:
    """How many axes a parameter has in a single environment."""
    owner: Any = env
    entry = None
    for step in path:
        if not isinstance(step, jax.tree_util.GetAttrKey):
            break  # inside a list or dict that is the value of the field
        owner = owner if entry is None else getattr(owner, entry.name)
        entry = next(entry for entry in dataclasses.fields(owner) if entry.name == step.name)
    if entry is None:
        return 0
    declared: int | None = entry.metadata.get("ndim")
    if declared is not None:
        return declared
    default = entry.default
    return int(np.ndim(default)) if isinstance(default, (int, float, np.generic, np.ndarray, jax.Array)) else 0


# What one environment does; `_map` runs these over all of them.


def _start(
    env: FuncEnv[Any, Any, Any], key: jax.Array, num_calls: jax.Array
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """An episode's beginning, as call number `num_calls`."""
    env_state, timestep = env.reset(call_key(key, num_calls))
    nothing, no_steps = jnp.zeros_like(timestep.reward), jnp.zeros((), jnp.int32)
    vstate = VectorState(
        env_state=env_state,
        key=key,
        num_calls=num_calls + np.uint32(1),
        done=jnp.zeros((), bool),
        episode_return=nothing,
        episode_length=no_steps,
    )
    return vstate, _vector_timestep(timestep, nothing, no_steps)


def _advance(
    env: FuncEnv[Any, Any, Any], vstate: VectorState[Any], action: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """One step, with no thought of resetting."""
    env_state, timestep = env.step(vstate.env_state, action, call_key(vstate.key, vstate.num_calls))
    vstate = vstate.replace(
        env_state=env_state,
        num_calls=vstate.num_calls + np.uint32(1),
        done=timestep.done,
        episode_return=vstate.episode_return + timestep.reward,
        episode_length=vstate.episode_length + 1,
    )
    return vstate, _vector_timestep(timestep, vstate.episode_return, vstate.episode_length)


def _advance_then_reset(
    env: FuncEnv[Any, Any, Any], vstate: VectorState[Any], action: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """SAME_STEP: one step, and where it ends an episode the next one begins."""
    vstate, timestep = _advance(env, vstate, action)
    fresh_vstate, fresh_timestep = _start(env, vstate.key, vstate.num_calls)
    next_vstate = _select_state(vstate.done, fresh_vstate, vstate)
    observation, info = select(
        timestep.done, (fresh_timestep.observation, fresh_timestep.info), (timestep.observation, timestep.info)
    )
    return next_vstate, timestep.replace(observation=observation, info=info)


def _reset_or_advance(
    env: FuncEnv[Any, Any, Any], vstate: VectorState[Any], action: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """NEXT_STEP: one step, or where the last one ended an episode, a reset instead."""
    fresh_vstate, fresh_timestep = _start(env, vstate.key, vstate.num_calls)
    stepped_vstate, stepped_timestep = _advance(env, vstate, action)
    next_vstate = _select_state(vstate.done, fresh_vstate, stepped_vstate)
    return next_vstate, select(vstate.done, fresh_timestep, stepped_timestep)


def _show_again(env: FuncEnv[Any, Any, Any], vstate: VectorState[Any]) -> VectorTimestep[Any]:
    """The time step of an environment that is left alone: its present observation and flags, reward 0."""
    timestep = env.observe(vstate.env_state, call_key(vstate.key, vstate.num_calls - np.uint32(1)))
    return _vector_timestep(timestep, vstate.episode_return, vstate.episode_length)


_STEPS = {
    AutoresetMode.NEXT_STEP: _reset_or_advance,
    AutoresetMode.SAME_STEP: _advance_then_reset,
    AutoresetMode.DISABLED: _advance,
}


def _vector_timestep(timestep: Timestep[Any], episode_return: Any, episode_length: Any) -> VectorTimestep[Any]:
    return VectorTimestep(
        observation=timestep.observation,
        reward=timestep.reward,
        terminated=timestep.terminated,
        truncated=timestep.truncated,
        info=timestep.info,
        final_observation=timestep.observation,
        final_info=timestep.info,
        episode_return=episode_return,
        episode_length=episode_length,
    )


def _select_state(condition: jax.Array, fresh: VectorState[Any], other: VectorState[Any]) -> VectorState[Any]:
    """As `select`, for two states with the same keys, which are not touched."""
    return select(condition, fresh.replace(key=None), other.replace(key=None)).replace(key=other.key)


def select(condition: jax.Array, chosen: Any, other: Any) -> Any:
    """`chosen` where the condition holds, leaf by leaf; a condition `[num_envs]` applies to leading axes."""

    def pick(a: jax.Array, b: jax.Array) -> jax.Array:
        if a.shape != b.shape or a.dtype != b.dtype:
            raise ValueError(
                f"a state or observation changes from {a.dtype}{list(a.shape)} after reset to {b.dtype}{list(b.shape)} "
                "after step; make initial and transition return the same shapes and dtypes"
            )
        everywhere = jax.lax.broadcast_in_dim(condition, a.shape, tuple(range(condition.ndim)))
        return jax.lax.select(everywhere, a, b)  # not jnp.where, which is a function of its own to XLA

    return jax.tree.map(pick, chosen, other)

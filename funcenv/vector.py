"""Many environments in one pure function.

`FuncVectorEnv` batches an environment; `funcenv.vector_step` holds the laws of its keys and resets. Keys do not depend
on `num_envs`, bit for bit. Floats do not either where XLA compiles the same arithmetic for another batch size, and
elsewhere agree up to rounding. Integers and flags are equal unless rounding moves a float across a threshold, as it
does in long episodes of rigid bodies.
"""

from __future__ import annotations

import functools
from typing import Any, Generic, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Key

from funcenv._compile import traced_step
from funcenv._compile.lazy_reset import choose_strategy
from funcenv.checks import MAX_COUNT, explain_calls, require_size
from funcenv.func_env import RESULT_ORDER, Action, FuncEnv, Obs, State, Timestep, require_env
from funcenv.hints import OF_VECTOR_ENV
from funcenv.parameters import map_batched, parameter_axes, single_env
from funcenv.random import require_typed_key
from funcenv.row_groups import RowGroup, by_group, cut_groups, join_groups, row_groups
from funcenv.spaces import Space
from funcenv.struct import PyTreeNode, field
from funcenv.trees import select
from funcenv.vector_step import (
    AutoresetMode,
    VectorState,
    VectorTimestep,
    call_key,
    map_rows,
    observe_row,
    reset_row,
    take,
)

__all__ = ["AutoresetMode", "FuncVectorEnv", "VectorState", "VectorTimestep", "call_key"]


class FuncVectorEnv(PyTreeNode, Generic[State, Action, Obs]):
    """`num_envs` copies of an environment, stepped together by one pure function.

    Args:
        env: an environment; or a batch of environments, whose parameters have a leading axis `[num_envs]`
            (`jax.vmap(lambda g: CartPole(gravity=g))(gs)`, or `CartPole(gravity=gs)`). Environment i of a batch has
            the i-th parameters.
        num_envs: at least 1.
        autoreset_mode: what happens when an episode ends, see `AutoresetMode`.
        reset_strategy: how a step computes automatic resets; the results are the same, bit for bit. "select" resets
            every environment and keeps the resets that are needed. "lazy" resets only the environments that need it,
            a few at a time in a loop. "auto" chooses by the cost of a reset, see `chosen_reset_strategy`. Environments
            that are spread over a mesh with explicit axes are always reset by "select".

    Raises:
        TypeError: `env` is not a `FuncEnv`.
        ValueError: `num_envs` is below 1, a parameter has another leading axis, or the strategy is unknown.

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
        require_env("FuncVectorEnv", self.env)
        require_size("num_envs", self.num_envs, maximum=MAX_COUNT)
        if not isinstance(self.autoreset_mode, AutoresetMode):
            modes = ", ".join(str(mode) for mode in AutoresetMode)
            raise TypeError(f"autoreset_mode must be one of {modes}, got {self.autoreset_mode!r}")
        if self.reset_strategy not in ("auto", "select", "lazy"):
            raise ValueError(f'reset_strategy must be "auto", "select" or "lazy", got {self.reset_strategy!r}')
        parameter_axes(self.env, self.num_envs)
        self._groups()  # raises if a task would have no row

    @property
    def single_observation_space(self) -> Space[Obs]:
        """The observation space of one environment; for a batch of environments, the loosest of theirs."""
        return self._loosest("observation_space")

    @property
    def single_action_space(self) -> Space[Action]:
        """The action space of one environment; for a batch of environments, the loosest of theirs."""
        return self._loosest("action_space")

    _names_elsewhere = OF_VECTOR_ENV

    @explain_calls(
        "reset takes a key: venv.reset(funcenv.key(0)). "
        "The interface that takes a seed is funcenv.adapters.make_vec(id)"
    )
    def reset(
        self,
        key: jax.Array | None = None,
        *,
        vstate: VectorState[State] | None = None,
        mask: Bool[Array, "num_envs"] | None = None,
    ) -> tuple[VectorState[State], VectorTimestep[Obs]]:
        """Start an episode in all environments or in some.

        Args:
            key: one key, which is split into `num_envs`, or an array of `num_envs` keys, used as they are. It may be
                left out if `vstate` is given: every environment then continues its own stream, and remembers what
                `initial_after` keeps, unless its stream has answered no call yet.
            vstate: the current state, needed to continue streams or to reset only some environments.
            mask: the environments to reset; all by default. Needs `vstate`. The others keep their state, return their
                last observation again and have reward 0.

        Returns:
            The vector state and a time step with reward 0.

        Raises:
            TypeError: there is neither a key nor a `vstate`, a `mask` comes without `vstate`, the key is a legacy
                key, or the mask is not bool.
            ValueError: the number of keys or the shape of the mask does not match `num_envs`.
        """
        if vstate is None:
            if key is None:
                raise TypeError("reset needs a key, such as funcenv.key(0), or the vstate whose streams go on")
            if mask is not None:
                raise TypeError("reset(mask=...) needs vstate=..., the state of the environments that are not reset")
            return self._map(reset_row, self._env_keys(key), jnp.zeros(self.num_envs, jnp.uint32))
        if key is None:
            keys, num_calls = vstate.key, vstate.num_calls
        else:
            keys, num_calls = self._env_keys(key), jnp.zeros(self.num_envs, jnp.uint32)
        if groups := self._groups():
            mask = None if mask is None else self._checked_mask(mask)
            cut = cut_groups([group.size for group in groups], (None if key is None else keys, vstate, mask))
            joined: tuple[VectorState[State], VectorTimestep[Obs]] = join_groups(
                [
                    self.replace(env=group.env, num_envs=group.size).reset(own_key, vstate=own_vstate, mask=own_mask)
                    for group, (own_key, own_vstate, own_mask) in zip(groups, cut, strict=True)
                ]
            )
            return joined
        fresh = self._map(reset_row, keys, num_calls)
        if self.env.remembers and key is None:
            follows = num_calls > 0 if mask is None else (num_calls > 0) & self._checked_mask(mask)
            last = self._states_to_follow(vstate, follows)
            fresh = select(follows, self._map(reset_row, keys, num_calls, last), fresh)
        if mask is None:
            return fresh
        kept = vstate, self._map(observe_row, vstate)
        return select(self._checked_mask(mask), fresh, kept)

    @explain_calls("step takes a vector state and actions: vstate, timestep = venv.step(vstate, actions)")
    def step(
        self, vstate: VectorState[State], actions: Action | ArrayLike
    ) -> tuple[VectorState[State], VectorTimestep[Obs]]:
        """Step every environment once, with automatic resets as `autoreset_mode` says.

        Args:
            vstate: from `reset` or an earlier `step`.
            actions: one action for each environment, with a leading axis `[num_envs]`.

        Returns:
            The next vector state and time step.

        Raises:
            TypeError: a time step in place of the state, or floats where the action space holds integers.
            ValueError: actions without a leading axis `[num_envs]`, or of another shape.
        """
        if isinstance(vstate, Timestep):
            raise TypeError(f"step needs a vector state, got a {type(vstate).__name__}; {RESULT_ORDER}")
        for leaf in jax.tree.leaves(actions):
            if np.shape(leaf)[:1] != (self.num_envs,):
                raise ValueError(
                    f"step takes one action for each of num_envs={self.num_envs} environments, got actions of shape "
                    f"{np.shape(leaf)}; stack them along the first axis"
                )

        def step(env: Any, num_envs: int, vstate: Any, actions: Any) -> Any:
            return traced_step.step(env, num_envs, self.autoreset_mode, self.reset_strategy, vstate, actions)

        stepped: tuple[VectorState[State], VectorTimestep[Obs]]
        stepped = by_group(step, self.env, self.num_envs, vstate, actions)
        return stepped

    def chosen_reset_strategy(self) -> str:
        """Return the strategy that `step` follows, "select" or "lazy".

        "auto" counts the operations of one reset and one step, without running either. It chooses "lazy" if a reset
        costs more than four steps, or as much as drawing an image; for cheaper resets the loop costs more than it
        saves. For a `Union` the answer is "lazy" if it is for one of its tasks. `rollout`, `evaluate` and steps in a
        compiled loop on a CPU become a single kernel where possible, in which loops are cheap; there "auto" is always
        lazy.

        >>> import funcenv
        >>> FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs=3).chosen_reset_strategy()
        'select'
        """
        groups = self._groups() or [RowGroup(self.env, slice(0, self.num_envs))]
        chosen = {choose_strategy(self.reset_strategy, group.env, group.size) for group in groups}
        return "lazy" if "lazy" in chosen else "select"

    def observation(self, vstate: VectorState[State]) -> Obs:
        """Compute every environment's last observation again, from its state and its last key; `[num_envs, ...]`."""
        return self._map(observe_row, vstate).observation

    def subset(self, num_envs: int, pick: Any) -> FuncVectorEnv[State, Action, Obs]:
        """Return a vector environment of some of the environments.

        Args:
            num_envs: how many there are in the result.
            pick: maps a batched parameter `[self.num_envs, ...]` to the values of the chosen environments.

        >>> from funcenv.envs import CartPole
        >>> venv = FuncVectorEnv(CartPole(gravity=np.array([9.8, 1.5, 3.7])), 3)
        >>> venv.subset(2, lambda values: values[1:]).env.gravity
        array([1.5, 3.7])
        """
        if self._groups():
            raise ValueError("rows of a Union cannot be picked by number; take a whole task: union.replace(task=...)")
        subset: FuncVectorEnv[State, Action, Obs]
        subset = self.replace(env=map_batched(self.env, self.num_envs, pick), num_envs=num_envs)
        return subset

    def _map(self, function: Any, *args: Any) -> Any:
        return by_group(functools.partial(map_rows, function), self.env, self.num_envs, *args)

    def _groups(self) -> list[RowGroup]:
        return row_groups(self.env, self.num_envs)

    def _env_keys(self, key: jax.Array) -> Key[Array, "num_envs"]:
        require_typed_key(key)
        if key.shape == ():
            return jax.random.split(key, self.num_envs)
        if key.shape != (self.num_envs,):
            raise ValueError(f"reset takes one key or {self.num_envs} of them, got keys of shape {key.shape}")
        return key

    def _states_to_follow(self, vstate: VectorState[State], follows: Bool[Array, "num_envs"]) -> State:
        """Return the last states, of which a simulator on the host only gets those that are used: others repeat one."""
        if not self.env.calls_host:
            return vstate.env_state
        rows = jnp.where(follows, jnp.arange(self.num_envs), jnp.argmax(follows))
        states: State = take(vstate.env_state, rows)
        return states

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
        if not jax.tree.leaves(parameter_axes(self.env, self.num_envs)):
            return getattr(self.env, name)
        spaces = [getattr(single_env(self.env, self.num_envs, i), name) for i in range(self.num_envs)]
        return functools.reduce(lambda loosest, space: loosest if loosest == space else loosest.union(space), spaces)


FuncVectorEnv.__init__ = explain_calls(  # type: ignore[method-assign]  # with the same signature
    "write funcenv.FuncVectorEnv(env, num_envs)"
)(FuncVectorEnv.__init__)


AnyVectorEnv: TypeAlias = FuncVectorEnv[Any, Any, Any]

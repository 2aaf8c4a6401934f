"""Gymnasium's functional environments as ours."""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.experimental import functional
from jaxtyping import Array, Bool, Float

from funcenv.adapters.gymnasium.spaces import from_gymnasium as space_from_gymnasium
from funcenv.func_env import FuncEnv
from funcenv.spaces import Space
from funcenv.spaces._dtypes import promote
from funcenv.spaces._padded import struct_of
from funcenv.struct import PyTreeNode, field


def from_gymnasium_functional(
    env: functional.FuncEnv[Any, Any, Any, Any, Any, Any, Any], params: Any = None
) -> FromFunctional:
    """A `gymnasium.experimental.functional.FuncEnv` as a `funcenv.FuncEnv`.

    What Gymnasium's own adapters get wrong does not come along: each function gets a key of its own; the state keeps
    its shapes and dtypes, so that it can be scanned; observations have the dtype of their space; the parameters are
    those of the environment, and can be changed.

    Args:
        env: the functional environment. Its functions may lack `rng` and `params` where they need none.
        params: its parameters; by default, what it names as its default.

    Raises:
        TypeError: not a functional environment, or a space that has no counterpart here.

    >>> import funcenv, gymnasium
    >>> class Walk(functional.FuncEnv):
    ...     observation_space = gymnasium.spaces.Box(-9, 9, ())
    ...     action_space = gymnasium.spaces.Discrete(2)
    ...     def initial(self, rng, params=None): return 0.0
    ...     def transition(self, state, action, rng, params=None): return state + params["pace"] * (2 * action - 1)
    ...     def observation(self, state, rng, params=None): return state
    ...     def reward(self, state, action, next_state, rng, params=None): return -1
    ...     def terminal(self, state, rng, params=None): return state >= 3
    ...     def get_default_params(self): return {"pace": 1.0}
    >>> env = from_gymnasium_functional(Walk(), params={"pace": 4.0})
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, jnp.int32(1), funcenv.key(1))
    >>> float(timestep.observation), bool(timestep.terminated)
    (4.0, True)
    """
    if not isinstance(env, functional.FuncEnv):
        raise TypeError(f"from_gymnasium_functional takes a gymnasium.experimental.functional.FuncEnv, got {env!r}")
    adopted = FromFunctional(
        reals=(),
        others=(),
        structure=None,
        functional_env=env,
        spaces=(space_from_gymnasium(env.observation_space), space_from_gymnasium(env.action_space)),
    )
    return adopted.with_params(env.get_default_params() if params is None else params)


class FromFunctionalState(PyTreeNode):
    """The state inside, and what was drawn about it, once."""

    env_state: Any
    reward: Float[Array, ""]  # of the transition that led here
    terminal: Bool[Array, ""]


class FromFunctional(FuncEnv[FromFunctionalState, Any, Any]):
    """What `from_gymnasium_functional` returns.

    Of its parameters, those that are real numbers or arrays can be batched and differentiated by; all others are fixed
    when a program is compiled. `params` shows them and `with_params` changes them.

    Gymnasium lets a reward, and whether a state is terminal, depend on a key. So both are drawn in the transition, and
    kept in the state: `reward` and `terminal` read them from there.
    """

    reals: tuple[Any, ...]
    others: tuple[Any, ...] = field(pytree_node=False)  # the other leaves of the parameters; None where a real one is
    structure: Any = field(pytree_node=False)
    functional_env: Any = field(pytree_node=False)
    spaces: tuple[Space[Any], Space[Any]] = field(pytree_node=False)  # of observations and of actions

    @property
    def observation_space(self) -> Space[Any]:
        """The space of observations."""
        return self.spaces[0]

    @property
    def action_space(self) -> Space[Any]:
        """The space of actions."""
        return self.spaces[1]

    @property
    def params(self) -> Any:
        """The parameters, as the functional environment takes them."""
        reals = iter(self.reals)
        leaves = [next(reals) if other is None else other for other in self.others]
        return jax.tree.unflatten(self.structure, leaves)

    def with_params(self, params: Any) -> Self:
        """The same environment with other parameters.

        Raises:
            TypeError: one that is neither a number nor an array and cannot be hashed.
        """
        leaves, structure = jax.tree.flatten(params)
        others = tuple(None if _is_real(leaf) else leaf for leaf in leaves)
        for other in others:
            if not isinstance(other, Hashable):
                raise TypeError(f"a parameter must be a number, an array or hashable, got {other!r}")
        return self.replace(reals=tuple(filter(_is_real, leaves)), others=others, structure=structure)

    def initial(self, key: jax.Array) -> FromFunctionalState:
        """The first state, in the shapes and dtypes that the transitions give."""
        state_key, terminal_key = jax.random.split(key)
        env_state = self._ask("initial", key=state_key)
        env_state = _conform(env_state, self._lasting(env_state))
        return self._state(env_state, jnp.zeros((), float), terminal_key)

    def transition(self, state: FromFunctionalState, action: Any, key: jax.Array) -> FromFunctionalState:
        """The state that follows, with its reward."""
        state_key, reward_key, terminal_key = jax.random.split(key, 3)
        env_state = _conform(self._ask("transition", state.env_state, action, key=state_key), state.env_state)
        reward = self._ask("reward", state.env_state, action, env_state, key=reward_key)
        return self._state(env_state, reward, terminal_key)

    def observation(self, state: FromFunctionalState, key: jax.Array) -> Any:
        """The observation, in the shape and dtype of its space."""
        return _conform(self._ask("observation", state.env_state, key=key), struct_of(self.observation_space))

    def reward(self, state: FromFunctionalState, action: Any, next_state: FromFunctionalState) -> Float[Array, ""]:
        """What the transition to `next_state` drew."""
        del state, action
        return next_state.reward

    def terminal(self, state: FromFunctionalState) -> Bool[Array, ""]:
        """What the transition to `state` drew."""
        return state.terminal

    def state_info(self, state: FromFunctionalState) -> dict[str, Any]:
        """As the functional environment says."""
        return self._ask("state_info", state.env_state)

    def transition_info(
        self, state: FromFunctionalState, action: Any, next_state: FromFunctionalState
    ) -> dict[str, Any]:
        """As the functional environment says."""
        return self._ask("transition_info", state.env_state, action, next_state.env_state)

    def _state(self, env_state: Any, reward: Any, terminal_key: jax.Array) -> FromFunctionalState:
        terminal = jnp.asarray(self._ask("terminal", env_state, key=terminal_key))
        return FromFunctionalState(
            env_state=env_state,
            reward=jnp.asarray(reward).astype(float).reshape(()),
            terminal=terminal.astype(bool).reshape(()),
        )

    def _ask(self, name: str, *args: Any, key: jax.Array | None = None) -> Any:
        """One function of the functional environment, with a key and parameters if it takes them."""
        function = getattr(self.functional_env, name)
        parameters = inspect.signature(function).parameters.values()
        names = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        further = names[len(args) :]
        if key is not None and further[:1] not in ([], ["params"]):
            args = (*args, key)
        params = self.params
        options = {"params": params} if "params" in further and params is not None else {}
        # The author may not have written for strict settings, which the user of this environment may have chosen.
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return function(*args, **options)

    def _lasting(self, env_state: Any) -> Any:
        """Shapes and dtypes that hold the first state and those after it: what a transition makes of them, it keeps."""
        action, key = struct_of(self.action_space), jax.eval_shape(lambda: jax.random.key(0))
        struct = jax.eval_shape(lambda: jax.tree.map(jnp.asarray, env_state))
        for _ in range(_MOST_CHANGES):
            after = jax.eval_shape(
                lambda state, action, key: self._ask("transition", state, action, key=key), struct, action, key
            )
            before_structure: Any = jax.tree.structure(struct)
            after_structure: Any = jax.tree.structure(after)
            if after_structure != before_structure:
                raise ValueError(
                    f"{type(self.functional_env).__name__}.transition must return a state of the structure that "
                    f"initial returns, {before_structure}, got {after_structure}"
                )
            joined = jax.tree.map(_join, struct, after)
            if joined == struct:
                break
            struct = joined
        return struct


_MOST_CHANGES = 4  # from bool to integer to float, and once more in shape


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, (float, np.floating, np.ndarray, jax.Array))


def _join(a: Any, b: Any) -> Any:
    """What both become when they are joined."""
    dtype = a.dtype if a.dtype == b.dtype else promote([a.dtype, b.dtype])
    return jax.ShapeDtypeStruct(np.broadcast_shapes(a.shape, b.shape), dtype)  # type: ignore[no-untyped-call]


def _conform(tree: Any, like: Any) -> Any:
    """`tree` in the shapes and dtypes of `like`."""

    def conform(leaf: Any, like: Any) -> jax.Array:
        array = jnp.asarray(leaf)
        array = array if array.dtype == like.dtype else array.astype(like.dtype)
        return jnp.broadcast_to(array, like.shape)

    return jax.tree.map(conform, tree, like)

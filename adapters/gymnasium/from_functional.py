"""Conversion of Gymnasium's functional environments."""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.experimental import functional
from jaxtyping import Array, Bool, Float

from funcenv._compile.options import default_promotion
from funcenv.adapters.gymnasium.spaces import from_gymnasium as space_from_gymnasium
from funcenv.func_env import FuncEnv
from funcenv.interop.stable import conform, stable_struct
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field


def from_gymnasium_functional(
    env: functional.FuncEnv[Any, Any, Any, Any, Any, Any, Any], params: Any = None
) -> FromFunctional:
    """Convert a `gymnasium.experimental.functional.FuncEnv` to a `funcenv.FuncEnv`.

    Faults of Gymnasium's own adapters are corrected: each function receives its own key, the state keeps its shapes and
    dtypes so that `jax.lax.scan` can carry it, observations have the dtype of their space, and the parameters belong to
    the environment and can be changed.

    Args:
        env: Functional environment. Its functions may omit `rng` and `params` if they do not need them.
        params: Parameters; by default the result of `env.get_default_params()`.

    Raises:
        TypeError: `env` is not such an environment, or one of its spaces has no counterpart in funcenv.

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
    """The inner state, with the reward and the terminal flag that were drawn for it."""

    env_state: Any
    reward: Float[Array, ""]  # of the transition that led here
    terminal: Bool[Array, ""]


class FromFunctional(FuncEnv[FromFunctionalState, Any, Any]):
    """The environment that `from_gymnasium_functional` returns.

    Parameters that are real numbers or arrays can be batched and differentiated; all others are fixed at compile time.
    `params` returns the parameters and `with_params` changes them.

    In Gymnasium the reward and the terminal flag may depend on a key. Both are therefore drawn in `transition` and kept
    in the state, from which `reward` and `terminal` read them.
    """

    reals: tuple[Any, ...]  # leaves of the parameters that are real numbers or arrays
    others: tuple[Any, ...] = field(pytree_node=False)  # the other leaves, and None in place of real ones
    structure: Any = field(pytree_node=False)
    functional_env: Any = field(pytree_node=False)
    spaces: tuple[AnySpace, AnySpace] = field(pytree_node=False)  # observations and actions

    @property
    def observation_space(self) -> AnySpace:
        """The space of observations."""
        return self.spaces[0]

    @property
    def action_space(self) -> AnySpace:
        """The space of actions."""
        return self.spaces[1]

    @property
    def params(self) -> Any:
        """The parameters as the functional environment takes them."""
        reals = iter(self.reals)
        leaves = [next(reals) if other is None else other for other in self.others]
        return jax.tree.unflatten(self.structure, leaves)

    def with_params(self, params: Any) -> Self:
        """Return the environment with other parameters.

        Raises:
            TypeError: A parameter is neither a number nor an array, and cannot be hashed.
        """
        leaves, structure = jax.tree.flatten(params)
        others = tuple(None if _is_real(leaf) else leaf for leaf in leaves)
        for other in others:
            if not isinstance(other, Hashable):
                raise TypeError(f"a parameter must be a number, an array or hashable, got {other!r}")
        return self.replace(reals=tuple(filter(_is_real, leaves)), others=others, structure=structure)

    def initial(self, key: jax.Array) -> FromFunctionalState:
        """Return an initial state, with the shapes and dtypes that transitions keep."""
        state_key, terminal_key = jax.random.split(key)
        env_state = self._call("initial", key=state_key)
        env_state = conform(env_state, self._stable_struct(env_state))
        return self._state(env_state, jnp.zeros((), float), terminal_key)

    def transition(self, state: FromFunctionalState, action: Any, key: jax.Array) -> FromFunctionalState:
        """Return the next state, with its reward."""
        state_key, reward_key, terminal_key = jax.random.split(key, 3)
        env_state = conform(self._call("transition", state.env_state, action, key=state_key), state.env_state)
        reward = self._call("reward", state.env_state, action, env_state, key=reward_key)
        return self._state(env_state, reward, terminal_key)

    def observation(self, state: FromFunctionalState, key: jax.Array) -> Any:
        """Return an observation with the shape and dtype of its space."""
        return conform(self._call("observation", state.env_state, key=key), self.observation_space.abstract_member())

    def reward(self, state: FromFunctionalState, action: Any, next_state: FromFunctionalState) -> Float[Array, ""]:
        """Return the reward that the transition to `next_state` drew."""
        del state, action
        return next_state.reward

    def terminal(self, state: FromFunctionalState) -> Bool[Array, ""]:
        """Return the flag that the transition to `state` drew."""
        return state.terminal

    def state_info(self, state: FromFunctionalState) -> dict[str, Any]:
        """Return the info of the functional environment."""
        return self._call("state_info", state.env_state)

    def transition_info(
        self, state: FromFunctionalState, action: Any, next_state: FromFunctionalState
    ) -> dict[str, Any]:
        """Return the info of the functional environment."""
        return self._call("transition_info", state.env_state, action, next_state.env_state)

    def _state(self, env_state: Any, reward: Any, terminal_key: jax.Array) -> FromFunctionalState:
        terminal = jnp.asarray(self._call("terminal", env_state, key=terminal_key))
        return FromFunctionalState(
            env_state=env_state,
            reward=jnp.asarray(reward).astype(float).reshape(()),
            terminal=terminal.astype(bool).reshape(()),
        )

    def _call(self, name: str, *args: Any, key: jax.Array | None = None) -> Any:
        """Call a function of the functional environment, with a key and parameters if it takes them."""
        function = getattr(self.functional_env, name)
        parameters = inspect.signature(function).parameters.values()
        names = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        remaining = names[len(args) :]
        if key is not None and remaining[:1] not in ([], ["params"]):
            args = (*args, key)
        params = self.params
        options = {"params": params} if "params" in remaining and params is not None else {}
        with default_promotion():
            return function(*args, **options)

    def _stable_struct(self, env_state: Any) -> Any:
        """Return shapes and dtypes that hold the initial state and that a transition does not change."""
        action, key = self.action_space.abstract_member(), jax.eval_shape(lambda: jax.random.key(0))

        def advance(struct: Any) -> Any:
            return jax.eval_shape(
                lambda state, action, key: self._call("transition", state, action, key=key), struct, action, key
            )

        first = jax.eval_shape(lambda: jax.tree.map(jnp.asarray, env_state))
        return stable_struct(first, advance, f"{type(self.functional_env).__name__}.transition")


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, (float, np.floating, np.ndarray, jax.Array))

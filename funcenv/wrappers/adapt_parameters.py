"""A curriculum that follows success: the outcome of an episode moves the parameters of the next one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.func_env import Action, AnyEnv, Obs, first_state, placeholder_outcome
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import StatefulWrapper


class EpisodeOutcome(PyTreeNode):
    """The episode that has just ended."""

    episode_return: Float[Array, ""]
    episode_length: Int[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]  # False where only a wrapper outside truncated the episode
    info: dict[str, Any]  # `state_info` of the last state


class AdaptParametersState(PyTreeNode):
    """The inner state, the parameters of this episode, and its totals so far."""

    env_state: Any
    parameters: dict[str, Array]  # values by field name
    episode_return: Float[Array, ""]
    episode_length: Int[Array, ""]


Adapt = Callable[[dict[str, Array], EpisodeOutcome, jax.Array], Mapping[str, Any]]


class AdaptParameters(StatefulWrapper[AdaptParametersState, Action, Obs]):
    """Moves parameters after every episode by its outcome, such as a task that becomes harder with success.

    The first episode has the parameters of `env`. After an automatic reset, and after `reset(key, after=state)`, the
    next one has those that `adapt` returns; each environment of a batch goes its own way. `info["parameters"]` holds
    the parameters. The spaces are those of the `env` that was passed. Put it outside `TimeLimit`, and inside
    `Autoreset`.

    Args:
        env: the environment.
        adapt: a traceable function `adapt(parameters, outcome, key)` of the parameters of the last episode, an
            `EpisodeOutcome` and a key. It returns new values with the same names and shapes.
        names: the fields that `adapt` moves.

    Raises:
        TypeError: `adapt` is no function, or the environment has no field of a name.
        ValueError: There is no name, or `adapt` returns other names or shapes.

    >>> import funcenv
    >>> def lighter(parameters, outcome, key):
    ...     return {"gravity": 0.5 * parameters["gravity"]}
    >>> env = AdaptParameters(funcenv.make("CartPole-v1", gravity=8.0), lighter, ("gravity",))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, timestep = env.reset(funcenv.key(1), after=state)
    >>> float(timestep.info["parameters"]["gravity"])
    4.0
    """

    adapt: Adapt = field(pytree_node=False)
    names: tuple[str, ...] = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.adapt):
            raise TypeError(f"adapt must be a function of parameters, an outcome and a key, got {self.adapt!r}")
        if not isinstance(self.names, tuple) or not self.names:
            raise ValueError(f"names must be a tuple of at least one field, got {self.names!r}; write ('gravity',)")
        self.env.replace(**self._own())

    def inner_env(self, state: AdaptParametersState) -> AnyEnv:
        """Return the environment inside, with the parameters of this episode."""
        return self.env.replace(**state.parameters)

    @property
    def remembers(self) -> bool:
        """True, because an episode depends on the one before it."""
        return True

    @property
    def reward_range(self) -> tuple[float, float]:
        """Unbounded, because the rewards may depend on the parameters."""
        return -math.inf, math.inf

    def initial(self, key: jax.Array) -> AdaptParametersState:
        """Return the first state under the first parameters."""
        return self._begin({name: _strong(value) for name, value in self._own().items()}, key, None)

    def initial_after(self, last: AdaptParametersState, key: jax.Array) -> AdaptParametersState:
        """Return the first state under parameters that follow from the last episode."""
        env = self.inner_env(last)
        outcome = EpisodeOutcome(
            episode_return=last.episode_return,
            episode_length=last.episode_length,
            terminated=env.terminal(last.env_state),
            truncated=env.truncated(last.env_state),
            info=env.state_info(last.env_state),
        )
        adapted = self.adapt(last.parameters, outcome, self.extra_key(key))
        return self._begin(_checked(adapted, last.parameters), key, last.env_state)

    def transition(self, state: AdaptParametersState, action: Action, key: jax.Array) -> AdaptParametersState:
        """Return the next state, with the same parameters and the reward added."""
        env = self.inner_env(state)
        env_state = env.transition(state.env_state, action, key)
        reward = env.reward(state.env_state, action, env_state)
        return state.replace(
            env_state=env_state,
            episode_return=(state.episode_return + reward).astype(state.episode_return.dtype),
            episode_length=state.episode_length + 1,
        )

    def state_info(self, state: AdaptParametersState) -> dict[str, Any]:
        """Add the parameters."""
        return {**super().state_info(state), "parameters": state.parameters}

    def _own(self) -> dict[str, Any]:
        """Return the values of the environment that was passed, `None` for names that it does not have."""
        return {name: getattr(self.env, name, None) for name in self.names}

    def _begin(self, parameters: dict[str, Array], key: jax.Array, last: Any) -> AdaptParametersState:
        env = self.env.replace(**parameters)
        env_state = first_state(env, key, last)
        zero, _ = placeholder_outcome(env, env_state)
        return AdaptParametersState(env_state, parameters, zero, jnp.zeros((), jnp.int32))


def _strong(value: Any) -> jax.Array:
    """Return a value as an array that is not weakly typed."""
    array = jnp.asarray(value)
    return array.astype(array.dtype)


def _checked(adapted: Any, parameters: dict[str, Array]) -> dict[str, Array]:
    """Return what `adapt` has returned in the dtypes of the parameters before."""
    if not isinstance(adapted, Mapping) or set(adapted) != set(parameters):
        given = sorted(adapted) if isinstance(adapted, Mapping) else adapted
        raise ValueError(f"adapt must return a dict with the names {sorted(parameters)}, got {given}")
    for name, old in parameters.items():
        if np.shape(adapted[name]) != old.shape:
            raise ValueError(f"adapt must return {name} with shape {old.shape}, got {np.shape(adapted[name])}")
    return {name: jnp.asarray(adapted[name]).astype(old.dtype) for name, old in parameters.items()}

"""The base of the functional environments that call an environment of Gymnasium on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.func_env import FuncEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field


class CallState(PyTreeNode):
    """The results of the last call of the environment on the host."""

    observation: Any
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


State = TypeVar("State", bound=CallState)


class HostEnv(FuncEnv[State, Any, Any]):
    """An environment that calls `host.reset` and `host.step`; its spaces are those of the host."""

    host: Any = field(pytree_node=False)

    @property
    def observation_space(self) -> AnySpace:
        """The space of observations."""
        space: AnySpace = self.host.observation_space
        return space

    @property
    def action_space(self) -> AnySpace:
        """The space of actions."""
        space: AnySpace = self.host.action_space
        return space

    def initial(self, key: jax.Array) -> State:
        """Reset the environment with a seed drawn from the key."""
        return self._call(self.host.reset, jax.random.bits(key, (), jnp.uint32) >> 1)

    def observation(self, state: State, key: jax.Array) -> Any:
        """Return the observation of the last call."""
        del key
        return state.observation

    def reward(self, state: State, action: Any, next_state: State) -> Float[Array, ""]:
        """Return the reward of the step to `next_state`."""
        del state, action
        return next_state.reward

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Return whether the last step returned terminated."""
        return state.terminated

    def truncated(self, state: State) -> Bool[Array, ""]:
        """Return whether the last step returned truncated."""
        return state.truncated

    def _call(self, function: Callable[..., Any], *args: Any) -> State:
        """Call a function of the host from compiled code."""
        raise NotImplementedError

"""Wrappers that change the agent's action before the environment receives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.func_env import Action, Obs, State
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers._spaces import InheritedSpace, first_env, require_box, require_member
from funcenv.wrappers.base import Wrapper


class ActionWrapper(Wrapper[State, Action, Obs]):
    """A wrapper that changes actions; a subclass defines `inner_action`, and `action_space` if the space changes.

    >>> import funcenv
    >>> class Mirrored(ActionWrapper):
    ...     def inner_action(self, action):
    ...         return 1 - action
    >>> env = Mirrored(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 0, funcenv.key(1))  # pushes to the right
    >>> bool(timestep.observation[1] > 0)
    True
    """

    def inner_action(self, action: Action) -> Any:
        """Return the action of the environment inside for an action of the agent."""
        raise NotImplementedError(f"{type(self).__name__} must define inner_action(action)")

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """Return the next state."""
        return self.env.transition(self.inner(state), self.inner_action(action), key)

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """Return the reward of the inner action."""
        return self.env.reward(self.inner(state), self.inner_action(action), self.inner(next_state))

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Return the extra arrays of the inner action."""
        return self.env.transition_info(self.inner(state), self.inner_action(action), self.inner(next_state))

    def text(self, state: State, action: Action | None = None) -> str:
        """Return a text rendering of the state and the inner action."""
        return self.env.text(self.inner(state), None if action is None else self.inner_action(action))


class TransformAction(ActionWrapper[State, Action, Obs]):
    """Applies a function to every action before the environment sees it.

    It may be anywhere in a stack. For a function with parameters, write an `ActionWrapper` with the parameters as
    fields, because the function is static: another function recompiles.

    Args:
        env: the environment.
        func: a traceable function from an action of the agent to an action of `env`.
        action_space: the space of the agent's actions; by default the action space of `env`.

    Raises:
        ValueError: The function returns another structure, shape or dtype than the action space of `env` has.

    >>> import funcenv
    >>> env = TransformAction(funcenv.make("CartPole-v1"), lambda action: 1 - action)
    >>> env.action_space
    Discrete(2)
    """

    func: Callable[[Any], Any] = field(pytree_node=False)
    action_space: Any = field(pytree_node=False, default=InheritedSpace())

    def __post_init__(self) -> None:
        super().__post_init__()
        first = first_env(self)
        returned = jax.eval_shape(self.func, first.action_space.abstract_member())
        remedy = "cast or reshape what it returns; action_space is what the function takes"
        require_member("TransformAction", returned, "env.action_space", first.env.action_space, remedy)

    def inner_action(self, action: Action) -> Any:
        """Apply the function."""
        return self.func(action)


class ClipAction(ActionWrapper[State, Array, Obs]):
    """Accepts any real vector as an action, and clips it to the bounds of the environment's `Box`.

    Put it outside wrappers that need bounded actions (`RescaleAction`, `DiscretizeAction`), because its own action
    space is unbounded.

    Args:
        env: an environment with a `Box` of actions.

    Raises:
        TypeError: The actions are not a `Box`.

    >>> import funcenv, jax.numpy as jnp
    >>> env = ClipAction(funcenv.make("Pendulum-v1"))
    >>> env.action_space
    Box(-inf, inf, (1,), float32)
    >>> env.inner_action(jnp.array([5.0]))
    Array([2.], dtype=float32)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        require_box(self, "action_space", first_env(self.env))

    @property
    def action_space(self) -> Box:
        """The inner space without bounds."""
        inside = require_box(self, "action_space")
        return Box(-jnp.inf, jnp.inf, inside.shape, inside.dtype)

    def inner_action(self, action: Array) -> Array:
        """Clip the action to the bounds, in the dtype of the space."""
        inside = require_box(self, "action_space")
        return jnp.clip(jnp.asarray(action, inside.dtype), jnp.asarray(inside.low), jnp.asarray(inside.high))

"""Play an action made of the agent's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.func_env import Action, Obs, State
from funcenv.spaces import Box
from funcenv.struct import field
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.own_space import InheritedSpace
from funcenv.wrappers.single import abstract, require_box, require_member, single


class ActionWrapper(Wrapper[State, Action, Obs]):
    """A wrapper that changes actions: a subclass defines `inner_action`, and the space if that changes.

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
        """What the environment inside is told when the agent plays `action`."""
        raise NotImplementedError(f"{type(self).__name__} must define inner_action(action)")

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """The state that follows."""
        return self.env.transition(self.inner(state), self.inner_action(action), key)

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """The reward of the action that was played inside."""
        return self.env.reward(self.inner(state), self.inner_action(action), self.inner(next_state))

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Extra facts about the action that was played inside."""
        return self.env.transition_info(self.inner(state), self.inner_action(action), self.inner(next_state))

    def text(self, state: State, action: Action | None = None) -> str:
        """The state in a terminal, with the action that was played inside."""
        return self.env.text(self.inner(state), None if action is None else self.inner_action(action))


class TransformAction(ActionWrapper[State, Action, Obs]):
    """Applies a function to every action before the environment sees it.

    It has no state and may stand anywhere in a stack. Where the function has parameters of its own, write an
    `ActionWrapper` with them as fields: a function is a compile-time choice, and another one compiles anew.

    Args:
        env: the environment.
        func: `func(action) -> action of env`, of one action, in JAX.
        action_space: what the agent chooses from; by default the action space of `env`.

    Raises:
        ValueError: the function returns another structure, shape or dtype than the action space of `env` has.

    >>> import funcenv
    >>> env = TransformAction(funcenv.make("CartPole-v1"), lambda action: 1 - action)
    >>> env.action_space
    Discrete(2)
    """

    func: Callable[[Any], Any] = field(pytree_node=False)
    action_space: Any = field(pytree_node=False, default=InheritedSpace())

    def __post_init__(self) -> None:
        super().__post_init__()
        alone = single(self)
        returned = jax.eval_shape(self.func, abstract(alone.action_space))
        remedy = "cast or reshape what it returns; action_space is what the function takes"
        require_member("TransformAction", returned, "env.action_space", alone.env.action_space, remedy)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; a space that was left out is the new environment's."""
        return super().replace(**{"action_space": vars(self)["action_space"], **changes})

    def inner_action(self, action: Action) -> Any:
        """The function's value."""
        return self.func(action)


class ClipAction(ActionWrapper[State, Array, Obs]):
    """Takes any real vector as an action and clips it to the bounds of the environment's `Box`.

    Put it outside wrappers that need bounded actions (`RescaleAction`, `DiscretizeAction`): its own action space has
    none.

    Args:
        env: an environment with a `Box` of actions.

    Raises:
        TypeError: the actions are not a `Box`.

    >>> import funcenv, jax.numpy as jnp
    >>> env = ClipAction(funcenv.make("Pendulum-v1"))
    >>> env.action_space
    Box(-inf, inf, (1,), float32)
    >>> env.inner_action(jnp.array([5.0]))
    Array([2.], dtype=float32)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        require_box("ClipAction", single(self.env), "action_space")

    @property
    def action_space(self) -> Box:
        """As inside, without bounds."""
        inside = require_box("ClipAction", self.env, "action_space")
        return Box(-jnp.inf, jnp.inf, inside.shape, inside.dtype)

    def inner_action(self, action: Array) -> Array:
        """The nearest action within the bounds, in the dtype of the space."""
        inside = require_box("ClipAction", self.env, "action_space")
        return jnp.clip(jnp.asarray(action, inside.dtype), jnp.asarray(inside.low), jnp.asarray(inside.high))

"""Observe the latest observations and actions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.checks import require_size
from funcenv.func_env import Action
from funcenv.spaces import Box, Dict, batch_space
from funcenv.spaces.space import AnySpace
from funcenv.struct import field
from funcenv.trees import select
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.frame_stack_observation import FrameBuffer, FrameBufferState


class HistoryObservationState(FrameBufferState):
    """The inner state, and the latest observations and actions, the oldest first."""

    actions: Any


class HistoryObservation(FrameBuffer[Action, Any]):
    """Observes the last `length` observations, and the actions that led to them.

    Observations are dicts: `"observation"` `[length, ...]` and `"action"` `[length, ...]`, the newest last. Before the
    first step, the first observation is repeated, and actions are the member of the space that is closest to zero.
    `FlattenObservation` outside makes a vector of both, which a policy needs to act under delays. An action outside its
    space is clipped in a `Box`, and shown as zero elsewhere.

    Put it outside `DelayAction` and `DelayObservation`, and inside `Autoreset`.

    Args:
        env: the environment.
        length: at least 1.

    Raises:
        TypeError: `length` is not an integer, or the action space has no zero.
        ValueError: `length` is below 1.

    >>> import funcenv
    >>> env = HistoryObservation(funcenv.make("CartPole-v1"), length=3)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 1, funcenv.key(1))
    >>> timestep.observation["observation"].shape, timestep.observation["action"].tolist()
    ((3, 4), [0, 0, 1])
    """

    length: int = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "length", require_size("length", self.length))
        jax.eval_shape(first_env(self.env).action_space.zero)

    @property
    def _num_frames(self) -> int:
        return self.length

    def _padding(self, newest: Any) -> Any:
        return newest

    def initial(self, key: jax.Array) -> HistoryObservationState:
        """Return the first state, with its observation and zeros as actions."""
        space = self.env.action_space
        actions = jax.tree.map(
            lambda zero, like: jnp.broadcast_to(jnp.asarray(zero, like.dtype), (self.length, *like.shape)),
            space.zero(),
            space.abstract_member(),
        )
        return HistoryObservationState(**vars(super().initial(key)), actions=actions)

    def transition(self, state: FrameBufferState, action: Action, key: jax.Array) -> HistoryObservationState:
        """Perform the inner step, and append its action and observation."""

        def push(old: jax.Array, new: Any) -> jax.Array:
            return jnp.concatenate([old[1:], jnp.asarray(new, old.dtype)[None]])

        actions = state.actions  # type: ignore[attr-defined]  # from `initial`
        shown = _nearest_member(self.env.action_space, action)
        following = super().transition(state, action, key)
        return HistoryObservationState(**vars(following), actions=jax.tree.map(push, actions, shown))

    def observation(self, state: FrameBufferState, key: jax.Array) -> Any:
        """Return observations and actions."""
        del key
        return {"observation": state.frames, "action": state.actions}  # type: ignore[attr-defined]  # from `initial`

    @property
    def observation_space(self) -> Dict:
        """Stacked observations and stacked actions."""
        observations = batch_space(self.env.observation_space, self.length)
        return Dict(observation=observations, action=batch_space(self.env.action_space, self.length))


def _nearest_member(space: AnySpace, action: Any) -> Any:
    """Return an action as an observation shows it, which is a member of its space."""
    kinds = space.abstract_member()
    if isinstance(space, Box):
        return jnp.clip(
            jnp.asarray(action, kinds.dtype), *(jnp.asarray(b, kinds.dtype) for b in (space.low, space.high))
        )
    action = jax.tree.map(lambda leaf, kind: jnp.asarray(leaf, kind.dtype), action, kinds)
    is_member = jnp.asarray(space.contains(action))
    zero = jax.tree.map(lambda leaf, kind: jnp.asarray(leaf, kind.dtype), space.zero(), kinds)
    return select(is_member, action, zero)

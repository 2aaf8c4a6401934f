"""Show the agent what was to be seen some steps ago."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import Action, Obs
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.frame_stack_observation import push
from funcenv.wrappers.single import single


class DelayObservationState(PyTreeNode):
    """The inner state and the frames; every leaf of them has a leading axis `[delay + 1]`, the oldest first."""

    env_state: Any
    frames: Any


class DelayObservation(Wrapper[DelayObservationState, Action, Obs]):
    """Shows every observation `delay` steps late; before there is one, the member of the space closest to zero.

    Frames are kept as they were shown, so that each observation is drawn once. Rewards, flags and `info` are not late.
    It may stand anywhere inside `Autoreset`; outside `RepeatAction` it counts the steps of the agent, inside those of
    the environment.

    Args:
        env: the environment.
        delay: at least 0.

    Raises:
        TypeError: `delay` is not an integer, or the space has no zero.
        ValueError: `delay` below 0.

    >>> import funcenv
    >>> env = DelayObservation(funcenv.make("CartPole-v1"), delay=2)
    >>> env.reset(funcenv.key(0))[1].observation
    Array([0., 0., 0., 0.], dtype=float32)
    """

    delay: int = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            delay = operator.index(self.delay)
        except TypeError:
            raise TypeError(f"delay must be an integer, got {self.delay!r}") from None
        if delay < 0:
            raise ValueError(f"delay must be at least 0, got {delay}")
        object.__setattr__(self, "delay", delay)
        space = single(self.env).observation_space
        jax.eval_shape(space.zero)  # refuses a space without one

    def inner(self, state: DelayObservationState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> DelayObservationState:
        """The first state, with its frame kept for later."""
        env_state, timestep = self.env.reset(key)

        def fill(nothing: jax.Array, new: jax.Array) -> jax.Array:
            rest = jnp.broadcast_to(nothing.astype(new.dtype), (self.delay, *new.shape))
            return jnp.concatenate([rest, new[None]])

        frames = jax.tree.map(fill, self.env.observation_space.zero(), timestep.observation)
        return DelayObservationState(env_state=env_state, frames=frames)

    def transition(self, state: DelayObservationState, action: Action, key: jax.Array) -> DelayObservationState:
        """The inner step; its frame waits its turn."""
        env_state, timestep = self.env.step(state.env_state, action, key)
        return DelayObservationState(env_state=env_state, frames=push(state.frames, timestep.observation))

    def observation(self, state: DelayObservationState, key: jax.Array) -> Obs:
        """The oldest frame."""
        del key
        return jax.tree.map(lambda frames: frames[0], state.frames)

"""Truncate episodes after a number of steps."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.checks import MAX_COUNT, require_at_least
from funcenv.func_env import Action, FuncEnv, Obs
from funcenv.struct import PyTreeNode
from funcenv.wrappers.base import StatefulWrapper


class StepCounterState(PyTreeNode):
    """The inner state and the number of steps since the episode began."""

    env_state: Any
    elapsed_steps: Int[Array, ""]


class StepCounter(StatefulWrapper[StepCounterState, Action, Obs]):
    """A wrapper that counts the steps of an episode, and changes nothing."""

    env: FuncEnv[Any, Action, Obs]

    def initial(self, key: jax.Array) -> StepCounterState:
        """Return the first state, with a count of 0."""
        return StepCounterState(env_state=self.env.initial(key), elapsed_steps=jnp.zeros((), jnp.int32))

    def transition(self, state: StepCounterState, action: Action, key: jax.Array) -> StepCounterState:
        """Return the next state, with the count increased by 1."""
        env_state = self.env.transition(state.env_state, action, key)
        return StepCounterState(env_state=env_state, elapsed_steps=state.elapsed_steps + 1)


class TimeLimit(StepCounter[Action, Obs]):
    """Truncates an episode at step number `max_episode_steps`, and at every later step.

    A step that is both terminal and the last one allowed reports both flags.

    Outside wrappers that perform several steps in one (`RepeatAction`, `MaxAndSkipObservation`) it counts the agent's
    actions. Inside them it counts the environment's steps, and ends such a series early. Of two limits, the one that
    is reached first truncates. Put it inside `TimeAwareObservation`, which shows the limit, and inside `Autoreset`.

    Args:
        env: the environment.
        max_episode_steps: at least 1. It is a parameter, so another limit does not recompile, and a batch may have
            different limits.

    Raises:
        TypeError: `max_episode_steps` is not an integer.
        ValueError: `max_episode_steps` is below 1, or has more than 31 bits.

    >>> import funcenv
    >>> env = TimeLimit(funcenv.make("CartPole-v1").unwrapped, max_episode_steps=1)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> bool(env.step(state, 0, funcenv.key(1))[1].truncated)
    True
    """

    max_episode_steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        limit: Any = self.max_episode_steps
        if isinstance(limit, int) and limit > MAX_COUNT:
            raise ValueError(
                f"max_episode_steps must be at most {MAX_COUNT}, got {limit}; leave the wrapper out for no limit"
            )
        dtype = limit.dtype if isinstance(limit, (jax.Array, np.ndarray)) else np.asarray(limit).dtype
        if dtype.kind not in "iu":
            raise TypeError(f"max_episode_steps must be an integer, got {limit!r}")
        require_at_least(1, "max_episode_steps", limit, remedy="leave the wrapper out for no limit")

    def truncated(self, state: StepCounterState) -> Bool[Array, ""]:
        """Return whether the limit is reached, or the environment inside truncates the episode."""
        limit = jnp.asarray(self.max_episode_steps, jnp.int32)
        return self.env.truncated(state.env_state) | (state.elapsed_steps >= limit)

"""Cut an episode off after a number of steps."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from funcenv.checks import require_at_least
from funcenv.func_env import Action, Obs
from funcenv.struct import PyTreeNode
from funcenv.wrappers.base import Wrapper


class TimeLimitState(PyTreeNode):
    """The inner state and the age of the episode."""

    env_state: Any
    elapsed_steps: Int[Array, ""]


class TimeLimit(Wrapper[TimeLimitState, Action, Obs]):
    """Truncates an episode at its `max_episode_steps`-th step, and at every step after it.

    A step that is both terminal and the last one allowed reports both flags.

    Outside wrappers that play several steps in one (`RepeatAction`, `MaxAndSkipObservation`) it counts the agent's
    actions; inside them it counts the environment's steps, and cuts such a series short. Of two limits the one that is
    reached first counts. Put it inside `TimeAwareObservation`, which shows the limit, and inside `Autoreset`.

    Args:
        env: the environment to limit.
        max_episode_steps: at least 1. A parameter, not a static choice: changing it does not recompile, and a batch
            may mix limits.

    Raises:
        TypeError: `max_episode_steps` is not an integer.
        ValueError: `max_episode_steps` is below 1.

    >>> import funcenv
    >>> env = TimeLimit(funcenv.make("CartPole-v1").unwrapped, max_episode_steps=1)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> bool(env.step(state, 0, funcenv.key(1))[1].truncated)
    True
    """

    max_episode_steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_integer("max_episode_steps", self.max_episode_steps)
        require_at_least(1, "max_episode_steps", self.max_episode_steps, remedy="leave the wrapper out for no limit")

    def inner(self, state: TimeLimitState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> TimeLimitState:
        """The first state, at age 0."""
        return TimeLimitState(env_state=self.env.initial(key), elapsed_steps=jnp.zeros((), jnp.int32))

    def transition(self, state: TimeLimitState, action: Action, key: jax.Array) -> TimeLimitState:
        """The inner transition, one step older."""
        env_state = self.env.transition(state.env_state, action, key)
        return TimeLimitState(env_state=env_state, elapsed_steps=state.elapsed_steps + 1)

    def truncated(self, state: TimeLimitState) -> Bool[Array, ""]:
        """Whether the limit is reached, or the inner environment truncates by itself."""
        return self.env.truncated(state.env_state) | (
            state.elapsed_steps >= jnp.asarray(self.max_episode_steps, jnp.int32)
        )


def _require_integer(name: str, value: Any) -> None:
    kind = value.dtype.kind if isinstance(value, (jax.Array, np.ndarray)) else np.asarray(value).dtype.kind
    if kind not in "iu":
        raise TypeError(f"{name} must be an integer, got {value!r}")

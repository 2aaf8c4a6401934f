"""Cut an episode off after a number of steps."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from funcenv.checks import require_at_least
from funcenv.func_env import Action, Obs
from funcenv.struct import PyTreeNode
from funcenv.wrappers.wrapper import Wrapper


class TimeLimitState(PyTreeNode):
    """The inner state and the age of the episode."""

    env_state: Any
    elapsed_steps: Int[Array, ""]


class TimeLimit(Wrapper[TimeLimitState, Action, Obs]):
    """Truncates an episode at its `max_episode_steps`-th step, and at every step after it.

    A step that is both terminal and the last one allowed reports both flags. Put it outside wrappers that change how
    many inner steps a step takes, so that it counts what the agent sees.

    Args:
        env: the environment to limit.
        max_episode_steps: at least 1. A parameter, not a static choice: changing it does not recompile, and a batch
            may mix limits.

    Raises:
        ValueError: `max_episode_steps` is below 1.

    >>> import funcenv
    >>> env = TimeLimit(funcenv.make("CartPole-v1").unwrapped, max_episode_steps=1)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> bool(env.step(state, 0, funcenv.key(1))[1].truncated)
    True
    """

    max_episode_steps: int

    def __post_init__(self) -> None:
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
        return self.env.truncated(state.env_state) | (state.elapsed_steps >= self.max_episode_steps)

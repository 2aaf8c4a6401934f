"""The environment inside all wrappers, stepped over the state of the whole."""

from __future__ import annotations

from typing import Any

import jax

from funcenv.adapters.engine.snapshot import innermost, with_innermost
from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.wrappers.base import Wrapper


class Innermost(Wrapper[Any, Any, Any]):
    """The environment inside all wrappers, over the state of the whole.

    A transition changes the innermost state only: a time limit neither counts the step nor ends the episode.

    >>> import funcenv
    >>> env = Innermost(funcenv.make("CartPole-v1", max_episode_steps=1))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 0, funcenv.key(1))
    >>> bool(timestep.truncated), int(state.elapsed_steps)
    (False, 0)
    """

    def __post_init__(self) -> None:
        """Accept any wrappers inside, because this one has no state of its own."""

    def inner(self, state: Any) -> Any:
        """Return the innermost state."""
        return innermost(state)

    def inner_env(self, state: Any) -> AnyEnv:
        """Return the innermost environment, with the parameters that the wrappers give it in this state."""
        env: Any = self.env
        while isinstance(env, Wrapper):
            env, state = env.inner_env(state), env.inner(state)
        found: AnyEnv = env
        return found

    def initial_after(self, last: Any, key: jax.Array) -> Any:
        """Return the first state of the whole after an episode."""
        return self.env.initial_after(last, key)

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        """Return the state of the whole after a step of the innermost environment."""
        return with_innermost(state, super().transition(state, action, key))

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        """Return the reward of the innermost environment."""
        return self.inner_env(state).reward(innermost(state), action, innermost(next_state))

    @property
    def observation_space(self) -> AnySpace:
        """Space of the innermost environment's observations."""
        return self.env.unwrapped.observation_space

    @property
    def action_space(self) -> AnySpace:
        """Space of the innermost environment's actions."""
        return self.env.unwrapped.action_space

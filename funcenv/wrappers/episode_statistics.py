"""Compute the return and the length of the current episode."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from funcenv.func_env import Action, Obs, placeholder_outcome
from funcenv.struct import PyTreeNode
from funcenv.wrappers.base import StatefulWrapper


class EpisodeStatisticsState(PyTreeNode):
    """The inner state and the totals of the episode so far."""

    env_state: Any
    episode_return: Float[Array, ""]
    episode_length: Int[Array, ""]


class EpisodeStatistics(StatefulWrapper[EpisodeStatisticsState, Action, Obs]):
    """Adds `episode_return` (sum of rewards) and `episode_length` (steps) to `info`.

    Both are running totals, which are final when the episode ends. Outside reward wrappers it sums the changed
    rewards, inside them the original ones. Outside `RepeatAction` it counts the agent's actions, inside the
    environment's steps. Of two in one stack, `info` holds the totals of the outer one. Put it inside `Autoreset`.
    `FuncVectorEnv` has the same totals without this wrapper.

    Args:
        env: the environment.

    >>> import funcenv
    >>> env = EpisodeStatistics(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 0, funcenv.key(1))
    >>> float(timestep.info["episode_return"]), int(timestep.info["episode_length"])
    (1.0, 1)
    """

    def initial(self, key: jax.Array) -> EpisodeStatisticsState:
        """Return the first state, with totals of 0."""
        env_state = self.env.initial(key)
        zero, _ = placeholder_outcome(self.env, env_state)
        return EpisodeStatisticsState(env_state=env_state, episode_return=zero, episode_length=jnp.zeros((), jnp.int32))

    def transition(self, state: EpisodeStatisticsState, action: Action, key: jax.Array) -> EpisodeStatisticsState:
        """Return the next state, with the reward added."""
        env_state = self.env.transition(state.env_state, action, key)
        reward = self.env.reward(state.env_state, action, env_state)
        return EpisodeStatisticsState(
            env_state=env_state, episode_return=state.episode_return + reward, episode_length=state.episode_length + 1
        )

    def state_info(self, state: EpisodeStatisticsState) -> dict[str, Any]:
        """Return the inner arrays and the running totals."""
        return {
            **self.env.state_info(state.env_state),
            "episode_return": state.episode_return,
            "episode_length": state.episode_length,
        }

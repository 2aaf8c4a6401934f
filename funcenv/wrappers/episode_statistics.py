"""Keep the return and the length of the running episode."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from funcenv.func_env import Action, Obs
from funcenv.struct import PyTreeNode
from funcenv.wrappers._placeholders import no_outcome
from funcenv.wrappers.base import Wrapper


class EpisodeStatisticsState(PyTreeNode):
    """The inner state and what the episode has earned so far."""

    env_state: Any
    episode_return: Float[Array, ""]
    episode_length: Int[Array, ""]


class EpisodeStatistics(Wrapper[EpisodeStatisticsState, Action, Obs]):
    """Adds `episode_return` (sum of rewards) and `episode_length` (steps) to `info`.

    Both are running totals, final when the episode ends. It counts the rewards of the environment it wraps: put it
    outside reward wrappers to count what the agent is paid, inside to count what the task pays. Outside `RepeatAction`
    it counts the agent's actions, inside the environment's steps. Of two in one stack the outer one is seen. Put it
    inside `Autoreset`. `FuncVectorEnv` keeps the same totals by itself.

    >>> import funcenv
    >>> env = EpisodeStatistics(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 0, funcenv.key(1))
    >>> float(timestep.info["episode_return"]), int(timestep.info["episode_length"])
    (1.0, 1)
    """

    def inner(self, state: EpisodeStatisticsState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> EpisodeStatisticsState:
        """The first state, with nothing earned."""
        env_state = self.env.initial(key)
        nothing, _ = no_outcome(self.env, env_state)
        return EpisodeStatisticsState(
            env_state=env_state, episode_return=nothing, episode_length=jnp.zeros((), jnp.int32)
        )

    def transition(self, state: EpisodeStatisticsState, action: Action, key: jax.Array) -> EpisodeStatisticsState:
        """The inner transition, with its reward added."""
        env_state = self.env.transition(state.env_state, action, key)
        reward = self.env.reward(state.env_state, action, env_state)
        return EpisodeStatisticsState(
            env_state=env_state, episode_return=state.episode_return + reward, episode_length=state.episode_length + 1
        )

    def state_info(self, state: EpisodeStatisticsState) -> dict[str, Any]:
        """The running totals, beside what the inner environment says."""
        return {
            **self.env.state_info(state.env_state),
            "episode_return": state.episode_return,
            "episode_length": state.episode_length,
        }

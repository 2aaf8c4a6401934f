"""Environments of JaxMARL (Rutherford et al., 2024), which have several agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from funcenv._compile.options import default_promotion
from funcenv.interop.gymnax import space_from_gymnax
from funcenv.interop.imported import ImportedEnv, ImportedState, Outcome, Source, identity_of, import_library
from funcenv.multi_agent import MultiAgentEnv
from funcenv.spaces import Dict
from funcenv.spaces.space import AnySpace

MINIMUM = 0, 2
_SPACES = "jaxmarl.environments.spaces"


class ImportedMultiAgentEnv(MultiAgentEnv[ImportedState], ImportedEnv):
    """The environment that `from_jaxmarl` returns: an `ImportedEnv` of several agents."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple(self.source.env.agents)

    @property
    def observation_spaces(self) -> Mapping[str, AnySpace]:
        """The space of each agent's observations."""
        return self._by_agent(self.source.observation_space)

    @property
    def action_spaces(self) -> Mapping[str, AnySpace]:
        """The space of each agent's actions."""
        return self._by_agent(self.source.action_space)

    def rewards(self, state: ImportedState, action: dict[str, Any], next_state: ImportedState) -> dict[str, Any]:
        """Return the reward of each agent."""
        del state, action
        rewards: dict[str, Any] = next_state.reward  # type: ignore[assignment]  # There is one for each agent.
        return rewards

    def terminals(self, state: ImportedState) -> dict[str, Any]:
        """Return whether the library says that the episode ended for an agent."""
        flags: dict[str, Any] = state.terminated  # type: ignore[assignment]  # There is one for each agent.
        return flags

    def transition_info(
        self, state: ImportedState, action: dict[str, Any], next_state: ImportedState
    ) -> dict[str, Any]:
        """Return the rewards of the agents and the library's info of the step."""
        return {**next_state.info, **super().transition_info(state, action, next_state)}

    def _by_agent(self, space: AnySpace) -> Mapping[str, AnySpace]:
        assert isinstance(space, Dict)  # from_jaxmarl makes one
        return space.spaces


@default_promotion()
def from_jaxmarl(env: Any, **arguments: Any) -> ImportedMultiAgentEnv:
    """Convert an environment of JaxMARL to a `MultiAgentEnv`.

    Its `reset` and `step_env` get the keys of `initial` and `transition`. The library does not tell time limits from
    other ends, so every end is a termination: `dones[agent]` that of an agent, `dones["__all__"]` that of all.

    Args:
        env: an environment, or its id, such as "MPE_simple_spread_v3".
        **arguments: those of `jaxmarl.make`, if `env` is an id.

    Raises:
        ModuleNotFoundError: JaxMARL is not installed.
        ImportError: its version is older than 0.2.
        ValueError: JaxMARL does not know the id.
        TypeError: a space has no counterpart.
    """
    jaxmarl, identity = import_library("jaxmarl", MINIMUM), identity_of(env, arguments)
    if isinstance(env, str):
        env = jaxmarl.make(env, **arguments)
    observation_space = Dict({agent: space_from_gymnax(env.observation_space(agent), _SPACES) for agent in env.agents})
    action_space = Dict({agent: space_from_gymnax(env.action_space(agent), _SPACES) for agent in env.agents})
    return ImportedMultiAgentEnv(None, _JaxMARL(env, observation_space, action_space, identity))


class _JaxMARL(Source):
    undrawn = "draws animations of whole episodes, and no image of a state"

    def reset(self, params: Any, key: jax.Array) -> Outcome:
        del params
        observation, state = self.env.reset(key)
        zeros, never = dict.fromkeys(self.env.agents, 0.0), dict.fromkeys(self.env.agents, np.False_)
        return Outcome(state, self._of_agents(observation), zeros, never)

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del params
        observation, state, rewards, dones, info = self.env.step_env(key, state, action)
        over = {agent: dones[agent] | dones["__all__"] for agent in self.env.agents}
        return Outcome(state, self._of_agents(observation), self._of_agents(rewards), over, info=info)

    def _of_agents(self, entries: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entries of the agents, without those of the whole."""
        return {agent: entries[agent] for agent in self.env.agents}

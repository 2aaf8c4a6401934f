"""Environments of several agents that act at the same time.

A multi-agent environment is a `FuncEnv` whose observations and actions are dictionaries by agent. So vector
environments, rollouts, wrappers, scenes and replays work as for one agent. What each agent gets is in `info`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.func_env import FuncEnv, State
from funcenv.spaces import Dict
from funcenv.spaces.space import AnySpace


class MultiAgentEnv(FuncEnv[State, dict[str, Any], dict[str, Any]]):
    """An environment whose agents act at the same time.

    A subclass defines `agents`, `observation_spaces`, `action_spaces`, `rewards` and `terminals`, all by agent, and
    `initial`, `transition` and `observation` as any environment; observations and actions are dictionaries by agent.

    A step returns the sum of the rewards, and a termination when all agents have terminated. `info["rewards"]` and
    `info["terminations"]` hold those of each agent. An agent that has terminated acts no more: its actions are ignored,
    which `transition` sees to. `funcenv.wrappers.OneAgent` is the environment of one of the agents, and
    `funcenv.to_pettingzoo` has PettingZoo's parallel interface.

    >>> import funcenv
    >>> env = funcenv.make("MultiAgent/CoinGame-v0")
    >>> env.unwrapped.agents
    ('red', 'blue')
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, {"red": 0, "blue": 1}, funcenv.key(1))
    >>> sorted(timestep.observation), sorted(timestep.info), sorted(timestep.info["rewards"])
    (['blue', 'red'], ['rewards', 'terminations'], ['blue', 'red'])
    """

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents. A class attribute `agents = ("red", "blue")` can set it."""
        raise NotImplementedError(f"{type(self).__name__} must define agents, a tuple of names")

    @property
    def observation_spaces(self) -> Mapping[str, AnySpace]:
        """The space of each agent's observations."""
        raise NotImplementedError(f"{type(self).__name__} must define the property observation_spaces")

    @property
    def action_spaces(self) -> Mapping[str, AnySpace]:
        """The space of each agent's actions."""
        raise NotImplementedError(f"{type(self).__name__} must define the property action_spaces")

    def rewards(self, state: State, action: dict[str, Any], next_state: State) -> dict[str, Float[Array, ""]]:
        """Return the reward of each agent; it depends on the arguments only."""
        raise NotImplementedError(f"{type(self).__name__} must define rewards(state, action, next_state)")

    def terminals(self, state: State) -> dict[str, Bool[Array, ""]]:
        """Return whether the MDP ended for each agent; never by default."""
        del state
        return {agent: jnp.zeros((), bool) for agent in self.agents}

    @property
    def observation_space(self) -> Dict:
        """The observations of all agents, by agent."""
        return Dict({agent: self.observation_spaces[agent] for agent in self.agents})

    @property
    def action_space(self) -> Dict:
        """The actions of all agents, by agent."""
        return Dict({agent: self.action_spaces[agent] for agent in self.agents})

    def reward(self, state: State, action: dict[str, Any], next_state: State) -> Float[Array, ""]:
        """Return the sum of the agents' rewards."""
        total: jax.Array = functools.reduce(operator.add, self.rewards(state, action, next_state).values())
        return total

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Return whether the MDP ended for all agents."""
        over: jax.Array = functools.reduce(operator.and_, self.terminals(state).values())
        return over

    def state_info(self, state: State) -> dict[str, Any]:
        """Return the terminations of the agents; a subclass with more to say extends the dictionary."""
        return {"terminations": self.terminals(state)}

    def transition_info(self, state: State, action: dict[str, Any], next_state: State) -> dict[str, Any]:
        """Return the rewards of the agents; a subclass with more to say extends the dictionary."""
        return {"rewards": self.rewards(state, action, next_state)}

"""One agent of a multi-agent environment, with the others as part of the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, AnyEnv, Obs
from funcenv.multi_agent import MultiAgentEnv
from funcenv.spaces import Space
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import StatefulWrapper, layers

OthersPolicy = Callable[[str, Any, jax.Array], Any]
"""From the name of an agent, its observation and a key to its action."""


class OneAgentState(PyTreeNode):
    """The inner state, and what all agents did in the step that led to it."""

    env_state: Any
    actions: dict[str, Any]  # zeros before the first step


class OneAgent(StatefulWrapper[OneAgentState, Action, Obs]):
    """The environment of one agent of several; the others act by a policy.

    Observations, actions, rewards and terminations are those of the agent, so whatever trains one agent trains it. An
    episode also ends when the environment inside ends. `info` is that of all agents.

    Args:
        env: a multi-agent environment, which may be wrapped.
        agent: the name of the agent.
        policy: a traceable function `(agent, observation, key) -> action` for the other agents; by default they draw
            actions from their spaces. It is static: another function compiles again.

    Raises:
        TypeError: there is no `MultiAgentEnv` inside, or one of its agents has been chosen.
        ValueError: there is no agent of that name.

    >>> import funcenv
    >>> env = OneAgent(funcenv.make("MultiAgent/CoinGame-v0"), "red", lambda agent, observation, key: 3)
    >>> env.action_space, env.observation_space.shape
    (Discrete(4), (4, 3, 3))
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 1, funcenv.key(1))
    >>> {agent: int(action) for agent, action in state.actions.items()}
    {'blue': 3, 'red': 1}
    """

    agent: str = field(pytree_node=False)
    policy: OthersPolicy | None = field(pytree_node=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        inside = acting_layer(self.env)
        if not isinstance(inside, MultiAgentEnv):
            raise TypeError(f"OneAgent wraps a multi-agent environment, got {type(inside).__name__}; leave it out")
        if self.agent not in inside.agents:
            raise ValueError(f"there is no agent {self.agent!r}; the agents are {', '.join(inside.agents)}")

    @property
    def observation_space(self) -> Space[Obs]:
        """The space of the agent's observations."""
        space: Space[Obs] = self.env.observation_space[self.agent]  # type: ignore[index]  # It is a Dict.
        return space

    @property
    def action_space(self) -> Space[Action]:
        """The space of the agent's actions."""
        space: Space[Action] = self.env.action_space[self.agent]  # type: ignore[index]  # It is a Dict.
        return space

    def initial(self, key: jax.Array) -> OneAgentState:
        """Return the first state."""
        actions = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self.env.action_space.abstract_member())
        return OneAgentState(self.env.initial(key), actions)

    def transition(self, state: OneAgentState, action: Action, key: jax.Array) -> OneAgentState:
        """Return the next state, after the action of the agent and those that the policy chooses for the others."""
        observation_key, *keys = jax.random.split(self.extra_key(key), 1 + len(state.actions))
        observations: Any = self.env.observation(state.env_state, observation_key)
        actions = {}
        for (agent, last), policy_key in zip(state.actions.items(), keys, strict=True):
            chosen = action if agent == self.agent else self._act(agent, observations[agent], policy_key)
            actions[agent] = jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), chosen, last)
        return OneAgentState(self.env.transition(state.env_state, actions, key), actions)

    def observation(self, state: OneAgentState, key: jax.Array) -> Obs:
        """Return what the agent observes."""
        observations: Any = self.env.observation(state.env_state, key)
        own: Obs = observations[self.agent]
        return own

    def reward(self, state: OneAgentState, action: Action, next_state: OneAgentState) -> Float[Array, ""]:
        """Return the agent's reward."""
        own: jax.Array = self.transition_info(state, action, next_state)["rewards"][self.agent]
        return own

    def terminal(self, state: OneAgentState) -> Bool[Array, ""]:
        """Return whether the MDP ended for the agent."""
        own: jax.Array = self.env.state_info(state.env_state)["terminations"][self.agent]
        return own | self.env.terminal(state.env_state)

    def transition_info(self, state: OneAgentState, action: Action, next_state: OneAgentState) -> dict[str, Any]:
        """Return the extra arrays of the step of all agents."""
        del action
        return self.env.transition_info(state.env_state, next_state.actions, next_state.env_state)

    def text(self, state: OneAgentState, action: Action | None = None) -> str:
        """Return a text rendering of the state and the actions of all agents."""
        return self.env.text(state.env_state, None if action is None else state.actions)

    def _act(self, agent: str, observation: Any, key: jax.Array) -> Any:
        if self.policy is None:
            return self.env.action_space[agent].sample(key)  # type: ignore[index]  # It is a Dict.
        return self.policy(agent, observation, key)


def acting_layer(env: AnyEnv) -> AnyEnv:
    """Return the layer that says who acts: a `OneAgent`, or else the innermost, which may be a `MultiAgentEnv`.

    >>> import funcenv
    >>> env = funcenv.make("MultiAgent/CoinGame-v0")
    >>> type(acting_layer(env)).__name__, type(acting_layer(OneAgent(env, "red"))).__name__
    ('CoinGame', 'OneAgent')
    """
    return next((layer for layer in layers(env) if isinstance(layer, OneAgent)), env.unwrapped)

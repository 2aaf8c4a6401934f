"""The bases of agents: policies that are pytrees of their parameters."""

from __future__ import annotations

from typing import Any

import jax
from flax import linen as nn
from flax.typing import VariableDict
from jaxtyping import Array, Bool, Float

from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.train.agents.distributions import Distribution, restrict, to_env_action
from funcenv.train.agents.features import normalize, to_features
from funcenv.train.agents.observations import adapt_env, legal_actions


class Agent(PyTreeNode, eq=False):
    """A policy, `agent(observation, key) -> action`, whose leaves are its parameters.

    `funcenv.rollout` and `funcenv.evaluate` therefore compile once for all agents that differ only in parameters.
    `jax.jit(agent)` makes them constants of the compiled function. Agents are compared by identity, because a function
    that `jax.jit` compiles must have a hash, and arrays have none.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(eq=False, **kwargs)


class NetworkAgent(Agent):
    """An agent with a network; a subclass defines `act`.

    It is deterministic unless `explore` is set.
    """

    params: VariableDict
    network: nn.Module = field(pytree_node=False)
    observation_space: AnySpace = field(pytree_node=False)
    action_space: AnySpace = field(pytree_node=False)
    explore: bool = field(pytree_node=False, default=False)
    observation_moments: Any = None  # those of the features, which they normalize if the configuration asks for it

    def features(self, observation: Any) -> Any:
        """Return the network's input for one observation: `[n]`, or `[height, width, channels]` for an image.

        `funcenv.train.agents.features` says what it is for other observations.
        """
        features = to_features(self.observation_space, observation)
        return features if self.observation_moments is None else normalize(self.observation_moments, features)

    def legal(self, observation: Any) -> Bool[Array, "num_actions"] | None:
        """Return which actions are legal for one observation; None if it has no mask."""
        return legal_actions(self.observation_space, observation)

    def act(self, features: Any, legal: Any, key: jax.Array) -> Any:
        """Return a raw action, which `to_env_action` makes a member of the action space."""
        raise NotImplementedError(f"{type(self).__name__} must define act(features, legal, key)")

    def adapt_env(self, env: AnyEnv) -> AnyEnv:
        """Return an environment with the observations that this policy takes; `evaluate` and `record` call it."""
        return adapt_env(env, self.observation_space)

    def raw_action(self, observation: Any, key: jax.Array) -> Any:
        """Return a raw action for one observation."""
        return self.act(self.features(observation), self.legal(observation), key)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation."""
        return to_env_action(self.action_space, self.raw_action(observation, key))


class ActorCriticAgent(NetworkAgent):
    """An agent whose network returns a `Distribution` over raw actions and the value of the state."""

    def policy_and_value(self, features: Any, legal: Any = None) -> tuple[Distribution, Float[Array, "*batch"]]:
        """Return the distribution over raw actions, those that are legal, and the value of the state."""
        output: Any = self.network.apply(self.params, features)
        policy, value = output
        return restrict(policy, legal), value

    def observe(self, observation: Any) -> tuple[Distribution, Float[Array, ""]]:
        """Return the distribution over raw actions and the value of the state for one observation."""
        return self.policy_and_value(self.features(observation), self.legal(observation))

    def policy(self, features: Any, legal: Any = None) -> Distribution:
        """Return the distribution over raw actions, those that are legal."""
        return self.policy_and_value(features, legal)[0]

    def value(self, features: Any) -> Float[Array, "*batch"]:
        """Return the value of the state."""
        return self.policy_and_value(features)[1]

    def act(self, features: Any, legal: Any, key: jax.Array) -> jax.Array:
        """Return a raw action: drawn from the policy if the agent explores, the most likely one otherwise."""
        policy = self.policy(features, legal)
        return policy.sample(key) if self.explore else policy.mode()

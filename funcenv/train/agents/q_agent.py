"""The agent of algorithms that learn action values, and how it explores."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_positive, require_probability
from funcenv.func_env import AnyEnv
from funcenv.moments import RunningMoments
from funcenv.train.actions import DISCRETE
from funcenv.train.agents.agent import NetworkAgent
from funcenv.train.agents.observations import hide_illegal
from funcenv.train.config import TrainConfig


@dataclasses.dataclass(frozen=True)
class EpsilonGreedy(TrainConfig):
    """The settings of exploration by random actions, whose probability falls linearly."""

    actions: ClassVar = (DISCRETE,)

    epsilon_start: float = 1.0
    """probability of a random action at the beginning"""
    epsilon_end: float = 0.05
    """probability of a random action in the end"""
    epsilon_fraction: float = 0.2
    """part of the run over which that probability falls, in (0, 1]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(epsilon_fraction=self.epsilon_fraction)
        require_probability(
            epsilon_start=self.epsilon_start, epsilon_end=self.epsilon_end, epsilon_fraction=self.epsilon_fraction
        )

    def epsilon(self, update: Int[Array, ""] | int) -> Float[Array, ""]:
        """Return the probability of a random action in update number `update`, counted from 0."""
        progress = jnp.minimum(update / self.num_updates / self.epsilon_fraction, 1.0)
        return self.epsilon_start + (self.epsilon_end - self.epsilon_start) * progress


class QAgent(NetworkAgent):
    """A policy that takes the action of the highest value, or with probability `epsilon` a random one."""

    epsilon: Any = 0.0  # a float, or an array without axes

    @classmethod
    def of(
        cls,
        config: Any,
        env: AnyEnv,
        params: Any,
        update: Int[Array, ""],
        explore: bool,
        moments: RunningMoments | None = None,
    ) -> QAgent:
        """Return the agent of some parameters; epsilon is that of the configuration if it explores, and 0 otherwise."""
        epsilon = config.epsilon(update) if explore else jnp.zeros(())
        network = config.make_network(env)
        return cls(params, network, env.observation_space, env.action_space, explore, moments, epsilon)

    def values(self, observation: Any) -> Float[Array, "num_actions"]:
        """Return the values of all actions for one observation; those of illegal actions are very low."""
        return self._values(self.features(observation), self.legal(observation))

    def act(self, features: Any, legal: Any, key: jax.Array) -> Int[Array, ""]:
        """Return the index of an action, which counts from 0."""
        return epsilon_greedy(self._values(features, legal), self.epsilon, key, legal)

    def _values(self, features: Any, legal: Any) -> Float[Array, "num_actions"]:
        values: Any = self.network.apply(self.params, features)
        return hide_illegal(values, legal)


class QuantileAgent(QAgent):
    """A `QAgent` whose network returns quantiles of the return of each action; the value is their mean."""

    def quantiles(self, observation: Any) -> Float[Array, "num_actions num_quantiles"]:
        """Return the quantiles of all actions for one observation."""
        quantiles: Any = self.network.apply(self.params, self.features(observation))
        return quantiles

    def _values(self, features: Any, legal: Any) -> Float[Array, "num_actions"]:
        quantiles: Any = self.network.apply(self.params, features)
        return hide_illegal(quantiles.mean(-1), legal)


def value_of(values: Float[Array, "batch num_actions"], action: Int[Array, "batch"]) -> Float[Array, "batch"]:
    """Return the values of some actions, given those of all."""
    # A product with a one-hot vector is cheaper than a gather, forwards and backwards.
    return (values * jax.nn.one_hot(action, values.shape[-1], dtype=values.dtype)).sum(-1)


def epsilon_greedy(
    values: Float[Array, "*batch num_actions"],
    epsilon: float | Float[Array, ""],
    key: jax.Array,
    legal: Bool[Array, "*batch num_actions"] | None = None,
) -> Int[Array, "*batch"]:
    """Return indices of the highest values, or with probability `epsilon` random ones.

    Args:
        values: Action values.
        epsilon: The probability of a random action.
        key: Determines the random actions.
        legal: From which actions random ones are drawn; all by default.

    >>> epsilon_greedy(jnp.array([[0.0, 2.0, 1.0]]), 0.0, jax.random.key(0)).tolist()
    [1]
    """
    explore_key, action_key = jax.random.split(key)
    *batch, num_actions = values.shape
    if legal is None:
        random = jax.random.randint(action_key, batch, 0, num_actions)
    else:
        random = jax.random.categorical(action_key, hide_illegal(jnp.zeros_like(values), legal)).astype(jnp.int32)
    return jnp.where(jax.random.uniform(explore_key, batch) < epsilon, random, jnp.argmax(values, -1).astype(jnp.int32))

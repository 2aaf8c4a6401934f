"""The agent of algorithms that learn action values, and how it explores."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.typing import VariableDict
from jaxtyping import Array, Bool, Float, Int

from funcenv.func_env import AnyEnv
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.train.distributions import to_env_action
from funcenv.train.networks import to_features
from funcenv.train.observations import adapt_env, hide_illegal, legal_actions


class QAgent(PyTreeNode):
    """A policy that takes the action of the highest value: `agent(observation, key) -> action`.

    The leaves of this pytree are the parameters and `epsilon`, the probability of a random action; a deterministic
    agent has epsilon 0.
    """

    params: VariableDict
    epsilon: Float[Array, ""]
    network: nn.Module = field(pytree_node=False)
    observation_space: AnySpace = field(pytree_node=False)
    action_space: AnySpace = field(pytree_node=False)

    # A function that jax.jit compiles must have a hash, which the fields of a dataclass, arrays, have not.
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def values(self, observation: Any) -> Float[Array, "num_actions"]:
        """Return the values of all actions for one observation; those of illegal actions are very low."""
        values: Any = self.network.apply(self.params, to_features(self.observation_space, observation))
        return hide_illegal(values, legal_actions(self.observation_space, observation))

    def index(self, observation: Any, key: jax.Array) -> Int[Array, ""]:
        """Return the index of an action, which counts from 0."""
        legal = legal_actions(self.observation_space, observation)
        return epsilon_greedy(self.values(observation), self.epsilon, key, legal)

    def adapt_env(self, env: AnyEnv) -> AnyEnv:
        """Return an environment with the observations that this policy takes; `evaluate` and `record` call it."""
        return adapt_env(env, self.observation_space)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return an action for one observation."""
        return to_env_action(self.action_space, self.index(observation, key))


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


def exploration_rate(progress: float | Float[Array, ""], start: float, end: float, fraction: float) -> Float[Array, ""]:
    """Return epsilon, which falls linearly from `start` to `end` over the first `fraction` of a run.

    Args:
        progress: The part of the run that is done, in [0, 1].
        start: Epsilon at the beginning.
        end: Epsilon from progress `fraction` on.
        fraction: The part of the run over which epsilon falls, in (0, 1].

    >>> [round(float(exploration_rate(progress, 1.0, 0.1, 0.5)), 3) for progress in (0.0, 0.25, 0.5, 1.0)]
    [1.0, 0.55, 0.1, 0.1]
    """
    return start + (end - start) * jnp.minimum(progress / fraction, 1.0)

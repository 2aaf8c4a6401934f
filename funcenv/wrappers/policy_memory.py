"""A memory for the policy that lasts as long as the episode."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_size
from funcenv.spaces import Box, Dict
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import StatefulWrapper
from funcenv.wrappers.transform_action import ActionWrapper


class PolicyMemoryState(PyTreeNode):
    """The inner state and the memory."""

    env_state: Any
    memory: Float[Array, "size"]


class PolicyMemory(
    StatefulWrapper[PolicyMemoryState, dict[str, Any], dict[str, Any]],
    ActionWrapper[PolicyMemoryState, dict[str, Any], dict[str, Any]],
):
    """Keeps a vector for the policy: every action writes it, and the next observation shows it.

    An action is a dict `{"action": ..., "memory": ...}`, an observation `{"memory": ..., "observation": ...}`. The
    memory is zero at the beginning of every episode. A recurrent policy is then a plain function
    `policy(observation, key) -> action`, which rollouts, evaluations and recordings take as any other. Put it outside
    everything but `Autoreset`.

    Args:
        env: the environment.
        size: the number of floats.

    Raises:
        ValueError: `size` is below 1.

    >>> import funcenv
    >>> env = PolicyMemory(funcenv.make("CartPole-v1"), size=2)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> timestep.observation["memory"].tolist()
    [0.0, 0.0]
    >>> state, timestep = env.step(state, {"action": 1, "memory": jnp.array([0.5, -3.0])}, funcenv.key(1))
    >>> timestep.observation["memory"].tolist()
    [0.5, -3.0]
    """

    size: int = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("size", self.size)

    def initial(self, key: jax.Array) -> PolicyMemoryState:
        """Return the first inner state and an empty memory."""
        return PolicyMemoryState(self.env.initial(key), jnp.zeros(self.size, np.float32))

    def transition(self, state: PolicyMemoryState, action: dict[str, Any], key: jax.Array) -> PolicyMemoryState:
        """Return the next inner state and the memory that the action wrote."""
        env_state = self.env.transition(state.env_state, self.inner_action(action), key)
        return PolicyMemoryState(env_state, jnp.asarray(action["memory"], np.float32))

    def observation(self, state: PolicyMemoryState, key: jax.Array) -> dict[str, Any]:
        """Return the inner observation and the memory."""
        return {"memory": state.memory, "observation": self.env.observation(state.env_state, key)}

    def inner_action(self, action: dict[str, Any]) -> Any:
        """Return the action of the environment inside."""
        return action["action"]

    @property
    def observation_space(self) -> AnySpace:
        """The inner space and the memory."""
        return Dict(memory=self._memory_space, observation=self.env.observation_space)

    @property
    def action_space(self) -> AnySpace:
        """The inner space and the memory."""
        return Dict(action=self.env.action_space, memory=self._memory_space)

    @property
    def _memory_space(self) -> Box:
        return Box(-np.inf, np.inf, (self.size,))

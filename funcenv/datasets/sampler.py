"""Transitions of a dataset on the device, and a pure function that draws minibatches of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.struct import PyTreeNode, field


class Transitions(NamedTuple):
    """Steps with the observations before and after them; every leaf has a leading axis `[batch]`."""

    observation: Any
    action: Any
    reward: Float[Array, "batch"]
    terminated: Bool[Array, "batch"]  # the value of what follows is 0
    truncated: Bool[Array, "batch"]  # the episode was cut off: bootstrap from `next_observation`
    next_observation: Any  # before any reset


class Sampler(PyTreeNode):
    """A pure function from a key to a minibatch of transitions, for use inside `jax.jit` and `jax.lax.scan`.

    It is a pytree of arrays. Pass it to a compiled function as an argument, so that the data are no part of the
    program. Each observation is held once, although two transitions show it.
    """

    observation: Any  # `[num_steps + num_episodes, ...]`
    action: Any  # `[num_steps, ...]`
    reward: Float[Array, "num_steps"]
    terminated: Bool[Array, "num_steps"]
    truncated: Bool[Array, "num_steps"]
    observation_row: Int[Array, "num_steps"]  # row of the observation before each step; the next row is the one after
    batch_size: int = field(pytree_node=False)

    @property
    def num_steps(self) -> int:
        """Number of transitions."""
        return int(self.reward.shape[0])

    def __call__(self, key: jax.Array) -> Transitions:
        """Draw `batch_size` transitions, each with the same probability, and with replacement."""
        return self.take(jax.random.randint(key, (self.batch_size,), 0, self.num_steps))

    def take(self, index: Int[Array, "batch"]) -> Transitions:
        """Return the transitions with these numbers, which must be in range."""
        row = jnp.asarray(self.observation_row)[index]

        def rows(tree: Any, index: jax.Array) -> Any:
            return jax.tree.map(lambda leaf: jnp.asarray(leaf)[index], tree)

        action, reward, terminated, truncated = rows((self.action, self.reward, self.terminated, self.truncated), index)
        before, after = rows(self.observation, row), rows(self.observation, row + 1)
        return Transitions(before, action, reward, terminated, truncated, after)

"""The running scale of rewards."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.moments import RunningMoments
from funcenv.struct import PyTreeNode, field
from funcenv.train.devices import PER_ENV, replicate_if_deterministic


class RewardScale(PyTreeNode):
    """The running standard deviation of the discounted return, which rewards are divided by.

    Engstrom et al., "Implementation matters in deep policy gradients", 2020.
    """

    discounted_return: Float[Array, "num_envs"] = field(metadata=PER_ENV)
    moments: RunningMoments

    @classmethod
    def empty(cls, reward: Float[Array, "num_envs"]) -> RewardScale:
        """Return the scale before the first step, in the dtype of the rewards."""
        return cls(jnp.zeros_like(reward), RunningMoments.empty(()))

    def scale(
        self, reward: Float[Array, "num_steps num_envs"], done: Bool[Array, "num_steps num_envs"], gamma: float
    ) -> tuple[RewardScale, Float[Array, "num_steps num_envs"]]:
        """Return the scale after some steps, and their rewards divided by it."""

        def step(discounted_return: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            reward, done = row
            discounted_return = gamma * discounted_return + reward
            return jnp.where(done, 0, discounted_return), discounted_return

        before = replicate_if_deterministic(self.discounted_return)
        discounted_return, returns = replicate_if_deterministic(jax.lax.scan(step, before, (reward, done)))
        moments = self.moments.update(returns)
        return RewardScale(discounted_return, moments), moments.scale(reward)

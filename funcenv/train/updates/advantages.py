"""Generalized advantage estimation (GAE)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def generalized_advantages(
    reward: Float[Array, "num_steps *batch"],
    value: Float[Array, "num_steps *batch"],
    final_value: Float[Array, "num_steps *batch"],
    terminated: Bool[Array, "num_steps *batch"],
    done: Bool[Array, "num_steps *batch"],
    gamma: float,
    gae_lambda: float,
) -> Float[Array, "num_steps *batch"]:
    """Compute the advantages of the actions taken.

    Schulman et al., "High-dimensional continuous control using generalized advantage estimation", 2016, equation 16.

        delta_t = r_t + gamma (1 - terminated_t) V(final observation_t) - V(observation_t)
        A_t     = delta_t + gamma lambda (1 - done_t) A_{t+1}

    The value after termination is 0. The value after truncation is that of the observation on which the episode was
    truncated, not that of the next episode's first observation.

    Args:
        reward: Reward of each step.
        value: Value of the observation before each step.
        final_value: Value of the observation that each step led to, before any reset.
        terminated: Whether the step terminated the episode.
        done: Whether the step ended the episode, by termination or truncation.
        gamma: Discount factor.
        gae_lambda: Weight of longer returns.

    >>> one, ended, not_ended = jnp.ones((1,)), jnp.array([True]), jnp.array([False])
    >>> float(generalized_advantages(one, 0 * one, 10 * one, ended, done=ended, gamma=0.9, gae_lambda=1.0)[0])
    1.0
    >>> float(generalized_advantages(one, 0 * one, 10 * one, not_ended, done=ended, gamma=0.9, gae_lambda=1.0)[0])
    10.0
    """
    delta = reward + gamma * jnp.where(terminated, 0, final_value) - value

    def step(following: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        delta, done = row
        advantage = delta + gamma * gae_lambda * jnp.where(done, 0, following)
        return advantage, advantage

    return jax.lax.scan(step, jnp.zeros_like(delta[0]), (delta, done), reverse=True, unroll=4)[1]

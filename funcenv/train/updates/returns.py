"""Targets for action values: lambda returns along a trajectory, and n-step returns of windows of one.

The value after termination is 0. After truncation it is the value of the observation on which the episode was
truncated, which a vector environment gives as `final_observation`. It is not that of the next episode's first one.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def lambda_returns(
    reward: Float[Array, "num_steps *batch"],
    next_value: Float[Array, "num_steps *batch"],
    terminated: Bool[Array, "num_steps *batch"],
    done: Bool[Array, "num_steps *batch"],
    gamma: float,
    lambda_: float,
) -> Float[Array, "num_steps *batch"]:
    """Compute the lambda return of each step.

    Sutton and Barto, "Reinforcement learning", 2018, section 12.8, with values that follow each step:

        G_t = r_t + gamma (1 - terminated_t) ((1 - lambda) V_t + lambda (G_{t+1}, or V_t if done_t))

    Args:
        reward: Reward of each step.
        next_value: Value of the observation that each step led to, before any reset.
        terminated: Whether the step terminated the episode.
        done: Whether the step ended the episode, by termination or truncation.
        gamma: Discount factor.
        lambda_: Weight of longer returns: 0 for one step, 1 for all rewards of the episode.

    >>> one, ended, not_ended = jnp.ones((1,)), jnp.array([True]), jnp.array([False])
    >>> [float(lambda_returns(one, 10 * one, terminated, ended, 0.9, 1.0)[0]) for terminated in (ended, not_ended)]
    [1.0, 10.0]
    """

    def step(following: jax.Array, row: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        reward, next_value, terminated, done = row
        mixture = (1 - lambda_) * next_value + lambda_ * jnp.where(done, next_value, following)
        target = reward + gamma * jnp.where(terminated, 0, mixture)
        return target, target

    return jax.lax.scan(step, next_value[-1], (reward, next_value, terminated, done), reverse=True, unroll=4)[1]


class NStepReturn(NamedTuple):
    """The start of a target: `reward + discount * value` of the observation that step number `last` led to."""

    reward: Float[Array, "*batch"]  # discounted sum over the steps of the window up to the end of an episode
    discount: Float[Array, "*batch"]  # a power of gamma; 0 after termination
    last: Int[Array, "*batch"]  # index of the last of these steps


def n_step_return(
    reward: Float[Array, "num_steps *batch"],
    terminated: Bool[Array, "num_steps *batch"],
    done: Bool[Array, "num_steps *batch"],
    gamma: float,
) -> NStepReturn:
    """Sum the rewards of a window of consecutive steps, up to the first end of an episode within it.

    Args:
        reward: Reward of each step.
        terminated: Whether the step terminated the episode.
        done: Whether the step ended the episode, by termination or truncation.
        gamma: Discount factor.

    >>> no = jnp.array([False, False, False])
    >>> n_step_return(jnp.array([1.0, 2.0, 4.0]), no, no, gamma=0.5)
    NStepReturn(reward=Array(3., dtype=float32), discount=Array(0.125, dtype=float32), last=Array(2, dtype=int32))
    >>> cut_off = jnp.array([False, True, False])
    >>> n_step_return(jnp.array([1.0, 2.0, 4.0]), no, cut_off, gamma=0.5)
    NStepReturn(reward=Array(2., dtype=float32), discount=Array(0.25, dtype=float32), last=Array(1, dtype=int32))
    """
    is_first = jnp.zeros_like(done[:1])
    belongs = ~jnp.concatenate([is_first, jnp.cumsum(done[:-1], axis=0) > 0])
    powers = (gamma ** jnp.arange(len(reward), dtype=reward.dtype)).reshape(-1, *(1,) * (reward.ndim - 1))
    last = belongs.sum(0, dtype=jnp.int32) - 1
    has_terminated = (terminated & belongs).any(0)
    return NStepReturn(
        reward=jnp.where(belongs, reward * powers, 0).sum(0),
        discount=jnp.where(has_terminated, 0, gamma * powers.ravel()[last]),
        last=last,
    )

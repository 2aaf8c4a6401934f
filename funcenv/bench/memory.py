"""Bytes that an environment takes: what is carried from step to step, and what the compiled rollout needs besides."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.random import key as new_key
from funcenv.rollout import random_policy, rollout
from funcenv.vector import FuncVectorEnv


@dataclasses.dataclass(frozen=True)
class Footprint:
    """Bytes for each environment of a vector environment."""

    state: float
    """of the vector state: the environment's own, its key, counters and running totals"""
    outputs: float | None
    """of what the compiled rollout returns, by XLA's account; None where the backend gives none"""
    temporaries: float | None
    """of the compiled rollout's working memory, by XLA's account"""


def footprint(venv: FuncVectorEnv[Any, Any, Any], num_steps: int = 100, impl: str | None = None) -> Footprint:
    """Bytes for each environment of a random-policy rollout that keeps no trajectory; compiles one, runs nothing.

    Args:
        venv: the environments.
        num_steps: length of the rollout. Nothing should depend on it: what is carried does not grow.
        impl: the random generator, as `funcenv.key` takes it.

    >>> import funcenv
    >>> bytes_per_env = footprint(FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs=64))
    >>> 16 <= bytes_per_env.state < 200
    True
    """
    key, policy = new_key(0, impl), random_policy(venv)

    def state(key: jax.Array) -> Any:
        return jax.tree.map(_plain, venv.reset(key)[0])

    leaves = jax.tree.leaves(jax.eval_shape(state, key))
    carried = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)

    def play(venv: FuncVectorEnv[Any, Any, Any], key: jax.Array) -> Any:
        return rollout(venv, policy, key, num_steps, collect=None)

    analysis = jax.jit(play).lower(venv, key).compile().memory_analysis()
    return Footprint(
        state=carried / venv.num_envs,
        outputs=None if analysis is None else analysis.output_size_in_bytes / venv.num_envs,
        temporaries=None if analysis is None else analysis.temp_size_in_bytes / venv.num_envs,
    )


def _plain(leaf: jax.Array) -> jax.Array:
    """Keys as the words that they are made of."""
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf

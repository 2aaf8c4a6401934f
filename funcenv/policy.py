"""Policies: what chooses actions in rollouts, evaluations and replays, and what they may offer beyond that."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from funcenv.func_env import AnyEnv
from funcenv.vector_step import call_key


class Policy(Protocol):
    """A function of one observation and a key; a pytree with parameters, or any function.

    It may also be an `AdaptsEnv` or a `DerivesKeys`.
    """

    def __call__(self, observation: Any, key: jax.Array, /) -> Any:
        """Return an action for one observation."""


@runtime_checkable
class AdaptsEnv(Protocol):
    """A policy that takes other observations than the environment gives, as agents with a memory do."""

    def adapt_env(self, env: AnyEnv) -> AnyEnv:
        """Return an environment with the observations that the policy takes."""


@runtime_checkable
class DerivesKeys(Protocol):
    """A policy that derives the key of each step in a way of its own."""

    def key_of_step(self, policy_key: jax.Array, step_index: jax.Array) -> jax.Array:
        """Return the key of step number `step_index`, a uint32 scalar."""


def require_policy(what: str, policy: Any) -> None:
    """Raise `TypeError` unless a policy can be called.

    >>> require_policy("rollout", "random")
    Traceback (most recent call last):
        ...
    TypeError: rollout takes a policy(observation, key) -> action, got 'random'; funcenv.random_policy(env) makes one
    """
    if isinstance(policy, jax.Array) and jnp.issubdtype(policy.dtype, jax.dtypes.prng_key):
        raise TypeError(f"{what} takes the policy before the key, got a key; change their order")
    if not callable(policy):
        remedy = "funcenv.random_policy(env) makes one"
        if hasattr(policy, "apply"):
            remedy = "write lambda observation, key: jnp.argmax(network.apply(params, observation))"
        elif hasattr(policy, "predict"):
            remedy = "a model of another framework plays environments of funcenv.adapters.gymnasium"
        elif isinstance(policy, os.PathLike) or (isinstance(policy, str) and "/" in policy):
            remedy = f"funcenv.load_policy({str(policy)!r}) loads that of a run"
        raise TypeError(f"{what} takes a policy(observation, key) -> action, got {policy!r}; {remedy}")


def adapted(env: AnyEnv, policy: Any) -> AnyEnv:
    """Return the environment that a policy asks for.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> adapted(env, funcenv.random_policy(env)) is env
    True
    """
    return policy.adapt_env(env) if isinstance(policy, AdaptsEnv) else env


def key_of_step(policy: Any, policy_key: jax.Array, step_index: jax.Array) -> jax.Array:
    """Return the key of a policy in step number `step_index`: `call_key(policy_key, step_index)`, or its own choice.

    >>> import funcenv
    >>> key = funcenv.key(0)
    >>> bool(key_of_step(None, key, 3) == call_key(key, 3))
    True
    """
    if isinstance(policy, DerivesKeys):
        return policy.key_of_step(policy_key, step_index)
    return call_key(policy_key, step_index)

"""Placeholder values: the reward and info reported where no step has happened."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import FuncEnv
from funcenv.wrappers.single import abstract


def no_outcome(env: FuncEnv[Any, Any, Any], env_state: Any) -> tuple[jax.Array, dict[str, Any]]:
    """A reward of 0 and zeros for `transition_info`, of the types that a step from this state gives.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> no_outcome(env, env.initial(funcenv.key(0)))
    (Array(0., dtype=float32), {})
    """

    def outcome(env_state: Any, action: Any) -> Any:
        both = env.reward(env_state, action, env_state), env.transition_info(env_state, action, env_state)
        return jax.tree.map(jnp.asarray, both)

    return zeros_of(jax.eval_shape(outcome, env_state, abstract(env.action_space)))


def zeros_of(shapes: Any) -> Any:
    """Zeros for a pytree of arrays or of `jax.ShapeDtypeStruct`s.

    >>> zeros_of(jax.ShapeDtypeStruct((2,), bool))
    Array([False, False], dtype=bool)
    """
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

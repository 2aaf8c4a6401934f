"""Helpers of the interfaces that other libraries have to functional environments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import AnyEnv, require_env
from funcenv.random.keys import is_key
from funcenv.registry import make


def env_of(what: str, env: AnyEnv | str, **arguments: Any) -> AnyEnv:
    """Return an environment, or make the one with this id.

    Args:
        what: the caller, for messages.
        env: an environment or its id.
        **arguments: those of `funcenv.make`, if `env` is an id; otherwise parameters to change.

    >>> env_of("to_gymnax", "CartPole-v1", gravity=1.6).gravity
    1.6
    """
    if isinstance(env, str):
        return make(env, **arguments)
    require_env(what, env)
    changed: AnyEnv = env.replace(**arguments) if arguments else env
    return changed


def typed_key(key: jax.Array) -> jax.Array:
    """Return a typed key of the same words as a legacy key, `uint32[2]`; a typed key as it is.

    >>> typed_key(jax.random.PRNGKey(3)) == jax.random.key(3, impl="threefry2x32")
    Array(True, dtype=bool)
    """
    key = jnp.asarray(key)
    if is_key(key):
        return key
    return jax.random.wrap_key_data(key, impl="threefry2x32")

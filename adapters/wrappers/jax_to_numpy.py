"""Environments that compute with JAX behind an interface of NumPy, under the names of Gymnasium's module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.wrappers.wrapper import Wrapper

__all__ = ["JaxToNumpy", "jax_to_numpy", "numpy_to_jax"]


def jax_to_numpy(value: Any) -> Any:
    """Return a value with NumPy arrays in place of JAX's, in dicts, lists and tuples as well.

    >>> jax_to_numpy({"position": jnp.zeros(2)})
    {'position': array([0., 0.], dtype=float32)}
    """
    return _mapped(lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, value)


def numpy_to_jax(value: Any) -> Any:
    """Return a value with JAX arrays in place of NumPy's and of numbers, in dicts, lists and tuples as well.

    >>> numpy_to_jax({"position": np.zeros(2, np.float32), "name": "left"})
    {'position': Array([0., 0.], dtype=float32), 'name': 'left'}
    """
    kinds = (bool, int, float, complex, np.ndarray, np.generic)
    return _mapped(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, kinds) else leaf, value)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the leaves of dicts, lists and tuples; unlike `jax.tree.map`, keep the order of keys."""
    if isinstance(value, dict):
        return {name: _mapped(function, part) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(function, part) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(function, part) for part in value)
    return function(value)


class JaxToNumpy(Wrapper[Any, Any, Any, Any]):
    """A wrapper around a handwritten environment whose `step` takes and returns JAX arrays.

    Actions become JAX arrays, and observations, infos and frames NumPy arrays. Environments of `funcenv.adapters.make`
    have an interface of NumPy already.

    Args:
        env: Environment to wrap.

    >>> from funcenv import adapters
    >>> class Drift(adapters.Env):
    ...     observation_space, action_space = adapters.spaces.Box(-1, 1, (2,)), adapters.spaces.Box(-1, 1, (2,))
    ...     def reset(self, *, seed=None, options=None):
    ...         return jnp.zeros(2), {}
    ...     def step(self, action):
    ...         return jnp.clip(action, -1, 1), action.sum(), action.max() > 1, jnp.array(False), {}
    >>> env = JaxToNumpy(Drift())
    >>> observation, info = env.reset()
    >>> env.step(np.float32([0.5, 2]))[:3]
    (array([0.5, 1. ], dtype=float32), 2.5, True)
    """

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        return super().step(numpy_to_jax(action))

    def _after_step(self, result: tuple[Any, Any, Any, Any, dict[str, Any]]) -> Any:
        observation, reward, terminated, truncated, info = result
        return jax_to_numpy(observation), float(reward), bool(terminated), bool(truncated), jax_to_numpy(info)

    def _after_reset(self, result: tuple[Any, dict[str, Any]]) -> Any:
        return jax_to_numpy(result)

    def render(self, mode: str | None = None) -> Any:
        """Render the inner environment."""
        return jax_to_numpy(super().render(mode))

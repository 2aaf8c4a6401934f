"""Batches of environments: which parameters differ from one environment to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.func_env import AnyEnv
from funcenv.struct import parameter_ndim


def parameter_axes(env: AnyEnv, num_envs: int, name: str = "num_envs") -> Any:
    """Return the batch axis of every parameter, 0 or None, as `jax.vmap` takes it in `in_axes`.

    A parameter is batched if it has one axis more than the parameter of a single environment (`parameter_ndim`).

    Args:
        env: an environment, or a batch of `num_envs`.
        num_envs: the size of the batch.
        name: what messages call that size.

    Raises:
        ValueError: a batched parameter has a leading axis other than `num_envs`.

    >>> import jax.numpy as jnp
    >>> from funcenv.envs import CartPole
    >>> axes = parameter_axes(CartPole(gravity=jnp.array([9.8, 1.6])), num_envs=2)
    >>> axes.gravity, axes.length
    (0, None)
    """

    def axis(path: tuple[Any, ...], leaf: Any) -> int | None:
        ndim = parameter_ndim(env, path)
        if np.ndim(leaf) == ndim:
            return None
        if np.ndim(leaf) != ndim + 1 or np.shape(leaf)[0] != num_envs:
            raise ValueError(
                f"parameter {jax.tree_util.keystr(path)} has shape {np.shape(leaf)}; a batch of environments needs "
                f"one value for each of {name}={num_envs}, along the first axis. If it is one array-valued "
                "parameter, declare it with funcenv.field(ndim=...)"
            )
        return 0

    return jax.tree_util.tree_map_with_path(axis, env)


def map_batched(env: AnyEnv, num_envs: int, pick: Callable[[Any], Any]) -> Any:
    """Apply `pick` to the batched parameters and keep the others.

    Args:
        env: an environment, or a batch of `num_envs`.
        num_envs: the size of the batch.
        pick: maps a parameter `[num_envs, ...]` to its replacement, such as the rows of some environments.

    >>> import jax.numpy as jnp
    >>> from funcenv.envs import CartPole
    >>> second = map_batched(CartPole(gravity=jnp.array([9.8, 1.5])), 2, lambda values: values[1])
    >>> float(second.gravity), second.length
    (1.5, 0.5)
    """
    axes = parameter_axes(env, num_envs)
    return jax.tree.map(
        lambda axis, leaf: leaf if axis is None else pick(leaf), axes, env, is_leaf=lambda axis: axis is None
    )


def single_env(env: AnyEnv, num_envs: int, i: int) -> Any:
    """Return environment i of a batch, with its own parameters as NumPy values.

    >>> from funcenv.envs import CartPole
    >>> single_env(CartPole(gravity=np.array([9.8, 1.5])), 2, 1).gravity.item()
    1.5
    """
    return map_batched(env, num_envs, lambda leaf: np.asarray(leaf)[i])

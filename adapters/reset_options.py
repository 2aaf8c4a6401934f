"""Reset options are parameters of the environment beneath all wrappers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.func_env import FuncEnv
from funcenv.parameters import parameter_axes


def with_options(func_env: FuncEnv[Any, Any, Any], options: Mapping[str, Any]) -> FuncEnv[Any, Any, Any]:
    """The same stack of wrappers around the innermost environment with other parameters.

    Raises:
        ValueError: an option that is not a parameter, or one that the environment refuses.

    >>> import funcenv
    >>> with_options(funcenv.make("CartPole-v1"), {"low": -0.1}).unwrapped.low
    -0.1
    """
    unwrapped = func_env.unwrapped
    names = list(unwrapped.__dataclass_fields__)
    for name in options:
        if name not in names:
            raise ValueError(
                f"reset option {name!r} is not a parameter of {type(unwrapped).__name__}; it has: {', '.join(names)}"
            )
    return _replace_unwrapped(func_env, options)


def with_batched_options(
    func_env: FuncEnv[Any, Any, Any],
    num_envs: int,
    present: Any,
    options: Mapping[str, Any],
    mask: np.ndarray[Any, Any],
) -> Any:
    """Other parameters where `mask` says so, each one value or one for each environment.

    Args:
        func_env: the usual environment, or a batch of `num_envs`.
        num_envs: how many there are.
        present: the batch, with every parameter as an array, whose rows are kept where the mask is False.
        options: the parameters that change; the others become the usual ones.
        mask: `[num_envs]`.

    Raises:
        ValueError: as for `with_options`; a compile-time choice; values with another leading axis.
    """
    chosen = with_options(func_env, options)
    usual_structure, structure = jax.tree.structure(func_env), jax.tree.structure(chosen)
    if structure != usual_structure:  # type: ignore[operator]  # JAX declares the type as optional
        raise ValueError(
            f"of the reset options {', '.join(options)} at least one is a compile-time choice, which all episodes of a "
            "vector environment share; build another one with it"
        )
    return jax.tree.map(
        lambda new, old: jnp.where(mask.reshape(-1, *(1,) * (new.ndim - 1)), new, old),
        batched(chosen, num_envs),
        present,
    )


def batched(env: FuncEnv[Any, Any, Any], num_envs: int) -> Any:
    """The environment with every parameter as an array `[num_envs, ...]`.

    >>> import funcenv
    >>> batched(funcenv.make("CartPole-v1"), 2).unwrapped.gravity
    Array([9.8, 9.8], dtype=float32)
    """

    def rows(axis: int | None, leaf: Any) -> jax.Array:
        array = np.asarray(leaf)
        return jnp.asarray(np.broadcast_to(array, (num_envs, *array.shape)) if axis is None else array)

    return jax.tree.map(rows, parameter_axes(env, num_envs), env, is_leaf=lambda axis: axis is None)


def _replace_unwrapped(func_env: FuncEnv[Any, Any, Any], changes: Mapping[str, Any]) -> FuncEnv[Any, Any, Any]:
    inside = getattr(func_env, "env", None)
    if inside is None:
        return func_env.replace(**changes)
    return func_env.replace(env=_replace_unwrapped(inside, changes))

"""Reset options: parameters of the innermost environment that hold for one episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.engine.parameters import as_parameter
from funcenv.func_env import AnyEnv
from funcenv.parameters import parameter_axes
from funcenv.struct import NDArray


def read_options(options: Any) -> dict[str, Any]:
    """Return the options of a reset as a dict of their own; None stands for none.

    >>> read_options(float("nan"))
    Traceback (most recent call last):
        ...
    TypeError: reset takes options as a dict, such as {"gravity": 1.6}, got nan; leave them out for the usual parameters
    """
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(
            f'reset takes options as a dict, such as {{"gravity": 1.6}}, got {options!r}; leave them out for the usual '
            "parameters"
        )
    return dict(options or {})


def with_options(func_env: AnyEnv, options: Mapping[str, Any], num_envs: int | None = None) -> AnyEnv:
    """Return the environment with other parameters of its innermost environment, inside the same wrappers.

    Args:
        func_env: the usual environment.
        options: the parameters that differ from the usual ones.
        num_envs: the number of environments, if an option may have a value for each.

    Raises:
        ValueError: an option is not a parameter, its value is not a number or an array of the parameter's shape, or the
            environment rejects it.

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
    checked = {name: as_parameter(unwrapped, name, value, num_envs) for name, value in options.items()}
    return _replace_unwrapped(func_env, checked)


def with_batched_options(
    func_env: AnyEnv,
    num_envs: int,
    present: Any,
    options: Mapping[str, Any],
    mask: NDArray,
) -> Any:
    """Return a batch of environments with other parameters where `mask` is True.

    Args:
        func_env: the usual environment, or a batch of `num_envs`.
        num_envs: the number of environments.
        present: the present batch, in which every parameter has a leading axis; kept where the mask is False.
        options: the parameters that differ from the usual ones, each one value or one value per environment.
        mask: `[num_envs]`.

    Raises:
        ValueError: as for `with_options`; or an option is a compile-time choice, or has another leading axis.
    """
    chosen = with_options(func_env, options, num_envs)
    usual_structure: Any = jax.tree.structure(func_env)
    if jax.tree.structure(chosen) != usual_structure:
        raise ValueError(
            f"of the reset options {', '.join(options)} at least one is a compile-time choice, which all episodes of a "
            "vector environment share; build another one with it"
        )
    return jax.tree.map(
        lambda new, old: jnp.where(mask.reshape(-1, *(1,) * (new.ndim - 1)), new, old),
        batch_parameters(chosen, num_envs),
        present,
    )


def batch_parameters(env: AnyEnv, num_envs: int) -> Any:
    """Return the environment with every parameter as an array `[num_envs, ...]`.

    >>> import funcenv
    >>> batch_parameters(funcenv.make("CartPole-v1"), 2).unwrapped.gravity
    Array([9.8, 9.8], dtype=float32)
    """

    def batch(axis: int | None, leaf: Any) -> jax.Array | None:
        if leaf is None:  # a parameter that is not there, as that of a library without parameters
            return None
        array = np.asarray(leaf)
        return jnp.asarray(np.broadcast_to(array, (num_envs, *array.shape)) if axis is None else array)

    return jax.tree.map(batch, parameter_axes(env, num_envs), env, is_leaf=lambda axis: axis is None)


def _replace_unwrapped(func_env: AnyEnv, changes: Mapping[str, Any]) -> AnyEnv:
    inner = getattr(func_env, "env", None)
    if inner is None:
        return func_env.replace(**changes)
    return func_env.replace(env=_replace_unwrapped(inner, changes))

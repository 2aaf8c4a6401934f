"""Parameters of each environment of a batch, as Gymnasium's vector environments read and set them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from funcenv.adapters.engine.parameters import is_parameter, read_attribute
from funcenv.func_env import AnyEnv
from funcenv.parameters import single_env


def attribute_of_each(func_env: AnyEnv, num_envs: int, name: str) -> tuple[Any, ...]:
    """Return an attribute of each environment, such as a parameter.

    Raises:
        AttributeError: The environments do not have the attribute.

    >>> from funcenv.envs import CartPole
    >>> attribute_of_each(CartPole(), 2, "gravity")
    (9.8, 9.8)
    """
    return tuple(read_attribute(single_env(func_env, num_envs, i), name) for i in range(num_envs))


def joined_values(func_env: AnyEnv, num_envs: int, name: str, values: Any) -> Any:
    """Return one value of a parameter that stands for the values of all environments.

    Args:
        func_env: The environment, or a batch.
        num_envs: Number of environments.
        name: Name of the parameter.
        values: One value for all, or a list, tuple or array with one for each environment.

    Raises:
        ValueError: There are more or fewer values than environments, or values of a static parameter differ.

    >>> from funcenv.envs import CartPole
    >>> joined_values(CartPole(), 2, "gravity", [9.8, 9.8]), joined_values(CartPole(), 2, "gravity", (9.8, 1.6))
    (9.8, array([9.8, 1.6]))
    """
    if not isinstance(values, (list, tuple)):
        return values
    if len(values) != num_envs:
        raise ValueError(f"set_attr takes one value, or one for each of num_envs={num_envs}, got {len(values)} values")
    first = values[0]
    if all(value is first or (type(value) is type(first) and np.array_equal(value, first)) for value in values):
        return first
    if is_parameter(func_env, name) and not _is_leaf(func_env, name):
        raise ValueError(
            f"{name} is static, so all environments of a batch share it, got {list(values)!r}; "
            "make a batch for each of its values"
        )
    return np.asarray(values)


def _is_leaf(func_env: AnyEnv, name: str) -> bool:
    """Return whether a parameter is a child of the pytree, so that programs take it as an argument."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(func_env)]
    return any(getattr(step, "name", "").lower() == name.lower() for path in paths for step in path)

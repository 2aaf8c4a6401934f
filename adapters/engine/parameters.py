"""Attributes and parameters of the functional environment behind a stateful one.

A stateful environment shows the public attributes of its functional environment, and of the wrappers around it, as
Gymnasium's environments show theirs: numbers and arrays of NumPy. It also has the environment's `stateful_attributes`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from funcenv.func_env import AnyEnv
from funcenv.hints import missing_name
from funcenv.struct import parameter_ndim
from funcenv.wrappers.base import Wrapper, layer_with, layers


class NoState:
    """Stands for a stateful environment where there is none, for the attributes that need one."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the attribute needs the {name} of a single stateful environment, made by make(id)")


NO_STATE = NoState()


def has_attribute(func_env: AnyEnv, name: str) -> bool:
    """Return whether the environment or a wrapper around it has a public attribute, or the stateful interface adds one.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> [has_attribute(env, name) for name in ("max_episode_steps", "gravity", "total_mass", "initial", "wind")]
    [True, True, True, False, False]
    >>> read_attribute(env, "action_names")
    ('push left', 'push right')
    """
    return _owner(func_env, name) is not None or name in func_env.unwrapped.stateful_attributes


def attribute_names(func_env: AnyEnv) -> set[str]:
    """Return the names for which `has_attribute` is true, without those in capitals."""
    names = [*(name for layer in layers(func_env) for name in dir(layer)), *func_env.unwrapped.stateful_attributes]
    return {name for name in names if not name.startswith("_") and has_attribute(func_env, name)}


def read_attribute(func_env: AnyEnv, name: str, view: Any = NO_STATE) -> Any:
    """Return an attribute of the outermost layer that has it, with NumPy arrays in place of JAX arrays.

    Args:
        func_env: Environment with its wrappers.
        name: Name of the attribute.
        view: What the environment's `stateful_attributes` read, a `StatefulView`.

    Raises:
        AttributeError: No layer has the attribute.

    >>> import funcenv
    >>> read_attribute(funcenv.make("CartPole-v1"), "gravity")
    9.8
    >>> read_attribute(funcenv.make("FrozenLake-v1", is_slippery=False), "P")[14][2]
    [(1.0, 15, 1.0, True)]
    """
    attributes = func_env.unwrapped.stateful_attributes
    if name in attributes:
        return attributes[name].read(view)
    owner = _owner(func_env, name)
    if owner is None:
        known = [one for layer in layers(func_env) for one in dir(type(layer))]
        raise AttributeError(missing_name(type(func_env.unwrapped).__name__, name, {}, known))
    value = getattr(owner, _spelling(owner, name))
    return np.asarray(value) if isinstance(value, jax.Array) else value


def is_parameter(func_env: AnyEnv, name: str) -> bool:
    """Return whether a name is that of a field of the environment or of a wrapper around it.

    >>> import funcenv
    >>> env = funcenv.make("Acrobot-v1")
    >>> [is_parameter(env, name) for name in ("link_mass_1", "LINK_MASS_1", "max_episode_steps", "env", "initial")]
    [True, True, True, False, False]
    """
    owner = _owner(func_env, name)
    return owner is not None and _spelling(owner, name) in _field_names(owner)


def with_parameters(func_env: AnyEnv, changes: Mapping[str, Any], num_envs: int | None = None) -> AnyEnv:
    """Return the environment with other parameters, each in the outermost layer that has it.

    Args:
        func_env: Environment with its wrappers.
        changes: New values by name; Acrobot's constants may be in capitals, as in Gymnasium.
        num_envs: If the environment is a batch, its size: a value may then be an array `[num_envs, ...]`.

    Raises:
        AttributeError: A name is not that of a parameter.
        ValueError: A value is not a number or an array of the parameter's shape, or the environment rejects it.

    >>> import funcenv
    >>> env = with_parameters(funcenv.make("CartPole-v1"), {"gravity": 1.6, "max_episode_steps": 9})
    >>> env.unwrapped.gravity, env.max_episode_steps
    (1.6, 9)
    >>> with_parameters(env, {"gravity": "low"})
    Traceback (most recent call last):
        ...
    ValueError: gravity of CartPole must be a number, got 'low'
    """
    checked = {}
    for name, value in changes.items():
        owner = _owner(func_env, name)
        if owner is None or not is_parameter(func_env, name):
            inner = owner or func_env.unwrapped
            raise AttributeError(
                f"{name} of {type(inner).__name__} is not a parameter, so it cannot be set; "
                f"the parameters are: {', '.join(_field_names(inner))}"
            )
        spelling = _spelling(owner, name)
        checked[spelling] = as_parameter(owner, spelling, value, num_envs)
    return func_env.replace(**checked)


def as_parameter(layer: AnyEnv, name: str, value: Any, num_envs: int | None = None) -> Any:
    """Return a value in the form of the parameter that it replaces, so that a compiled program accepts it.

    Raises:
        ValueError: The parameter is a number or an array, and the value is not one of its shape.

    >>> from funcenv.envs import CartPole
    >>> as_parameter(CartPole(), "gravity", np.int64(2))
    2.0
    """
    old = getattr(layer, name)
    entry = next(entry for entry in dataclasses.fields(layer) if entry.name == name)
    if not entry.metadata.get("pytree_node", True) or not _is_numeric(old):
        return value
    shape = np.shape(old)
    if num_envs is not None:
        shape = shape[np.ndim(old) - parameter_ndim(layer, (jax.tree_util.GetAttrKey(name),)) :]
    what = "a number" if shape == () else f"an array of shape {shape}"
    shapes = [shape]
    if num_envs is not None:
        value = np.asarray(value) if isinstance(value, (list, tuple)) else value
        what += f", or one for each of num_envs={num_envs}"
        shapes.append((num_envs, *shape))
    if not _is_numeric(value) or np.shape(value) not in shapes:
        raise ValueError(f"{name} of {type(layer).__name__} must be {what}, got {value!r}")
    if isinstance(old, (bool, int, float)) and np.shape(value) == ():
        value = np.asarray(value).item()
        return float(value) if isinstance(old, float) else value
    dtype = np.asarray(old).dtype
    return np.asarray(value, dtype) if dtype.kind == "f" and np.asarray(value).dtype.kind in "biu" else value


def _owner(func_env: AnyEnv, name: str) -> AnyEnv | None:
    """Return the outermost layer that adds a public attribute to those of every environment."""
    if name.startswith("_") or name in _COMMON or (name == "get_keys_to_action" and not func_env.get_keys_to_action()):
        return None
    return layer_with(func_env, name) or (layer_with(func_env, name.lower()) if name.isupper() else None)


def _spelling(layer: AnyEnv, name: str) -> str:
    """Return the name as the layer spells it; Gymnasium writes Acrobot's constants in capitals."""
    return name if hasattr(layer, name) else name.lower()


def _field_names(layer: AnyEnv) -> list[str]:
    return [entry.name for entry in dataclasses.fields(layer) if entry.name != "env"]


def _is_numeric(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.generic, np.ndarray, jax.Array)) and (
        np.asarray(value).dtype.kind in "biuf"
    )


# What every environment or wrapper has, but for what players read.
_COMMON = frozenset([*dir(Wrapper), "env"]) - {"action_names", "get_keys_to_action"}

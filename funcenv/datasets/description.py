"""Environments as JSON values: what they consist of, and the id that builds them again.

A description says which environment a dataset was recorded in: the classes of its layers, and their parameters. It is
compared, and never executed. Versions of an id fix its dynamics, so the source code is no part of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from funcenv.func_env import AnyEnv
from funcenv.names import import_path
from funcenv.random.keys import is_key
from funcenv.registry import EnvSpec, all_specs
from funcenv.struct import PyTreeNode

_MAX_TEXT = 1000  # characters of a value that is described by its text


def describe_env(env: AnyEnv) -> dict[str, Any]:
    """Return the classes and fields of an environment and its wrappers as JSON values.

    Numbers are rounded to 32 bits, large arrays are described by their digests, and functions by their names.

    >>> import funcenv
    >>> found = describe_env(funcenv.make("CartPole-v1", gravity=1.6))
    >>> found["class"], found["max_episode_steps"], found["env"]["class"], found["env"]["gravity"]
    ('TimeLimit', 500, 'CartPole', 1.6)
    """
    described: dict[str, Any] = _described(env)
    return described


def first_difference(one: Any, other: Any, name: str = "environment") -> str | None:
    """Return where two descriptions differ first, as text; None if they do not.

    >>> first_difference({"class": "CartPole", "gravity": 9.8}, {"class": "CartPole", "gravity": 1.6}, "env")
    'env.gravity is 9.8 there and 1.6 here'
    """
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        found = (first_difference(one[key], other[key], f"{name}.{key}") for key in one)
        return next((text for text in found if text is not None), None)
    shown = [value.get("class", value) if isinstance(value, dict) else value for value in (one, other)]
    return None if one == other else f"{name} is {shown[0]!s:.200} there and {shown[1]!s:.200} here"


def spec_of(env: AnyEnv) -> EnvSpec | None:
    """Return a specification that builds an environment again, or None.

    A class that is not registered is named as `module:name`, which `EnvSpec.from_json` imports only with `trust_code`.
    There is none for an environment that has wrappers besides a time limit, whose class cannot be imported by name, or
    whose parameters have no JSON form.

    >>> import funcenv
    >>> spec = spec_of(funcenv.make("CartPole-v1", gravity=1.6))
    >>> spec.id, dict(spec.kwargs)
    ('CartPole-v1', {'gravity': 1.6})
    """
    wanted = describe_env(env)
    for spec in _candidates(env):
        try:
            candidate = spec.make()
        except TypeError:  # a class with parameters that have no default
            continue
        if describe_env(candidate) == wanted:
            return spec
        changed = _with_parameters(spec, candidate, env)
        if changed is not None and describe_env(changed.make()) == wanted:
            return changed
    return None


def _candidates(env: AnyEnv) -> Iterator[EnvSpec]:
    """Yield the specifications of the innermost class; those with the same parameters come first."""
    inner = env.unwrapped
    owner = type(inner)
    names = owner, f"{owner.__module__}:{owner.__qualname__}"
    specs = [spec for spec in all_specs().values() if spec.entry_point in names and isinstance(spec.entry_point, str)]
    limit = getattr(env, "max_episode_steps", None)

    def distance(spec: EnvSpec) -> tuple[int, bool]:
        other = [
            name for name, value in spec.kwargs.items() if _described(getattr(inner, name, None)) != _described(value)
        ]
        return len(other), spec.max_episode_steps != limit

    yield from sorted(specs, key=distance)[:2]
    if not specs:
        with contextlib.suppress(ValueError):  # a class that cannot be imported has no name
            path = import_path(owner)
            yield EnvSpec(path, path)


def _with_parameters(spec: EnvSpec, candidate: AnyEnv, env: AnyEnv) -> EnvSpec | None:
    """Return a specification with the parameters and the time limit of an environment, or None."""
    kwargs = dict(spec.kwargs)
    for entry in dataclasses.fields(env.unwrapped):
        value = getattr(env.unwrapped, entry.name)
        if _described(value) == _described(getattr(candidate.unwrapped, entry.name)):
            continue
        value = value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
        if not isinstance(value, (bool, int, float, str)):
            return None
        kwargs[entry.name] = value
    limit = getattr(env, "max_episode_steps", None) if env is not env.unwrapped else None
    return dataclasses.replace(spec, kwargs=kwargs, max_episode_steps=limit)


def _described(value: Any) -> Any:
    """Return a value as JSON values, of which equal ones mean the same."""
    if isinstance(value, enum.Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) or (hasattr(value, "dtype") and np.ndim(value) == 0 and not is_key(value)):
        return _number(value)
    if isinstance(value, PyTreeNode) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        fields = {entry.name: _described(getattr(value, entry.name)) for entry in dataclasses.fields(value)}  # type: ignore[arg-type]  # a PyTreeNode is a dataclass
        return {"class": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(name): _described(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [_described(inner) for inner in value]
        return sorted(items, key=json.dumps) if isinstance(value, (set, frozenset)) else items
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        array = np.asarray(jax.random.key_data(value) if is_key(value) else value)
        digest = hashlib.sha256(array.tobytes()).hexdigest()
        return {"dtype": str(array.dtype), "shape": list(array.shape), "sha256": digest}
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    return repr(value)[:_MAX_TEXT]


def _number(value: Any) -> Any:
    """Return a scalar as a number that JSON can hold, or as text."""
    scalar = np.asarray(value).item()
    if isinstance(scalar, float):
        rounded = float(str(np.float32(scalar)))
        return rounded if math.isfinite(rounded) else str(rounded)
    return scalar

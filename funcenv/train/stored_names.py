"""The names of code in stored configurations, which are data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from funcenv.train.algorithm import algorithm_names, find_algorithm

_BUILT_IN_NETWORK = re.compile(r"funcenv\.train\.(agents|algorithms)\.\w+:make_\w+", re.ASCII)


def stored_code(algorithm: Any, values: Any) -> dict[str, str]:
    """Return the names of code in a stored algorithm and its configuration, by their fields.

    An algorithm that a package offers as an entry point is not code.

    Raises:
        ValueError: The algorithm is not a text, or a value cannot be part of a configuration.

    >>> stored_code("ppo", {"env_id": "CartPole-v1"}), stored_code("my_module", {"env_id": "CartPole-v1"})
    ({}, {'algorithm': 'my_module'})
    """
    if not isinstance(algorithm, str):
        raise ValueError(f"algorithm must be a name, got {algorithm!r}")
    if algorithm in algorithm_names():
        return config_code(values, find_algorithm(algorithm).Config)
    return {"algorithm": algorithm, **config_code(values)}


def config_code(values: Any, config_class: Any = None) -> dict[str, str]:
    """Return the names of code in the JSON form of a configuration, by their fields.

    Ids of environments are not code. Any text with a colon is, and any network that is not part of the package. The
    defaults of `config_class` are not code either, because they come from an installed package.

    Raises:
        ValueError: A value cannot be part of a configuration.

    >>> config_code({"env_id": "CartPole-v1", "env_params": {"gravity": 1.6}})
    {}
    >>> config_code({"env_id": "my_module:Maze", "network": "my_networks"})
    {'env_id': 'my_module:Maze', 'network': 'my_networks'}
    """
    if not isinstance(values, Mapping) or not isinstance(values.get("env_id", ""), str):
        raise ValueError(f"a configuration is an object whose env_id is a text, got {values!r}")
    params = values.get("env_params", {})
    if not isinstance(params, Mapping):
        raise ValueError(f"env_params must be an object, got {params!r}")
    fields = dataclasses.fields(config_class) if dataclasses.is_dataclass(config_class) else ()
    defaults = {one.name: one.default for one in fields}
    found = dict(_code("", {name: value for name, value in values.items() if value != defaults.get(name)}))
    for name, value in params.items():  # numbers, texts and flags are data
        if not isinstance(value, (bool, int, float, str)):
            found[f"env_params.{name}"] = repr(value)
    return found


def _code(field: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields that name code, and the names."""
    if isinstance(value, str):
        is_network = field == "network"
        if (is_network or ":" in value) and not (is_network and _BUILT_IN_NETWORK.fullmatch(value)):
            yield field, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _code(f"{field}.{name}" if field else str(name), inner)
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            yield from _code(f"{field}[{i}]", inner)

"""Parameters as values in JSON, which keeps tuples, and the texts in them that could name code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_TUPLE = "__tuple__"  # the key that marks a list in JSON as a tuple, which some parameters must be


def to_json_value(where: str, value: Any) -> Any:
    """Return a value in the form that `json` writes and `from_json_value` restores.

    Args:
        where: the name of the value, for the message of the error.
        value: None, a bool, a finite number, a string, or a list, tuple or dict (with strings as keys) of these.

    Raises:
        TypeError: the value, or one within it, is anything else.

    >>> to_json_value("size", (3, 4))
    {'__tuple__': [3, 4]}
    """
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, (list, tuple)):
        items = [to_json_value(f"{where}[{i}]", item) for i, item in enumerate(value)]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    if isinstance(value, dict) and all(isinstance(name, str) and name != _TUPLE for name in value):
        return {name: to_json_value(f"{where}[{name!r}]", item) for name, item in value.items()}
    raise TypeError(
        f"{where} is {value!r} of type {type(value).__name__}, which has no JSON form; "
        "use finite numbers, strings, lists, tuples and dicts"
    )


def from_json_value(value: dict[str, Any]) -> Any:
    """Restore an object in JSON, as an `object_hook` of `json.loads`.

    >>> from_json_value({"__tuple__": [3, 4]})
    (3, 4)
    """
    return tuple(value[_TUPLE]) if value.keys() == {_TUPLE} else value


def texts_with_colon(where: str, value: Any) -> dict[str, str]:
    """Return the texts in parameters that could name code, such as an id with a module, by where they are.

    >>> texts_with_colon("kwargs", {"env": "module:Name-v0", "size": 3})
    {"kwargs['env']": 'module:Name-v0'}
    """
    if isinstance(value, str):
        return {where: value} if ":" in value else {}
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    found: dict[str, str] = {}
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        found |= texts_with_colon(f"{where}[{name!r}]", inner)
    return found

"""The law of settings: the annotation of a field of a configuration says which values it takes."""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
import typing
from typing import Any


def require_settings(config: Any) -> None:
    """Raise unless every flag, integer and number of a configuration is one, and every number is finite.

    Raises:
        TypeError: A setting is of another kind than its annotation says.
        ValueError: A number is NaN or infinite.

    >>> @dataclasses.dataclass
    ... class Settings:
    ...     gamma: float = 0.99
    ...     normalize: bool = True
    >>> require_settings(Settings(gamma=1))
    >>> require_settings(Settings(normalize="False"))
    Traceback (most recent call last):
        ...
    TypeError: normalize must be True or False, got 'False'
    """
    annotations = typing.get_type_hints(type(config))
    for entry in dataclasses.fields(config):
        check = _CHECKS.get(annotations[entry.name])
        if check is not None:
            check(entry.name, getattr(config, entry.name))


def _require_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def _require_integer(name: str, value: Any) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}")
    operator.index(value)


def _require_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")


_CHECKS = {bool: _require_flag, int: _require_integer, float: _require_number}

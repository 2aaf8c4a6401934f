"""The law of settings: the annotation of a field of a configuration says which values it takes."""

from __future__ import annotations

import dataclasses
import math
import numbers
import types
import typing
from typing import Annotated, Any, Literal

from funcenv.checks import require_one_of

_NAMES = {bool: "True or False", int: "an integer", float: "a number", str: "text", types.NoneType: "None"}


def require_settings(config: Any) -> None:
    """Raise unless every setting of a configuration is of the kind that its annotation says.

    Annotations may be `bool`, `int`, `float`, `str`, a `Literal`, a tuple of any length, a dict, or a union of them.
    A field of any other annotation takes anything. A function stands for the text that names it, but not where the text
    is annotated as the name of something else, such as `Annotated[str, "FILE"]`.

    Raises:
        TypeError: A setting is of another kind than its annotation says.
        ValueError: A number is NaN or infinite, or a choice is not one of those of the `Literal`.

    >>> @dataclasses.dataclass
    ... class Settings:
    ...     gamma: float = 0.99
    ...     normalize: bool = True
    ...     hidden_sizes: tuple[int, ...] = (64, 64)
    >>> require_settings(Settings(gamma=1))
    >>> require_settings(Settings(normalize="False"))
    Traceback (most recent call last):
        ...
    TypeError: normalize must be True or False, got 'False'
    >>> require_settings(Settings(hidden_sizes=64))
    Traceback (most recent call last):
        ...
    TypeError: hidden_sizes must be a tuple of integers, such as (64, 64), got 64 of type int
    """
    annotations = typing.get_type_hints(type(config), include_extras=True)
    for entry in dataclasses.fields(config):
        _require_setting(entry.name, annotations[entry.name], getattr(config, entry.name))


def _require_setting(name: str, kind: Any, value: Any) -> None:
    if typing.get_origin(kind) is Literal:
        require_one_of(name, value, typing.get_args(kind))
    elif not _is_of(kind, value):
        shown = repr(value) if kind is bool or value is None else f"{value!r} of type {type(value).__name__}"
        raise TypeError(f"{name} must be {_name(kind)}, got {shown}")
    elif _is_number(value) and not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def _is_of(kind: Any, value: Any) -> bool:
    """Return whether a value is of the kind that an annotation says."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return isinstance(value, args[0])
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(one, value) for one in args)
    if origin is tuple and args[1:] == (...,):
        return isinstance(value, tuple) and all(_is_of(args[0], one) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(_is_of(args[0], key) for key in value)
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is float:
        return _is_number(value)
    if kind is str:
        # Or a function or a class, which a run names by its module; a space can be called, and has no name.
        return isinstance(value, str) or (callable(value) and hasattr(value, "__qualname__"))
    return not isinstance(kind, type) or kind not in _NAMES or isinstance(value, kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _name(kind: Any) -> str:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return f"{_NAMES[args[0]]} ({args[1]})"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_name(one) for one in args)
    if origin is tuple:
        example = " such as (64, 64)" if args[0] is int else ""
        return f"a tuple of {_name(args[0]).partition(' ')[2]}s,{example}".rstrip(",")
    return "a dict of parameters and their values" if origin is dict else _NAMES[kind]

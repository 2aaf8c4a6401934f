"""Functions, classes and modules by the text that names them, such as `"module:name"`.

This is the only place where a text becomes code. What a user types or passes is the user's own word, and is imported.
What a file says is data: `require_trusted` refuses names in it that are not registered, before anything is imported.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any


class UntrustedCodeError(ValueError):
    """A file names code that is not registered, and nobody said that it may run."""


def import_path(target: Any) -> str:
    """Return the `"module:name"` from which `import_object` gets a function or class.

    Raises:
        ValueError: It cannot be imported by that name, for example because it is a lambda.

    >>> import math
    >>> import_path(math.sqrt)
    'math:sqrt'
    """
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", "?")
    try:
        if import_object(f"{module}:{name}") is target:
            return f"{module}:{name}"
    except ValueError:
        pass
    raise ValueError(f"{target!r} cannot be imported by name; define it at the top level of a module")


def import_object(path: str) -> Any:
    """Import `"module"`, or an attribute of one, `"module:name"`.

    Raises:
        ValueError: There is no such module or attribute, or the module raises an error.

    >>> import_object("math:sqrt")(4.0)
    2.0
    """
    module, _, name = path.partition(":")
    try:
        found = import_module(module)
        return getattr(found, name) if name else found
    except (ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"{path!r} cannot be imported ({error}); write it as module:name") from error


def import_module(name: str) -> ModuleType:
    """Import a module of a user.

    Raises:
        ModuleNotFoundError: There is none of this name.
        ValueError: The module raises an error, or leaves the interpreter; the message names the line.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise
    except (Exception, SystemExit) as error:
        place = f"{error.filename}:{error.lineno}" if isinstance(error, SyntaxError) else _last_line(error)
        raise ValueError(f"the module {name} cannot be imported: {place}: {type(error).__name__}: {error}") from error


def require_builder(path: str, found: Any) -> None:
    """Raise `TypeError` unless a name stands for a class or a function that is written in Python.

    Built-in functions, such as `os.system`, build no environment, and are refused before they are called.

    >>> import os
    >>> require_builder("os:system", os.system)
    Traceback (most recent call last):
        ...
    TypeError: os:system is a builtin_function_or_method, which builds no environment; name a class or a function
    """
    if not isinstance(found, (type, FunctionType)) and not isinstance(
        getattr(found, "func", None), (type, FunctionType)
    ):
        raise TypeError(f"{path} is a {type(found).__name__}, which builds no environment; name a class or a function")


def require_trusted(source: str, names: Mapping[str, str], trust_code: bool) -> None:
    """Raise `UntrustedCodeError` if a file names code and is not trusted; say what is imported if it is.

    Args:
        source: The file, for the message.
        names: The names of code, by the fields that hold them.
        trust_code: Whether the user said that this code may run.

    >>> require_trusted("run/config.json", {}, trust_code=False)
    >>> require_trusted("run/config.json", {"env_id": "os:system"}, trust_code=False)
    Traceback (most recent call last):
        ...
    funcenv.names.UntrustedCodeError: run/config.json names code that is not registered: env_id 'os:system'. ...
    """
    if not names:
        return
    shown = ", ".join(f"{field} {name!r}" for field, name in names.items())
    if not trust_code:
        raise UntrustedCodeError(
            f"{source} names code that is not registered: {shown}. Importing it would run it; if you trust whoever "
            "wrote this file, pass --trust-code (in Python, trust_code=True)"
        )
    print(f"importing what {source} names: {shown}", file=sys.stderr)


def is_printable(value: Any) -> bool:
    r"""Return whether the texts of a JSON value hold no control characters, which could steer a terminal.

    >>> is_printable({"env_id": "CartPole-v1", "sizes": [1, "a"]}), is_printable("\x1b[2J")
    (True, False)
    """
    if isinstance(value, Mapping):
        return all(map(is_printable, value)) and all(map(is_printable, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(is_printable, value))
    return not isinstance(value, str) or value.isprintable()


def _last_line(error: BaseException) -> str:
    """Return the file and line that raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"

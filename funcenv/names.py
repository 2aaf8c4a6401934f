"""Code by the text that names it, such as `"module:name"`: the only place where stored or typed names become objects.

Names that a user types are imported. Names in a file, such as the configuration of a run, a policy or a specification
in JSON, are data: `require_trust` refuses those that would import code, before anything is imported.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from types import BuiltinFunctionType, ModuleType
from typing import Any

from funcenv.origin import describe_error
from funcenv.printable import printable


class UntrustedCodeError(ValueError):
    """A file names code that is not part of an installed package's registry, and nobody vouches for it."""


def import_module(name: str) -> ModuleType:
    """Import a module.

    Raises:
        ModuleNotFoundError: There is no such module.
        ImportError: The module raises an exception; the message names the line.
        ValueError: The text is not the name of a module.

    >>> import_module("math").sqrt(4.0)
    2.0
    """
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"{name!r} is not the name of a module; write code as module:name")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise
    except (Exception, SystemExit) as error:
        raise ImportError(f"the module {name} cannot be imported: {describe_error(error)}", name=name) from error


def import_object(path: str) -> Any:
    """Import `"module"`, or an attribute of one, `"module:name"`.

    Raises:
        ValueError: There is no such module or attribute.
        ImportError: The module raises an exception; the message names the line.

    >>> import_object("math:sqrt")(4.0)
    2.0
    """
    module, _, name = path.partition(":")
    try:
        found = import_module(module)
        return getattr(found, name) if name else found
    except (ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"{path!r} cannot be imported ({error}); write it as module:name") from error


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


def require_builder(name: str, found: Any, kind: str = "environment") -> None:
    """Raise unless an object can be a class of environments, or a function that builds one; nothing is called.

    Args:
        name: The name of the object, for messages.
        found: The object.
        kind: What it builds, `"environment"` or `"network"`.

    Raises:
        TypeError: The object is built into Python, belongs to its standard library, or is a class of something else.

    >>> import os
    >>> require_builder("os:system", os.system)
    Traceback (most recent call last):
        ...
    TypeError: os:system is not an environment: it is a function of Python itself; name a class, or a function that...
    """
    target = found
    while isinstance(target, functools.partial):
        target = target.func
    module = str(getattr(target, "__module__", None) or type(target).__module__).partition(".")[0]
    remedy = f"name a class, or a function that builds the {kind}"
    article = "an" if kind[0] in "aeiou" else "a"
    if isinstance(target, BuiltinFunctionType) or module in sys.stdlib_module_names:
        sort = "class" if isinstance(target, type) else "function"
        raise TypeError(f"{name} is not {article} {kind}: it is a {sort} of Python itself; {remedy}")
    if not callable(target):
        raise TypeError(f"{name} is not {article} {kind}, but {target!r}; {remedy}")
    is_env_class = callable(getattr(target, "reset", None)) and callable(getattr(target, "step", None))
    if kind == "environment" and isinstance(target, type) and not is_env_class:
        raise TypeError(f"{name} is not an environment: the class has no reset and step; {remedy}")


def require_trust(where: str, names: Mapping[str, str], trust_code: bool) -> None:
    """Raise if a file names code and is not trusted; say what is going to be imported if it is.

    Args:
        where: The file, for messages.
        names: The names of code in the file, by the fields that hold them.
        trust_code: Whether the user trusts whoever made the file.

    Raises:
        UntrustedCodeError: There are names, and `trust_code` is false.

    >>> require_trust("config.json", {"env_id": "lab:Maze"}, trust_code=False)
    Traceback (most recent call last):
        ...
    funcenv.names.UntrustedCodeError: config.json names code, env_id 'lab:Maze', which is imported only from ...
    """
    if not names:
        return
    listed = printable(", ".join(f"{field} {name!r}" for field, name in names.items()))
    if not trust_code:
        raise UntrustedCodeError(
            f"{where} names code, {listed}, which is imported only from runs that you made on this machine; if you "
            "trust whoever made it, add --trust-code (in Python trust_code=True)"
        )
    _announce(f"{printable(where)}: importing and running {listed}, as trust_code asks")


@functools.cache
def _announce(text: str) -> None:
    """Print a line to standard error, once in a process."""
    print(text, file=sys.stderr, flush=True)

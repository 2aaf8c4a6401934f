"""Functions, classes and modules by the text that names them, such as `"module:name"`."""

from __future__ import annotations

import importlib
from typing import Any


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
        ValueError: There is no such module or attribute.

    >>> import_object("math:sqrt")(4.0)
    2.0
    """
    module, _, name = path.partition(":")
    try:
        found = importlib.import_module(module)
        return getattr(found, name) if name else found
    except (ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"{path!r} cannot be imported ({error}); write it as module:name") from error

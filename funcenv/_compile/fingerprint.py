"""Digests of values and of the code that they name, by which equal programs are found.

A digest is that of a pickle which is never read again. Code enters by its name, and only the code of this package and
of the packages below it has one, because `surroundings` says when that code changes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import io
import marshal
import os
import pathlib
import pickle
import sys
import types
from typing import Any

from funcenv._compile.cache_folder import processor
from funcenv._compile.switch import is_plain
from funcenv._jax import config

_CHARACTERS = 40  # of SHA-256
_NAMED_PACKAGES = ("funcenv", "jax", "jaxlib", "numpy", "optax", "flax")
_IRRELEVANT_SETTINGS = ("cache", "log", "traceback", "transfer_guard", "dump_ir", "pprint")
_RELEVANT_VARIABLES = ("XLA_", "FUNCENV_", "PJRT_")


def fingerprint(value: Any) -> str | None:
    """Return a digest of a value, the same in every process, or None if it holds code of somebody else.

    >>> fingerprint((1, "a")) == fingerprint((1, "a")) != fingerprint((2, "a"))
    True
    >>> fingerprint(type("Maze", (), {"__module__": "my_module"})) is None
    True
    """
    described = io.BytesIO()
    describer = _Describer(described)
    describer.fast = True  # so that equal parts need not be one object
    try:
        describer.dump(value)
    except (pickle.PicklingError, TypeError, AttributeError, NotImplementedError, ValueError, RecursionError):
        return None  # Something in it cannot be pickled, or is code of somebody else.
    return hashlib.sha256(described.getvalue()).hexdigest()[:_CHARACTERS]


def surroundings() -> tuple[Any, ...]:
    """Return what programs depend on besides their own parts."""
    settings = [
        (name, str(getattr(config, name, None)))
        for name in sorted(config.values)
        if not any(word in name for word in _IRRELEVANT_SETTINGS)
    ]
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith(_RELEVANT_VARIABLES))
    return settings, variables, is_plain(), _versions()


@functools.cache
def _versions() -> tuple[Any, ...]:
    """Return the version of Python and of each named package, and a digest of this one's source."""
    versions = []
    for name in _NAMED_PACKAGES[1:]:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append((name, importlib.metadata.version(name)))
    return sys.version, versions, processor(), _source_digest(pathlib.Path(__file__).parent.parent)


def _source_digest(package: pathlib.Path) -> str:
    """Return a digest of all modules of a package; `adapters` and `envs` may be links."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(package, followlinks=True):
        folders.sort()
        for name in sorted(name for name in files if name.endswith(".py")):
            path = pathlib.Path(parent, name)
            digest.update(f"{path.relative_to(package)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


class _Describer(pickle.Pickler):
    """A pickler for descriptions, which are compared and never read: it names code, or refuses to."""

    def reducer_override(self, value: Any) -> Any:
        """Return how a value is pickled, `NotImplemented` for the usual way."""
        if isinstance(value, types.ModuleType):
            _require_named(value.__name__)
            return importlib.import_module, (value.__name__,)
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
            _require_named(value.__module__)
        if isinstance(value, types.FunctionType) and "<" in value.__qualname__:  # a lambda, or made by a function
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            parts = value.__module__, value.__qualname__, marshal.dumps(value.__code__), cells, value.__defaults__
            return tuple, (parts,)
        if any(base.__module__ == "flax.linen.module" for base in type(value).__mro__):  # has a number of its own, too
            return tuple, ((type(value), {name: getattr(value, name) for name in type(value).__dataclass_fields__}),)
        return NotImplemented


def _require_named(module: str | None) -> None:
    root = str(module).partition(".")[0]
    if root not in _NAMED_PACKAGES and root not in sys.stdlib_module_names and root not in sys.builtin_module_names:
        raise pickle.PicklingError(f"code of {module!r} has no name here")

"""Compiled programs in files, which a machine with the devices loads and runs without compiling."""

from __future__ import annotations

import os
import pathlib
import pickle
from typing import Any

import jax
from jax.experimental import serialize_executable

from funcenv.files import write_bytes
from funcenv.names import UntrustedCodeError
from funcenv.signatures import SEAL_BYTES, sealed, unsealed

SUFFIX = ".program"

_KIND = "program for an accelerator"  # of what is sealed


def save(path: str | os.PathLike[str], compiled: Any) -> None:
    """Write a compiled program to a file, with the structures of its arguments and results.

    Args:
        path: the file.
        compiled: what `compile_env` or `compile_update(...)` returns.
    """
    contents = pickle.dumps(serialize_executable.serialize(compiled))
    write_bytes(pathlib.Path(path), sealed(_KIND, contents) or bytes(SEAL_BYTES) + contents)


def load(path: str | os.PathLike[str], *, trust_code: bool = False) -> Any:
    """Return a program that `save` wrote, ready to be called with arrays like those that it was compiled for.

    The versions of jax, jaxlib and the devices' compiler must be those that wrote it, and the devices those that it was
    described for.

    Args:
        path: the file.
        trust_code: also load files that another user or machine wrote. Such a file can run any code.

    Raises:
        funcenv.names.UntrustedCodeError: Somebody else wrote the file, or it was changed.
        ValueError: The devices are not here, or another version wrote the file.
    """
    file = pathlib.Path(path).read_bytes()
    contents = unsealed(_KIND, file) or (file[SEAL_BYTES:] if trust_code else None)
    if contents is None:
        raise UntrustedCodeError(
            f"{path} was written by somebody else or on another machine, and programs can run any code; "
            "give trust_code=True if you trust who wrote it"
        )
    program, in_tree, out_tree = pickle.loads(contents)
    try:
        return serialize_executable.deserialize_and_load(program, in_tree, out_tree)
    except (RuntimeError, ValueError, KeyError, IndexError, pickle.UnpicklingError) as error:
        raise ValueError(
            f"{path} cannot be loaded for {jax.device_count()} devices of kind {jax.devices()[0].device_kind!r}: "
            f"{str(error).splitlines()[0] if str(error) else type(error).__name__}; load it on the devices that it was "
            "compiled for, with the versions that compiled it"
        ) from error

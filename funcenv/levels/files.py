"""Levels as files: arrays by name in the format of safetensors, and what they belong to as metadata."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from funcenv.files import write_bytes
from funcenv.struct import NDArray

FORMAT = "funcenv levels 1"
"""The version of the format, under "format"."""


def write_arrays(path: Any, arrays: Mapping[str, Any], spec: dict[str, Any]) -> None:
    """Write arrays by name and a specification of JSON values to a file.

    Raises:
        ImportError: The package safetensors is missing.
    """
    _require_safetensors()
    from safetensors.numpy import save

    leaves = {name: np.ascontiguousarray(leaf) for name, leaf in arrays.items()}
    spec = {**spec, "format": FORMAT}
    metadata = {"spec": json.dumps({**spec, "sha256": _digest(leaves, spec)})}
    write_bytes(path, save(leaves, metadata=metadata))


def read_arrays(path: Any) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the arrays and the specification that `write_arrays` wrote.

    Raises:
        ImportError: The package safetensors is missing.
        FileNotFoundError: There is no such file.
        ValueError: The file holds no levels, or is damaged.
    """
    _require_safetensors()
    from safetensors import SafetensorError, safe_open

    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of levels {path}; write one with LevelSet.save")
    try:
        with safe_open(path, "numpy") as file:
            spec = json.loads((file.metadata() or {}).get("spec", "{}"))
            leaves = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no dictionary
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}; save the levels again") from error
    if not isinstance(spec, dict) or spec.get("format") != FORMAT:
        raise ValueError(f"{path} holds no levels in the format {FORMAT!r}; name a file that LevelSet.save wrote")
    if spec.pop("sha256", None) != _digest(leaves, spec):
        raise ValueError(f"{path} is damaged: its levels have another digest than it says; save them again")
    return leaves, spec


def _digest(leaves: Mapping[str, NDArray], spec: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for name in sorted(leaves):
        digest.update(json.dumps([name, leaves[name].dtype.str, list(leaves[name].shape)]).encode())
        digest.update(leaves[name].tobytes())
    return digest.hexdigest()


def _require_safetensors() -> None:
    if importlib.util.find_spec("safetensors") is None:
        raise ImportError('files of levels need safetensors: pip install "funcenv[export]"')

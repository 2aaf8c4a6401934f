"""Checkpoints that survive being killed at any moment.

A checkpoint is written by orbax under a temporary name, together with the SHA-256 of each of its files, and renamed
when it is whole. So a folder with a proper name was whole once, and one whose files have changed since is noticed and
passed over.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import shutil
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.random import find_impl

KEEP = 3
"""How many of the newest checkpoints are kept."""

_DIGESTS = "digests.json"
_NAME = re.compile(r"update-(\d+)")


class NoCheckpointError(RuntimeError):
    """There is no checkpoint that can be read."""


def save(folder: pathlib.Path, number: int, state: Any) -> pathlib.Path:
    """Write a train state as checkpoint `number`, and remove all but the newest `KEEP`."""
    import orbax.checkpoint as ocp  # imported here: it takes a while

    folder.mkdir(parents=True, exist_ok=True)
    whole, partial = folder / f"update-{number:08d}", folder / f".partial-{number:08d}"
    shutil.rmtree(partial, ignore_errors=True)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(partial.resolve(), _plain(state))
    _write_durably(partial / _DIGESTS, json.dumps(_digests(partial), indent=1))
    shutil.rmtree(whole, ignore_errors=True)  # of an earlier attempt at the same update
    os.rename(partial, whole)
    for old in checkpoints(folder)[:-KEEP]:
        shutil.rmtree(old)
    return whole


def restore_latest(folder: pathlib.Path, template: Any, key_impl: str) -> tuple[Any, list[str]]:
    """The newest state that is whole.

    Args:
        folder: where `save` wrote.
        template: a state, or its shapes, of the structure that was saved.
        key_impl: name of the generator of the keys in the state.

    Returns:
        The state, and a message for each newer checkpoint that was passed over.

    Raises:
        NoCheckpointError: none can be read.
    """
    messages: list[str] = []
    for checkpoint in reversed(checkpoints(folder)):
        fault = _fault(checkpoint)
        if fault is None:
            return _read(checkpoint, template, key_impl), messages
        messages.append(f"checkpoint {checkpoint} is damaged ({fault}); trying the one before it")
    raise NoCheckpointError(
        "; ".join([*messages, f"{folder} holds no checkpoint that can be read; start the run anew"])
    )


def checkpoints(folder: pathlib.Path) -> list[pathlib.Path]:
    """Every checkpoint, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def _read(checkpoint: pathlib.Path, template: Any, key_impl: str) -> Any:
    import orbax.checkpoint as ocp

    impl, shapes = find_impl(key_impl), jax.eval_shape(_plain, template)
    with ocp.StandardCheckpointer() as checkpointer:
        plain = checkpointer.restore(checkpoint.resolve(), shapes)
    return jax.tree.map(
        lambda leaf, like: jax.random.wrap_key_data(leaf, impl=impl) if _is_key(like) else leaf, plain, template
    )


def _fault(checkpoint: pathlib.Path) -> str | None:
    """What is wrong with a checkpoint's files, if anything."""
    try:
        expected = json.loads((checkpoint / _DIGESTS).read_text())
    except (OSError, ValueError) as error:
        return f"its {_DIGESTS} cannot be read: {error}"
    actual = _digests(checkpoint)
    for name in sorted(expected.keys() | actual.keys()):
        if name not in actual:
            return f"{name} is missing"
        if expected.get(name) != actual[name]:
            return f"{name} has changed since it was written"
    return None


def _digests(folder: pathlib.Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _DIGESTS)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _write_durably(path: pathlib.Path, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(state: Any) -> Any:
    """Typed keys as the integers they are made of, which orbax can write."""
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else leaf, state)

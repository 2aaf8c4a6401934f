"""Checkpoints that stay valid if a process is killed at any moment.

Orbax writes a checkpoint to a temporary folder, together with the SHA-256 digest of each file. The folder is renamed
once it is complete. A folder with a checkpoint's name was therefore complete, and the digests reveal later damage.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import time
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.files import file_digest
from funcenv.random import find_impl
from funcenv.random.keys import is_key
from funcenv.train.devices import is_first, wait_for_all
from funcenv.train.runs.storage_errors import disk_error, quiet_library

MAX_CHECKPOINTS = 3
"""The number of checkpoints that are kept; older ones are removed."""

MAX_REMOVE_SECONDS = 2.0
"""The time for which the remains of a failed save are removed again."""

_DIGESTS = "digests.json"

STATE, BEST = "update", "best"
"""Kinds of checkpoints: the state of training, and the best agents so far."""


class NoCheckpointError(RuntimeError):
    """No checkpoint can be read."""


def save(folder: pathlib.Path, number: int, state: Any) -> pathlib.Path:
    """Write a train state as the checkpoint of update `number`, and remove all but the newest `MAX_CHECKPOINTS`.

    Raises:
        OSError: It cannot be written. The number is `ENOSPC`, or `EDQUOT` or `EFBIG`, if there is no space.
    """
    return _save(folder, STATE, number, state, MAX_CHECKPOINTS)


def save_best(folder: pathlib.Path, number: int, best: Any) -> pathlib.Path:
    """Write the best agents that are known at update `number`, and remove those written before.

    Raises:
        OSError: As `save`.
    """
    return _save(folder, BEST, number, best, max_checkpoints=1)


def _save(folder: pathlib.Path, kind: str, number: int, state: Any, max_checkpoints: int) -> pathlib.Path:
    complete, partial = folder / f"{kind}-{number:08d}", folder / f".partial-{kind}-{number:08d}"
    if is_first():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
    wait_for_all("begin a checkpoint")
    try:
        _write(partial, state)
    except Exception as error:
        _remove_begun(folder, partial.name)
        if (found := disk_error(error, folder)) is not None:
            raise found from error
        raise
    if is_first():
        _write_digests(partial)
        shutil.rmtree(complete, ignore_errors=True)  # an earlier checkpoint of the same update
        os.rename(partial, complete)
        for old in checkpoints(folder, kind)[:-max_checkpoints]:
            shutil.rmtree(old)
    wait_for_all("end a checkpoint")
    return complete


def _remove_begun(folder: pathlib.Path, name: str) -> None:
    """Remove what a failed save has left; the storage library's threads may still be writing to it."""
    deadline = time.monotonic() + MAX_REMOVE_SECONDS
    while begun := list(folder.glob(f"{name}*")):
        for path in begun:
            shutil.rmtree(path, ignore_errors=True)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _write(partial: pathlib.Path, state: Any) -> None:
    """Write a train state to a folder; each process writes what its devices hold."""
    import orbax.checkpoint as ocp  # slow to import

    with quiet_library(), ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(partial.resolve(), _storable(state))


def _write_digests(partial: pathlib.Path) -> None:
    digests = _digests(partial)
    with open(partial / _DIGESTS, "w") as file:
        json.dump(digests, file, indent=1)
        file.flush()
        os.fsync(file.fileno())


def restore_latest(folder: pathlib.Path, template: Any, key_impl: str, kind: str = STATE) -> tuple[Any, list[str]]:
    """Read the newest checkpoint that is not damaged.

    Args:
        folder: The folder that `save` wrote to.
        template: A state of the same structure, or its shapes.
        key_impl: Name of the random generator of the keys in the state.
        kind: `STATE` or `BEST`.

    Returns:
        The state, and a message for each newer checkpoint that is damaged.

    Raises:
        NoCheckpointError: No checkpoint can be read, or the newest is that of another configuration.
    """
    messages: list[str] = []
    for checkpoint in reversed(checkpoints(folder, kind)):
        fault = _fault(checkpoint)
        if fault is None:
            return _read(checkpoint, template, key_impl), messages
        messages.append(f"checkpoint {checkpoint} is damaged ({fault}); trying the one before it")
    raise NoCheckpointError(
        "; ".join([*messages, f"{folder} holds no checkpoint that can be read; start the run again"])
    )


def checkpoints(folder: pathlib.Path, kind: str = STATE) -> list[pathlib.Path]:
    """Return the folders of all checkpoints of a kind, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if re.fullmatch(rf"{kind}-\d+", path.name))


def _read(checkpoint: pathlib.Path, template: Any, key_impl: str) -> Any:
    import orbax.checkpoint as ocp

    alone = jax.sharding.SingleDeviceSharding(jax.devices()[0])

    def placed(leaf: Any, like: Any) -> Any:  # other devices may have written it
        if leaf is None:
            return None
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=like.sharding or alone)  # type: ignore[no-untyped-call]

    impl, shapes = find_impl(key_impl), jax.eval_shape(_storable, template)
    shapes = jax.tree.map(placed, shapes, template, is_leaf=_is_none)
    with quiet_library(), ocp.StandardCheckpointer() as checkpointer:
        stored = checkpointer.metadata(checkpoint.resolve()).item_metadata.tree
        _check_fits(checkpoint, _shapes(stored), _shapes(shapes))
        plain = checkpointer.restore(checkpoint.resolve(), shapes)

    def loaded(leaf: Any, like: Any) -> Any:
        if like is None:
            return None
        if leaf is None:
            return jnp.zeros(like.shape, like.dtype, device=like.sharding or alone)
        return jax.random.wrap_key_data(leaf, impl=impl) if is_key(like) else leaf

    return jax.tree.map(loaded, plain, template, is_leaf=_is_none)


def _check_fits(
    checkpoint: pathlib.Path, stored: dict[str, tuple[int, ...]], expected: dict[str, tuple[int, ...]]
) -> None:
    """Raise NoCheckpointError if the arrays of a checkpoint have other names or shapes than those of the run's state.

    The storage library would notice it as well, but leaves coroutines behind that nobody awaits.
    """
    for name in sorted(stored.keys() | expected.keys()):
        there, here = stored.get(name), expected.get(name)
        if there != here:
            raise NoCheckpointError(
                f"{checkpoint} does not fit the configuration of the run: {name} {_described(there)} there, "
                f"{_described(here)} here, as it was written with another environment, algorithm or network; "
                "put back the config.json that belongs to it, or start a new run"
            )


def _described(shape: tuple[int, ...] | None) -> str:
    return "is missing" if shape is None else f"has shape {shape}"


def _shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): tuple(leaf.shape) for path, leaf in leaves}


def _fault(checkpoint: pathlib.Path) -> str | None:
    """Return what is wrong with a checkpoint's files, or None."""
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
    return {str(path.relative_to(folder)): file_digest(path) for path in files}


def _is_none(leaf: Any) -> bool:
    return leaf is None


def _storable(state: Any) -> Any:
    """Return what orbax can write: typed keys are replaced by their integers, and arrays without elements by None."""

    def convert(leaf: Any) -> Any:
        if leaf.size == 0:
            return None
        return jax.random.key_data(leaf) if is_key(leaf) else leaf

    return jax.tree.map(convert, state)

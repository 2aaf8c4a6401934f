"""The lock of a run folder: one process at a time writes to a run.

The operating system holds the lock and releases it when the process ends, even by `kill -9`. The lock file itself
stays in the folder and means nothing alone.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import platform
import time
from collections.abc import Iterator

import filelock

from funcenv.files import write_text

LOCK_FILE = ".lock"
OWNER_FILE = ".lock-owner"


class RunLockedError(RuntimeError):
    """Another process writes to the folder of a run."""


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Hold the lock of a run folder.

    Raises:
        RunLockedError: Another process, or another thread of this one, holds it.

    >>> import tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with locked(folder):
    ...     try:
    ...         with locked(folder):
    ...             pass
    ...     except RunLockedError as error:
    ...         print(f"process {os.getpid()}" in str(error))
    True
    """
    owner, lock = folder / OWNER_FILE, filelock.FileLock(folder / LOCK_FILE)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise RunLockedError(
            f"{folder} is being written by {_read_owner(owner)}; wait until it ends, or stop it, and try again"
        ) from None
    try:
        write_text(owner, f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _read_owner(path: pathlib.Path, seconds: float = 2.0) -> str:
    """Return the process that holds a lock, which writes its name just after it has taken the lock."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(FileNotFoundError):
            return path.read_text(encoding="utf-8")
        time.sleep(0.02)
    return "another process"

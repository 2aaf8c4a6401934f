"""The user's folder of compiled programs, so that a second start does not compile them again.

Two caches share it. Programs under a description of what they are made of are found without being traced
(`funcenv._compile.store`); JAX's persistent cache, in the same folder, has all others. Both hold machine code. The
folder is therefore named by the version of jaxlib and by the instruction set of the processor, and only its owner may
write to it. Both are bounded: what was not used for longest is deleted.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import stat
from typing import NamedTuple

from funcenv._compile import store
from funcenv._compile.cache_folder import cache_folder
from funcenv._jax import config

_PROGRAMS = "programs"


class CacheInfo(NamedTuple):
    """The contents of a folder of compiled programs."""

    folder: pathlib.Path
    programs: int
    """programs and facts that are found without being traced"""
    others: int
    """files of JAX's persistent cache"""
    num_bytes: int


def enable_disk_cache(folder: str | os.PathLike[str] | None = None) -> pathlib.Path | None:
    """Keep compiled programs for later processes, and return the folder.

    Call this before the first program is compiled. If JAX has a folder already, as from `JAX_COMPILATION_CACHE_DIR`, it
    keeps it, and the programs of this package go there as well. Everything works without a folder: the result is None
    if it cannot be made or written, or if somebody else may write to it.

    Args:
        folder: The folder; by default that of JAX, or else `cache_folder()`.
    """
    given = config.jax_compilation_cache_dir
    root = pathlib.Path(folder or given or cache_folder())
    try:
        programs = root / _PROGRAMS
        programs.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_private(programs):
            return None
    except OSError:  # There is no place for it, as in a read-only container.
        return None
    if given is None:
        config.update("jax_compilation_cache_dir", str(root))
        config.update("jax_compilation_cache_max_size", store.MAX_BYTES)
        config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    store.use_folder(programs)
    return root


def cache_info(folder: pathlib.Path | None = None) -> CacheInfo:
    """Count what a folder of compiled programs holds, by default `cache_folder()`."""
    folder = folder or cache_folder()
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    num_bytes = 0
    for path in files:
        with contextlib.suppress(OSError):  # Another process has deleted it.
            num_bytes += path.stat().st_size
    programs = sum(path.suffix == store.SUFFIX for path in files)
    return CacheInfo(folder, programs, len(files) - programs, num_bytes)


def clear_cache() -> list[CacheInfo]:
    """Delete the user's compiled programs, those of other versions and processors included; return what was deleted."""
    cleared = []
    for folder in sorted(path for path in cache_folder().parent.glob("jaxlib-*") if path.is_dir()):
        cleared.append(cache_info(folder))
        shutil.rmtree(folder)
    return cleared


def _is_private(folder: pathlib.Path) -> bool:
    """Return whether this user alone can change what lies in a folder, and can."""
    if os.name != "posix":
        return True
    status = folder.stat()
    return (
        status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        and os.access(folder, os.W_OK)
    )

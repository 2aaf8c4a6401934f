"""Compiled programs on disk, so that a second start does not compile them again.

JAX's persistent cache holds machine code. Its folder is therefore named by the version of jaxlib and by the instruction
set of the processor, in the user's cache folder. It is bounded: JAX deletes what was not used for longest.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import pathlib
import platform
import sys
from typing import Any

MAX_BYTES = 2**29  # Training CartPole stores half a megabyte, environments with physics of their own much more.


def enable_disk_cache() -> pathlib.Path | None:
    """Let JAX store compiled programs in the user's cache folder, and return the folder.

    Call this before the first program is compiled. Nothing changes, and the result is None, if a folder is set already
    by `JAX_COMPILATION_CACHE_DIR`, or if the folder cannot be made.
    """
    import jax

    config: Any = jax.config  # JAX declares no types for it.
    if config.jax_compilation_cache_dir is not None:
        return None
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # There is no place for it, as in a read-only container; everything works without.
        return None
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_compilation_cache_max_size", MAX_BYTES)
    config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    return folder


def cache_folder() -> pathlib.Path:
    """Return the folder for this version of jaxlib and this kind of processor, in the platform's cache folder.

    `XDG_CACHE_HOME` overrides the platform's cache folder.
    """
    root = os.environ.get("XDG_CACHE_HOME")
    if root is None and sys.platform == "darwin":
        root = "~/Library/Caches"
    elif root is None:
        root = "~/.cache"
    kind = f"jaxlib-{importlib.metadata.version('jaxlib')}-{_processor()}"
    return pathlib.Path(root).expanduser() / "funcenv" / kind


def _processor() -> str:
    """Return a hash of the processor's architecture and instruction set."""
    description = f"{platform.machine()} {platform.processor()}"
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        description += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(description.encode()).hexdigest()[:8]

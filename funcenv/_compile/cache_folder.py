"""The user's folder for compiled programs. Nothing here imports JAX, which reads its settings when it is imported."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import pathlib
import platform
import sys


def cache_folder() -> pathlib.Path:
    """Return the folder for this version of jaxlib and this kind of processor, in the platform's cache folder.

    `XDG_CACHE_HOME` overrides the platform's cache folder.
    """
    root = os.environ.get("XDG_CACHE_HOME")
    if root is None and sys.platform == "darwin":
        root = "~/Library/Caches"
    elif root is None:
        root = "~/.cache"
    kind = f"jaxlib-{importlib.metadata.version('jaxlib')}-{processor()}"
    return pathlib.Path(root).expanduser() / "funcenv" / kind


@functools.cache
def processor() -> str:
    """Return a hash of the processor's architecture and instruction set."""
    description = f"{platform.machine()} {platform.processor()}"
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        description += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(description.encode()).hexdigest()[:8]

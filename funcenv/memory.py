"""Sizes of arrays, and the memory of devices."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import jax

_CONTAINER_LIMIT = pathlib.Path("/sys/fs/cgroup/memory.max")


def num_bytes(tree: Any) -> int:
    """Return the bytes of all arrays of a tree, or of their shapes.

    >>> import numpy as np
    >>> num_bytes({"position": np.zeros((3, 2), np.float32), "is_done": np.zeros(3, bool)})
    27
    """
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def device_memory(device: jax.Device) -> int | None:
    """Return the bytes that a device may hold, or None where its platform does not say.

    The devices of a CPU share the memory of the machine, or that of its container, evenly.
    """
    if device.platform != "cpu":
        statistics = device.memory_stats() or {}
        return statistics.get("bytes_limit")
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _CONTAINER_LIMIT.exists() and (text := _CONTAINER_LIMIT.read_text().strip()).isdigit():
        limit = min(limit, int(text))
    return limit // jax.local_device_count("cpu")


def readable_size(size: float) -> str:
    """Return a number of bytes with a unit, in three digits.

    >>> readable_size(0), readable_size(1500), readable_size(250 * 2**20), readable_size(1.5 * 2**40)
    ('0 B', '1.46 KiB', '250 MiB', '1,536 GiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB" if size < 1000 else f"{size:,.0f} GiB"


def describe_device(device: jax.Device, count: int = 1) -> str:
    """Return the kind, number and memory of devices like this one, in words.

    >>> describe_device(jax.devices("cpu")[0])
    'cpu with ...iB'
    """
    kind = "cpu" if device.platform == "cpu" else f"{device.platform} ({device.device_kind})"
    memory = device_memory(device)
    return f"{kind}{f' x {count}' if count > 1 else ''}{'' if memory is None else f' with {readable_size(memory)}'}" + (
        " each" if count > 1 and memory is not None else ""
    )

"""A description of the machine on which a benchmark ran."""

from __future__ import annotations

import os
import pathlib
import platform
import sys
from typing import Any

FLAG_NAMES = ("XLA_FLAGS", "FUNCENV_NO_FAST_PATH", "JAX_PLATFORMS", "JAX_ENABLE_X64", "JAX_CPU_ENABLE_ASYNC_DISPATCH")
THREAD_NAMES = ("PJRT_NPROC", "OMP_NUM_THREADS")


def describe() -> dict[str, Any]:
    """Describe processor, caches, memory and system, without anything that names the machine or its owner."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "caches": caches(),
        "vectors": vectors(),
        "memory_gib": memory_gib(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "architecture": platform.machine(),
        "python": sys.version.split()[0],
        "load_average": load_average(),
    }


def flags() -> dict[str, str]:
    """Return the environment variables that affect speed."""
    return {name: os.environ[name] for name in (*FLAG_NAMES, *THREAD_NAMES) if name in os.environ}


def cpu_model() -> str:
    """Return the name of the processor, with its family and model if they are known."""
    info = _cpu_info()
    name = info.get("model name") or platform.processor() or platform.machine()
    return f"{name} (family {info['cpu family']}, model {info['model']})" if "cpu family" in info else name


def vectors() -> str:
    """Return the widest vector instructions of the processor."""
    known = _cpu_info().get("flags", "").split()
    return next((name for name in ("avx512f", "avx2", "avx", "sse4_2") if name in known), "")


def caches() -> dict[str, str]:
    """Return the sizes of the first core's caches."""
    found = {}
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def memory_gib() -> int | None:
    """Return the memory of the machine in GiB."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)


def load_average() -> list[float] | None:
    """Return the load averages. Above the number of cores, other processes compete for the caches."""
    return [round(number, 2) for number in os.getloadavg()] if hasattr(os, "getloadavg") else None


def _cpu_info() -> dict[str, str]:
    path = pathlib.Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first = path.read_text().split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}

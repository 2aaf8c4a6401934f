"""What the figures were measured on."""

from __future__ import annotations

import os
import pathlib
import platform
import sys
from typing import Any

FLAG_NAMES = ("XLA_FLAGS", "FUNCENV_NO_FAST_PATH", "JAX_PLATFORMS", "JAX_ENABLE_X64", "JAX_CPU_ENABLE_ASYNC_DISPATCH")
THREAD_NAMES = ("PJRT_NPROC", "OMP_NUM_THREADS")


def describe() -> dict[str, Any]:
    """Processor, caches, memory and system; nothing that names the machine or its owner."""
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
    """The environment variables that change how fast things run."""
    return {name: os.environ[name] for name in (*FLAG_NAMES, *THREAD_NAMES) if name in os.environ}


def cpu_model() -> str:
    """As the processor says, with its family and model where its name alone says little."""
    info = _cpu_info()
    name = info.get("model name") or platform.processor() or platform.machine()
    return f"{name} (family {info['cpu family']}, model {info['model']})" if "cpu family" in info else name


def vectors() -> str:
    """The widest vector instructions that matter here."""
    known = _cpu_info().get("flags", "").split()
    return next((name for name in ("avx512f", "avx2", "avx", "sse4_2") if name in known), "")


def caches() -> dict[str, str]:
    """Sizes of the caches of the first core."""
    found = {}
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def memory_gib() -> int | None:
    """Memory of the machine."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)


def load_average() -> list[float] | None:
    """How busy the machine is: with more than its cores the caches are shared with strangers."""
    return [round(number, 2) for number in os.getloadavg()] if hasattr(os, "getloadavg") else None


def _cpu_info() -> dict[str, str]:
    path = pathlib.Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first = path.read_text().split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}

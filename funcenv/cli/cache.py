"""The command `funcenv cache`, which shows or deletes the compiled programs that are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from funcenv._compile.disk_cache import CacheInfo, cache_info, clear_cache
from funcenv.cli.flags import read
from funcenv.counted import counted


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Show what is kept of compiled programs, for this version of jaxlib and this kind of processor."""

    clear: bool = False
    """delete all of it, and what other versions have kept"""


def run(arguments: Sequence[str]) -> int:
    """Show or delete, and return the exit status."""
    options: Options = read("cache", Options, arguments)
    if not options.clear:
        print(_described(cache_info()))
        return 0
    for info in clear_cache():
        print(f"deleted {_described(info)}")
    return 0


def _described(info: CacheInfo) -> str:
    return (
        f"{info.folder}: {info.num_bytes / 2**20:,.1f} MiB, {counted(info.programs, 'program')} ready to run, "
        f"{counted(info.others, 'file')} of JAX's cache"
    )

"""The protocol between a benchmark worker and the process that measures it: a line of JSON for each line of input.

A worker prepares its work (imports, compiles), reports what that cost, and then repeats the work whenever it is asked.
Two libraries, each in its own process and virtual environment, can thus take turns, and a machine that slows down slows
both. This file only imports the standard library, because it runs in every library's environment.
"""

from __future__ import annotations

import gc
import json
import math
import pathlib
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

SELF = pathlib.Path("/proc/self")


def serve(prepare: Callable[[dict[str, Any]], tuple[Callable[[], Any], dict[str, Any]]]) -> None:
    """Prepare the work that the first argument describes, then run it once for each line on standard input.

    `prepare(options)` returns the work and facts about it: `steps`, what a run of it counts, and `version`, that of the
    library. The results of runs are JSON; a result with `cpu` is measured by a clock of the worker's own. With
    `options["seconds"]`, a turn repeats the work for about that many CPU seconds, so that fast and slow workers are
    timed equally well; with `options["repeats"]`, it repeats it so many times.
    """
    options = json.loads(sys.argv[1])
    base = resident_megabytes()
    before = time.process_time()
    work, facts = prepare(options)
    ready = time.process_time()
    result = work()
    first = time.process_time() - ready
    reset_peak()
    repeats = options.get("repeats", 1)
    if "seconds" in options:
        again = time.process_time()
        result = work()
        once = max(time.process_time() - again, 1e-9)
        repeats = max(1, math.ceil(options["seconds"] / once))
        facts["once_cpu"] = once
    facts["steps"] *= repeats
    memory = {"base_mb": base, "peak_mb": peak_megabytes()}
    tell(import_cpu=before, prepare_cpu=ready - before, first_cpu=first, result=result, **memory, **facts)
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(repeats):
            result = work()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        if isinstance(result, dict):
            cpu = result.pop("cpu", cpu)
        peak = peak_megabytes()
        gc.collect()
        tell(cpu=cpu, wall=wall, result=result, peak_mb=peak, rss_mb=resident_megabytes())


def tell(**facts: Any) -> None:
    """Print a line of JSON."""
    print(json.dumps(facts), flush=True)


def resident_megabytes() -> float:
    """Return the resident memory of this process, or its peak if the system does not report the current value."""
    statm = SELF / "statm"
    if not statm.exists():
        return peak_megabytes()
    return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6


def reset_peak() -> None:
    """Reset the peak that `peak_megabytes` returns, if the system can (Linux)."""
    clear = SELF / "clear_refs"
    if clear.exists():
        clear.write_text("5")


def peak_megabytes() -> float:
    """Return the peak resident memory since `reset_peak`, or since the start."""
    status = SELF / "status"
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6

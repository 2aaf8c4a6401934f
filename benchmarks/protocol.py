"""How a benchmark process talks to the one that measures it: a line of JSON for each line it is sent.

A worker prepares its work (imports, compiles), says what that cost, and then repeats the work whenever it is asked. So
two libraries, each in its own process and virtual environment, take turns within one run, and a machine that slows
down slows both. This file imports nothing but the standard library, because it runs in every peer's environment.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def serve(prepare: Callable[[dict[str, Any]], tuple[Callable[[], Any], dict[str, Any]]]) -> None:
    """Prepare the work that the first argument describes, then run it once for each line on standard input.

    `prepare(options)` returns the work and facts about it, such as `{"steps": ...}`.
    """
    options = json.loads(sys.argv[1])
    before = time.process_time()
    work, facts = prepare(options)
    ready = time.process_time()
    result = work()
    tell(import_cpu=before, prepare_cpu=ready - before, first_cpu=time.process_time() - ready, result=result, **facts)
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        tell(cpu=time.process_time() - cpu, wall=time.perf_counter() - wall, result=result)


def tell(**facts: Any) -> None:
    """One line of JSON."""
    print(json.dumps(facts), flush=True)

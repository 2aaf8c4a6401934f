"""Timing programs in turns, in CPU seconds.

On a CPU the clock is the CPU time of this process, which neighbours on a shared machine disturb least; it counts every
thread, so that a program that keeps two cores busy gains nothing. An accelerator costs the host next to no CPU time:
there the clock is the wall's.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax


@dataclasses.dataclass(frozen=True)
class Timing:
    """What one program cost."""

    seconds: tuple[float, ...]
    """seconds of one run, a number for each round"""
    first_seconds: float
    """seconds of the first call, in which the program was compiled"""

    @property
    def median(self) -> float:
        """Seconds of one run, the median over rounds."""
        return statistics.median(self.seconds)

    @property
    def compile_seconds(self) -> float:
        """What the first call cost more than a later one: tracing and compiling."""
        return max(self.first_seconds - self.median, 0.0)


def clock_name() -> str:
    """The clock that is meaningful on JAX's default backend: "cpu" or "wall".

    >>> clock_name() in ("cpu", "wall")
    True
    """
    return "cpu" if jax.default_backend() == "cpu" else "wall"


def time_in_turns(
    programs: Mapping[str, Callable[[], Any]], *, seconds: float = 0.2, rounds: int = 5
) -> dict[str, Timing]:
    """Time programs against each other: in each round every program has a turn.

    Args:
        programs: functions without arguments, each of which runs something and returns arrays; the first call of each
            compiles it.
        seconds: about how long a turn takes; a short program is run several times in it.
        rounds: how many turns each has, at least 1.

    Returns:
        A `Timing` for each name.

    >>> timings = time_in_turns({"sum": lambda: sum(range(1000))}, seconds=0.001, rounds=3)
    >>> len(timings["sum"].seconds)
    3
    """
    clock = time.process_time if clock_name() == "cpu" else time.perf_counter
    first: dict[str, float] = {}
    repeats: dict[str, int] = {}
    for name, program in programs.items():
        first[name] = _seconds_of(program, 1, clock)
        once = _seconds_of(program, 1, clock)
        repeats[name] = max(1, math.ceil(seconds / max(once, 1e-7)))
    turns: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(max(rounds, 1)):
        for name, program in programs.items():
            turns[name].append(_seconds_of(program, repeats[name], clock) / repeats[name])
    return {name: Timing(seconds=tuple(turns[name]), first_seconds=first[name]) for name in programs}


def _seconds_of(program: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    before = clock()
    for _ in range(repeats):
        jax.block_until_ready(program())  # type: ignore[no-untyped-call]  # JAX's
    return clock() - before

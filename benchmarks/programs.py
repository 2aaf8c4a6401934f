"""Rows of the benchmarks: a task, and the programs that do it in turns."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import c_program
from harness import HERE, Worker
from libraries import python_of


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that does the task of a row."""

    name: str
    worker: str
    """file in `workers/` without its ending; `c` is the C program"""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """values that the worker receives"""
    library: str = ""
    """key of `libraries.REQUIREMENTS`; if empty, the program runs in the interpreter of funcenv"""
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """environment variables"""

    def start(self, variables: Mapping[str, str], pythons: dict[str, str]) -> Worker:
        """Start the worker.

        Raises:
            LibraryError: The library cannot be installed, built or run.
        """
        if self.worker == "c":
            return c_program.start(self.name, **self.options)
        python = python_of(self.library, pythons)
        command = [python, str(HERE / "workers" / f"{self.worker}.py"), json.dumps(dict(self.options))]
        return Worker(self.name, command, {**variables, **self.variables})


@dataclasses.dataclass(frozen=True)
class Row:
    """A task, and the programs that do it. Ratios are those of the first one's speed to the speeds of the others."""

    programs: tuple[Program, ...]
    labels: Mapping[str, Any]
    """values that tell the row from others of its table"""

    @property
    def name(self) -> str:
        """The labels in words; flags that are set are named."""
        words = (name if value is True else str(value) for name, value in self.labels.items() if value is not False)
        return ", ".join(words)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Amounts of measurement."""

    rounds: int
    seconds: float
    """CPU seconds of a turn of small programs"""
    sizes: tuple[int, ...]
    """batch sizes of classic control"""
    toy_text_sizes: tuple[int, ...]
    kept_sizes: tuple[int, ...]
    """batch sizes with trajectories kept"""
    most_for_slow_peers: int
    """largest batch size for phys2d and brax, which need minutes for more"""
    compile_rounds: int
    soak_steps: int
    latency_steps: int
    all_anatomies: bool


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows that are measured in the same way."""

    rows: Callable[[Plan], Iterable[Row]]
    about: str
    rounds: int | None = None
    """turns of each program; by default those of the plan"""
    is_start: bool = False
    """true if processes are started anew in each round, for the seconds until their first result"""
    uses_threads: bool = False
    """true if programs may use all cores"""


QUICK = Plan(
    rounds=5,
    seconds=0.1,
    sizes=(1, 16, 256, 4096, 65536),
    toy_text_sizes=(1, 256),
    kept_sizes=(256, 4096),
    most_for_slow_peers=16,
    compile_rounds=1,
    soak_steps=10**7,
    latency_steps=5_000,
    all_anatomies=False,
)
FULL = Plan(
    rounds=9,
    seconds=0.25,
    sizes=tuple(4**power for power in range(9)),
    toy_text_sizes=(1, 16, 256, 4096, 65536),
    kept_sizes=(1, 16, 256, 4096, 65536),
    most_for_slow_peers=4096,
    compile_rounds=3,
    soak_steps=10**8,
    latency_steps=20_000,
    all_anatomies=True,
)

"""Progress of a training run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

MAX_PLAIN_LINES = 20
"""The largest number of lines that a run prints without a terminal."""


class ProgressReport:
    """A context manager that reports progress whenever `advance` is called."""

    def __init__(self, title: str, total_steps: int, console: Console) -> None:
        self._console = console
        self._title = title
        self._total = total_steps
        self._next_line = 0.0
        self._last: tuple[int, float] | None = None
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("return [bold]{task.fields[mean_return]}"),
            TextColumn("{task.fields[speed]} steps/s"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: TaskID = self._bar.add_task(title, total=total_steps, mean_return="-", speed="-")

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def advance(self, steps: int, mean_return: float) -> None:
        """Report the number of environment steps done and the mean return of recent episodes."""
        now = time.perf_counter()
        speed = "-"
        if self._last is not None and steps > self._last[0]:
            speed = f"{(steps - self._last[0]) / max(now - self._last[1], 1e-9):,.0f}"
        self._last = steps, now
        text = "-" if mean_return != mean_return else f"{mean_return:.1f}"
        self._bar.update(self._task, completed=steps, mean_return=text, speed=speed)
        if not self._console.is_terminal and (steps >= self._next_line or steps >= self._total):
            share = steps / self._total
            self._next_line = steps + self._total / MAX_PLAIN_LINES
            line = f"{self._title}  {steps:>10,} steps  {share:>4.0%}  return {text:>8}  {speed:>10} steps/s"
            self._console.print(line, highlight=False, soft_wrap=True)

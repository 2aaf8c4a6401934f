"""Progress of a training run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

MAX_PLAIN_LINES = 20
"""The largest number of lines that a run prints without a terminal."""


class ProgressReport(Progress):
    """A context manager that shows progress whenever `report` is called."""

    def __init__(self, title: str, total_steps: int, console: Console) -> None:
        super().__init__(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("return [bold]{task.fields[mean_return]}"),
            TextColumn("{task.fields[speed]} steps/s"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
        )
        self._title, self._total_steps, self._next_line = title, total_steps, 0.0
        self._last: tuple[int, float] | None = None
        self._task = self.add_task(title, total=total_steps, mean_return="-", speed="-")

    def report(self, steps: int, mean_return: float) -> None:
        """Show the number of environment steps done and the mean return of recent episodes."""
        now, speed = time.perf_counter(), "-"
        if self._last is not None and steps > self._last[0]:
            speed = f"{(steps - self._last[0]) / max(now - self._last[1], 1e-9):,.0f}"
        self._last = steps, now
        text = "-" if mean_return != mean_return else f"{mean_return:.1f}"
        self.update(self._task, completed=steps, mean_return=text, speed=speed)
        if not self.console.is_terminal and (steps >= self._next_line or steps >= self._total_steps):
            share = steps / self._total_steps
            self._next_line = steps + self._total_steps / MAX_PLAIN_LINES
            line = f"{self._title}  {steps:>10,} steps  {share:>4.0%}  return {text:>8}  {speed:>10} steps/s"
            self.console.print(line, highlight=False, soft_wrap=True)

"""Progress of a training run: a bar and a few figures on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from funcenv.printable import printable
from funcenv.train.runs.metrics import format_return

MAX_PLAIN_LINES = 20
"""The largest number of lines on training that a run of less than `SECONDS_PER_PLAIN_LINE` each prints."""

SECONDS_PER_PLAIN_LINE = 60.0
"""Without a terminal, the longest time without a line."""


SHOWN_METRICS = ("mean_return", "mean_length", "eval_return", "success_rate")
"""The metrics that `ProgressReport.report` takes, as means over all agents."""


class ProgressReport:
    """A context manager that shows what a run does, and its latest figures.

    Args:
        title: Name of the task.
        total_steps: Environment steps of each agent in the run.
        num_agents: Number of agents that are trained side by side.
        threshold: The mean return from which the task counts as solved, if it has one.
        console: Where to print.
    """

    def __init__(
        self, title: str, total_steps: int, console: Console, num_agents: int = 1, threshold: float | None = None
    ) -> None:
        self.title, self.total_steps, self.num_agents, self.threshold = title, total_steps, num_agents, threshold
        self.phase, self.steps, self.figures = "starting", 0, dict[str, str]()
        self.console = console
        self._best = -math.inf
        self._started = self._last_line = time.perf_counter()
        self._first_steps: tuple[int, float] | None = None  # steps that this process began with, and when
        self._next_line = 0.0
        self._live: Any = None
        if console.is_terminal:
            self._live = Live(console=console, refresh_per_second=4, get_renderable=self.renderable)

    def __enter__(self) -> ProgressReport:
        if self._live is not None:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def enter(self, phase: str) -> None:
        """Say what the run does next: "compiling", "training", ..."""
        self.phase = phase
        if self._live is not None:
            self._live.refresh()
        elif phase != "training":
            self._print(f"{self.title}: {phase}")

    def say(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        self._print(line)

    def report(
        self,
        steps: int,
        mean_return: float,
        mean_length: float,
        steps_per_second: float,
        eval_return: float = math.nan,
        success_rate: float = math.nan,
    ) -> None:
        """Show the steps done by each agent, means of recent episodes, and the speed of all agents together.

        The mean return of an evaluation is shown until the next one.
        """
        now = time.perf_counter()
        self.steps = steps
        if self._first_steps is None:
            self._first_steps = steps, now
        if not math.isnan(mean_return):
            self._best = max(self._best, mean_return)
            evaluation = {name: text for name, text in self.figures.items() if name == "evaluation"}
            self.figures = {"return": format_return(mean_return), "best": format_return(self._best), **evaluation}
            if self.threshold is not None:
                self.figures["threshold"] = f"{self.threshold:g}"
            self.figures["length"] = f"{mean_length:.0f}"
            if not math.isnan(success_rate):
                self.figures["success"] = f"{success_rate:.2f}"
        if not math.isnan(eval_return):
            self.figures["evaluation"] = format_return(eval_return)
        self.figures["speed"] = f"{steps_per_second:,.0f}"
        is_due = steps >= self._next_line or now - self._last_line >= SECONDS_PER_PLAIN_LINE
        if self._live is None and (is_due or steps >= self.total_steps):
            self._next_line, self._last_line = steps + self.total_steps / MAX_PLAIN_LINES, now
            self._print("  ".join([f"{self.share:>4.0%}", *self.facts()]))

    @property
    def share(self) -> float:
        """The part of the run that is done, from 0 to 1."""
        return self.steps / self.total_steps

    def facts(self) -> list[str]:
        """Return what there is to say, in the order of importance."""
        agents = "" if self.num_agents == 1 else " per agent"
        speed = {"speed": "steps/s" if self.num_agents == 1 else "steps/s in all"}
        figures = [
            f"{value} {speed[name]}" if name in speed else f"{name} {value}" for name, value in self.figures.items()
        ]
        left = self._seconds_left()
        return [
            f"{self.steps:,} of {self.total_steps:,} steps{agents}",
            *figures,
            f"{_clock(time.perf_counter() - self._started)} elapsed",
            *([] if left is None else [f"{_clock(left)} left"]),
        ]

    def renderable(self) -> Group:
        """Return the bar, and below it the facts in as many lines as they need."""
        head = Table.grid(padding=(0, 1), expand=True)
        head.add_column(no_wrap=True)
        head.add_column(ratio=1)
        head.add_column(no_wrap=True, justify="right")
        title = Text(f"{self.title}: {self.phase}", style="bold")
        head.add_row(title, ProgressBar(self.total_steps, self.steps), f"{self.share:.0%}")
        return Group(head, Text("\n".join(_lines(self.facts(), self.console.width)), style="dim"))

    def _seconds_left(self) -> float | None:
        """Return an estimate from the steps of this process, or None where there is none."""
        if self._first_steps is None or not self._first_steps[0] < self.steps < self.total_steps:
            return None
        steps, then = self._first_steps
        return (self.total_steps - self.steps) * (time.perf_counter() - then) / (self.steps - steps)

    def _print(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
        self.console.file.flush()


def print_warnings(console: Console, messages: list[str]) -> None:
    """Print warnings, whose text may hold names of files and is no markup."""
    for message in messages:
        console.print(Text.assemble(("warning:", "yellow"), f" {printable(message)}"), soft_wrap=True)


def _lines(facts: list[str], width: int) -> list[str]:
    """Fill lines of at most `width` characters with facts, none of which is broken.

    >>> _lines(["64 of 128 steps", "return 9.5", "2 s left"], width=28)
    ['64 of 128 steps  return 9.5', '2 s left']
    """
    lines = [""]
    for fact in facts:
        joined = f"{lines[-1]}  {fact}" if lines[-1] else fact
        if len(joined) <= width or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(fact)
    return lines


def _clock(seconds: float) -> str:
    """Format a duration.

    >>> _clock(4.2), _clock(75), _clock(3675)
    ('0:04', '1:15', '1:01:15')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

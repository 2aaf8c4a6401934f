"""The figures of a run: a CSV file with a row for each update of each seed, and a picture of the learning curve."""

from __future__ import annotations

import csv
import os
import pathlib
from typing import Any

import numpy as np

CLOCKS = ("wall_seconds", "cpu_seconds", "steps_per_second")
"""Columns that differ from run to run; all others repeat bit for bit."""
FIRST = ("env_steps", "episodes", "mean_return", "mean_length")
"""Columns that every algorithm reports, which come before its own."""


class MetricsFile:
    """Appends to `metrics.csv`; a row's clocks were read after the compiled call that its update was part of."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.wall_seconds = 0.0
        self.cpu_seconds = 0.0

    def keep_until(self, num_updates: int) -> None:
        """Drop the rows that an interrupted run wrote after its last checkpoint, and go on with its clocks."""
        if not self.path.exists():
            return
        rows = [row for row in read_metrics(self.path) if int(row["update"]) <= num_updates]
        temporary = self.path.with_suffix(".partial")
        with open(temporary, "w", newline="") as file:
            if rows:
                writer = csv.DictWriter(file, fieldnames=list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        os.replace(temporary, self.path)
        if rows:
            self.wall_seconds, self.cpu_seconds = float(rows[-1]["wall_seconds"]), float(rows[-1]["cpu_seconds"])

    def append(
        self, first_update: int, metrics: dict[str, np.ndarray[Any, Any]], wall_seconds: float, cpu_seconds: float
    ) -> None:
        """Add updates `first_update`, `first_update + 1`, ..., and what the call that did them took.

        `metrics` holds arrays `[num_updates, num_seeds]`.
        """
        self.wall_seconds += wall_seconds
        self.cpu_seconds += cpu_seconds
        num_updates, num_seeds = metrics["env_steps"].shape
        steps_before = metrics["env_steps"][0, 0] - metrics["env_steps"][0, 0] // first_update
        steps_per_second = num_seeds * (metrics["env_steps"][-1, 0] - steps_before) / max(wall_seconds, 1e-9)
        clocks = self.wall_seconds, self.cpu_seconds, steps_per_second
        names = [*FIRST, *sorted(set(metrics) - set(FIRST))]
        is_new = not self.path.exists() or self.path.stat().st_size == 0
        with open(self.path, "a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(["update", "seed", *names[:1], *CLOCKS, *names[1:]])
            for i in range(num_updates):
                for seed in range(num_seeds):
                    steps, *figures = [_exact(metrics[name][i, seed]) for name in names]
                    times = [f"{value:.3f}" for value in clocks]
                    writer.writerow([first_update + i, seed, steps, *times, *figures])


def read_metrics(path: pathlib.Path) -> list[dict[str, str]]:
    """The whole rows of a metrics file; a last row that was cut off in the middle is left out."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file, restval=None))
    return [row for row in rows if None not in row.values()]


def draw_learning_curve(
    metrics_path: pathlib.Path, picture_path: pathlib.Path, title: str, threshold: float | None
) -> None:
    """Mean return against environment steps: each seed, their mean, and the threshold of a solved task."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = read_metrics(metrics_path)
    seeds = sorted({int(row["seed"]) for row in rows})
    steps = np.array([float(row["env_steps"]) for row in rows if int(row["seed"]) == seeds[0]])
    returns = np.array([[float(row["mean_return"]) for row in rows if int(row["seed"]) == seed] for seed in seeds])

    figure = Figure(figsize=(7, 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if threshold is not None:
        axes.axhline(threshold, color="#999999", linestyle=(0, (4, 3)), linewidth=1)
        axes.annotate(
            f"solved: {threshold:g}",
            (0.995, threshold),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=8,
            color="#666666",
        )
    if len(seeds) > 1:
        for row in returns:
            axes.plot(steps, row, color="#2a6fbb", alpha=0.25, linewidth=0.8)
    present = ~np.isnan(returns).all(axis=0)
    axes.plot(steps[present], np.nanmean(returns[:, present], axis=0), color="#2a6fbb", linewidth=2)
    axes.set(xlabel="environment steps", ylabel="return, mean of last 100 episodes")
    axes.set_title(title, fontsize=10, loc="left")
    axes.xaxis.set_major_formatter(
        lambda value, _: f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value else "0"
    )
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)
    temporary = picture_path.with_suffix(".partial.png")
    figure.savefig(temporary)
    os.replace(temporary, picture_path)


def _exact(value: Any) -> str:
    """Shortest text that reads back as the same number."""
    return str(value.item()) if value.dtype.kind in "iu" else np.format_float_positional(value, unique=True, trim="0")

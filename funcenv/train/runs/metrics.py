"""The metrics of a run: a CSV file with a row for each update of each seed, and a plot of the learning curve."""

from __future__ import annotations

import csv
import pathlib
from typing import Any

import numpy as np

from funcenv.files import replaced_file
from funcenv.struct import NDArray
from funcenv.train.algorithm import REQUIRED_METRICS, SUCCESS_RATE
from funcenv.train.loop import Metrics

CLOCK_COLUMNS = ("wall_seconds", "cpu_seconds", "steps_per_second")
"""Columns that differ from run to run. All others are the same bit for bit."""


class MetricsFile:
    """Appends to `metrics.csv`. A row's clocks are read after the compiled call that did its update.

    Args:
        path: The file.
        is_written: False leaves the file to another process.
    """

    def __init__(self, path: pathlib.Path, is_written: bool = True) -> None:
        self.path, self.is_written = path, is_written
        self.wall_seconds = 0.0
        self.cpu_seconds = 0.0

    def keep_until(self, num_updates: int) -> None:
        """Drop rows that an interrupted run wrote after its last checkpoint, and continue its clocks."""
        if not self.is_written or not self.path.exists():
            return
        rows = [row for row in read_metrics(self.path) if int(row["update"]) <= num_updates]
        with replaced_file(self.path) as partial, open(partial, "w", newline="") as file:
            if rows:
                writer = csv.DictWriter(file, fieldnames=list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
                self.wall_seconds, self.cpu_seconds = float(rows[-1]["wall_seconds"]), float(rows[-1]["cpu_seconds"])

    def add_time(self, wall_seconds: float, cpu_seconds: float) -> None:
        """Count time that no update took, such as that of a compilation."""
        self.wall_seconds += wall_seconds
        self.cpu_seconds += cpu_seconds

    def append(self, first_update: int, metrics: Metrics, wall_seconds: float, cpu_seconds: float) -> float:
        """Write the rows of one compiled call, and return its steps per second, those of all seeds together.

        Args:
            first_update: Number of the first update in the call, counted from 1.
            metrics: Arrays `[num_updates, num_seeds]`.
            wall_seconds: Wall time of the call.
            cpu_seconds: CPU time of the call.
        """
        self.add_time(wall_seconds, cpu_seconds)
        num_updates, num_seeds = metrics["env_steps"].shape
        steps_before = metrics["env_steps"][0, 0] - metrics["env_steps"][0, 0] // first_update
        steps_per_second = num_seeds * (metrics["env_steps"][-1, 0] - steps_before) / max(wall_seconds, 1e-9)
        if not self.is_written:
            return float(steps_per_second)
        clocks = [f"{value:.3f}" for value in (self.wall_seconds, self.cpu_seconds, steps_per_second)]
        names = [*REQUIRED_METRICS, *sorted(set(metrics) - set(REQUIRED_METRICS))]
        is_new = not self.path.exists() or self.path.stat().st_size == 0
        with open(self.path, "a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(["update", "seed", *names[:1], *CLOCK_COLUMNS, *names[1:]])
            for i in range(num_updates):
                for seed in range(num_seeds):
                    steps, *values = [_exact(metrics[name][i, seed]) for name in names]
                    writer.writerow([first_update + i, seed, steps, *clocks, *values])
        return float(steps_per_second)


EVALUATION_METRICS = ("eval_return", "eval_std", "eval_length")
"""Columns of a run that evaluates its agents; NaN in the rows of updates without an evaluation."""
EVAL_SUCCESS = "eval_success"
"""Another one, where the environment tells whether the goal is achieved."""


def with_evaluation(metrics: Metrics, figures: Metrics | None) -> Metrics:
    """Return the columns of an evaluation after the last update of a call, or of none."""
    like = metrics["mean_return"]
    names = (*EVALUATION_METRICS, EVAL_SUCCESS) if SUCCESS_RATE in metrics else EVALUATION_METRICS
    columns = {name: np.full(like.shape, np.nan, like.dtype) for name in names}
    for name, values in (figures or {}).items():
        columns[name][-1] = values
    return columns


def scores(rows: list[dict[str, str]], num_seeds: int) -> NDArray:
    """Return the returns by which a run is judged, `[num_updates, num_seeds]`: of evaluations, if it has any."""
    name = "eval_return" if rows and "eval_return" in rows[0] else "mean_return"
    return np.array([float(row[name]) for row in rows]).reshape(-1, num_seeds)


def read_metrics(path: pathlib.Path) -> list[dict[str, str]]:
    """Return the rows of a metrics file, without a last row that is incomplete, or none if there is no file.

    Raises:
        ValueError: The file holds no text, another row is incomplete, or rows are not in the order of updates and
            seeds.
    """
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            header, numbered = next(reader, []), [(reader.line_num, fields) for fields in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is damaged: {error}; restore it, or start the run again") from error
    if numbered and len(numbered[-1][1]) < len(header):
        numbered.pop()
    rows, last = [], (0, -1)
    for line, fields in numbered:
        row = dict(zip(header, fields, strict=False))
        place = _place(row) if len(fields) == len(header) else None
        if place is None or place <= last:
            raise ValueError(
                f"line {line} of {path} does not follow the line before it; several processes have written to the "
                "file, or it was changed; remove the lines that do not belong, or start the run again"
            )
        rows.append(row)
        last = place
    return rows


def _place(row: dict[str, str]) -> tuple[int, int] | None:
    """Return the update and the seed of a row, or None where they are no integers."""
    try:
        return int(row["update"]), int(row["seed"])
    except (KeyError, ValueError):
        return None


def format_return(value: float) -> str:
    """Return the text of a mean return, with enough decimals for those that lie between 0 and 1.

    >>> format_return(-107.66), format_return(0.744)
    ('-107.7', '0.74')
    """
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def draw_learning_curve(path: pathlib.Path, rows: list[dict[str, str]], title: str, threshold: float | None) -> None:
    """Plot the mean return against steps: each seed, their mean, and the threshold; nothing if no return is known."""
    from matplotlib.figure import Figure

    num_seeds = len({row["seed"] for row in rows})
    steps = np.array([float(row["env_steps"]) for row in rows[::num_seeds]])
    returns = np.array([float(row["mean_return"]) for row in rows]).reshape(-1, num_seeds)

    evaluated = scores(rows, num_seeds) if "eval_return" in rows[0] else np.full_like(returns, np.nan)
    is_evaluated, has_return = (~np.isnan(values).all(axis=1) for values in (evaluated, returns))
    if not (is_evaluated.any() or has_return.any()):
        return

    figure = Figure(figsize=(7, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    if threshold is not None:
        axes.axhline(threshold, color="#999999", linestyle=(0, (4, 3)), linewidth=1)
        style: Any = {"ha": "left", "va": "center", "fontsize": 8, "color": "#666666"}  # beside the curves
        axes.text(1.01, threshold, f"threshold\n{threshold:g}", transform=axes.get_yaxis_transform(), **style)
    if num_seeds > 1:
        axes.plot(steps, returns, color="#2a6fbb", alpha=0.25, linewidth=0.8)
    if has_return.any():
        style = {"color": "#2a6fbb", "linewidth": 2, "label": "last 100 episodes, exploring"}
        axes.plot(steps[has_return], np.nanmean(returns[has_return], axis=1), **style)
    if is_evaluated.any():
        means = evaluated[is_evaluated].mean(axis=1)
        style = {"color": "#c4512d", "linewidth": 1.5, "marker": "o", "markersize": 3, "label": "evaluation"}
        axes.plot(steps[is_evaluated], means, **style)
        axes.legend(fontsize=8, frameon=False)
    axes.set(xlabel="steps", ylabel="mean return" if is_evaluated.any() else "return, mean of last 100 episodes")
    axes.set_title(title, fontsize=10, loc="left")
    axes.xaxis.set_major_formatter(
        lambda value, _: f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value else "0"
    )
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)
    with replaced_file(path) as partial:
        figure.savefig(partial)


def _exact(value: Any) -> str:
    """Return the shortest text that reads back as the same number."""
    return str(value.item()) if value.dtype.kind in "iu" else np.format_float_positional(value, unique=True, trim="0")

"""Pictures of many tasks, as PNG files: a panel with the learning curves of each, and summaries over all."""

from __future__ import annotations

import functools
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcenv.files import replaced_file
from funcenv.registry import spec
from funcenv.struct import NDArray
from funcenv.train.reports.aggregate import bootstrap_interval, interquartile_mean, performance_profile
from funcenv.train.reports.plots import CURVE_REPLICATES, format_steps

COLOR = "#c8611a"
"""The colour of the learning curves of one algorithm."""
COLORS = (COLOR, "#2a6fbb", "#3a8f4d", "#8a4fa3", "#b03a5b", "#6b6b6b")
"""The colours of several, one after another."""
MAX_COLUMNS = 4
"""The most panels that stand side by side."""
GREY = "#777777"


class Scored(NamedTuple):
    """The scores of an algorithm in a suite: 0 is a random policy, 1 the reference of a task."""

    label: str
    final: NDArray  # [num_agents, num_tasks], of whole episodes after training
    curves: NDArray  # [num_agents, num_tasks, num_points], in training
    shares: NDArray  # [num_points], the part of each task's steps


def draw_learning_curves(path: pathlib.Path, rows: Mapping[str, Mapping[str, Any]], *, notes: Any = None) -> None:
    """Draw a panel for each row: the return of every agent in training, their mean, and the threshold if it is near.

    Args:
        path: The file.
        rows: Results as `measure_run` returns them, by names that begin with the id.
        notes: A mapping from names to a return and its text, such as a published mean, which becomes a dashed line.
    """

    def draw(name: str, axes: Any) -> None:
        _draw_curves(axes, name, rows[name], (notes or {}).get(name))

    num_rows = -(-len(rows) // MAX_COLUMNS)
    num_columns = -(-len(rows) // num_rows)
    _draw_panels(path, [functools.partial(draw, name) for name in rows], (num_rows, num_columns), 3.4)


def draw_summary(path: pathlib.Path, suite: str, all_scored: Sequence[Scored]) -> None:
    """Draw interquartile means over tasks, performance profiles and sample efficiency of one algorithm or several."""

    def means(axes: Any) -> None:
        ends = [0.0, 1.0]
        for i, one in enumerate(all_scored):
            mean = interquartile_mean(one.final)
            low, high = bootstrap_interval(interquartile_mean, one.final)
            place = len(all_scored) - 1 - i
            ends += [float(low), float(high)]
            axes.barh(place, high - low, left=low, height=0.5, color=_color(i), alpha=0.3)
            axes.plot([mean, mean], [place - 0.25, place + 0.25], color=_color(i), linewidth=2)
            words, where = f"{one.label}: {mean:.2f}", axes.get_yaxis_transform()
            axes.text(0.02, place + 0.28, words, fontsize=8, va="bottom", transform=where)
        axes.axvline(1.0, color=GREY, linestyle=(0, (4, 3)), linewidth=1)
        axes.set(xlim=(min(ends) - 0.05, max(ends) + 0.1), ylim=(-0.8, len(all_scored) - 0.2), yticks=[])
        axes.set_xlabel("score: 0 random policy, 1 reference")
        axes.set_title(f"{suite}: interquartile mean\nover tasks and agents, 95% interval", fontsize=9, loc="left")

    def profiles(axes: Any) -> None:
        low, high = (getattr(np, name)([getattr(one.final, name)() for one in all_scored]) for name in ("min", "max"))
        thresholds = np.linspace(max(min(low, 0.0), -1.0) - 0.05, max(high, 1.0) + 0.05, 300)
        for i, one in enumerate(all_scored):
            axes.step(thresholds, performance_profile(one.final, thresholds), where="pre", **_line(i, one.label))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set(xlabel="score", ylabel="tasks and agents above it", ylim=(-0.03, 1.03))
        axes.set_title("performance profile", fontsize=9, loc="left")

    def efficiency(axes: Any) -> None:
        for i, one in enumerate(all_scored):
            if len(one.curves) > 1 or one.curves.shape[1] > 1:
                band = bootstrap_interval(interquartile_mean, one.curves, num_replicates=CURVE_REPLICATES)
                axes.fill_between(one.shares, *band, color=_color(i), alpha=0.18, linewidth=0)
            axes.plot(one.shares, interquartile_mean(one.curves), **_line(i, one.label))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set(xlabel="part of each task's steps", ylabel="score in training", xlim=(0, 1))
        axes.set_title("sample efficiency, interquartile mean", fontsize=9, loc="left")
        if len(all_scored) > 1:
            axes.legend(fontsize=8, frameon=False)

    _draw_panels(path, [means, profiles, efficiency], (1, 3), 3.9)


def _draw_curves(axes: Any, name: str, row: Mapping[str, Any], note: tuple[float, str] | None) -> None:
    steps, returns = np.array(row["curve_steps"]), np.array(row["curve_returns"])
    if returns.shape[1] > 1:
        axes.plot(steps, returns, color=COLOR, alpha=0.3, linewidth=0.8)
    axes.plot(steps, returns.mean(axis=1), color=COLOR, linewidth=2, marker="o" if len(steps) == 1 else None)
    threshold = spec(name.partition(" ")[0]).reward_threshold
    if threshold is not None and threshold < 1.4 * returns.max():
        _draw_level(axes, threshold, f"solved: {threshold:g}", "left")
    if note is not None and (note[0] != threshold or threshold >= 1.4 * returns.max()):
        _draw_level(axes, note[0], note[1], "right")
    agents = "1 agent" if returns.shape[1] == 1 else f"{returns.shape[1]} agents"
    axes.set_title(f"{name}\n{agents}, {row['cpu_seconds']:.0f} CPU-s", fontsize=9, loc="left")
    axes.set(xlabel="environment steps of each agent", ylabel="return, last 100 episodes", xlim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: format_steps(value))


def _draw_level(axes: Any, level: float, text: str, side: str) -> None:
    """Draw a dashed line at a return, with its text at one side."""
    from matplotlib.patheffects import withStroke

    axes.axhline(level, color="#999999", linestyle=(0, (4, 3)), linewidth=1)
    axes.margins(y=0.12)
    style: dict[str, Any] = {"ha": side, "va": "bottom", "fontsize": 8, "color": "#666666"}
    label = axes.text(0.01 if side == "left" else 0.99, level, text, transform=axes.get_yaxis_transform(), **style)
    label.set_path_effects([withStroke(linewidth=3, foreground="white")])  # readable over a curve


def _draw_panels(
    path: pathlib.Path, draw: Sequence[Callable[[Any], None]], shape: tuple[int, int], width: float
) -> None:
    """Draw panels row by row, each by a function of its axes, and write them to a file."""
    from matplotlib.figure import Figure

    num_rows, num_columns = shape
    figure = Figure(figsize=(width * num_columns, 2.9 * num_rows), dpi=150, layout="constrained")
    panels = figure.subplots(num_rows, num_columns, squeeze=False).ravel()
    for axes, fill in zip(panels, draw, strict=False):
        fill(axes)
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(draw) : math.prod(shape)]:
        axes.remove()
    with replaced_file(path) as partial:
        figure.savefig(partial)


def _color(index: int) -> str:
    return COLORS[index % len(COLORS)]


def _line(index: int, label: str) -> dict[str, Any]:
    return {"color": _color(index), "linewidth": 1.8, "label": label}

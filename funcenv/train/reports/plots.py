"""Plots of a report, as SVG whose colours are CSS variables of its page, so that they follow the dark mode."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcenv.train.reports.aggregate import bootstrap_interval, interquartile_mean, performance_profile
from funcenv.train.reports.comparison import Method

NUM_SERIES = 8
"""The number of colours `--series-0` and so on of the page; more methods than that use them again, with dashes."""

MAX_CURVE_POINTS = 200
CURVE_REPLICATES = 500

_SIZES = {"wide": (9.2, 3.9), "narrow": (4.0, 3.6)}  # inches; a style sheet shows one of the two
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)))
# Colours that stand for variables until the plot is drawn.
_TEXT, _MUTED, _LINE = "#010101", "#020202", "#030303"
_VARIABLES = {_TEXT: "text", _MUTED: "muted", _LINE: "line"} | {
    f"#0000{16 + i:02x}": f"series-{i}" for i in range(NUM_SERIES)
}


def draw_curves(methods: Sequence[Method]) -> str:
    """Return the learning curves of methods in one environment: interquartile means, bands, and the threshold."""
    curves = [_curve(method) for method in methods]
    threshold, is_evaluated = methods[0].runs[0].threshold, methods[0].runs[0].is_evaluated

    def draw(axes: Any) -> None:
        for i, (steps, mean, band) in enumerate(curves):
            style: dict[str, Any] = _line_style(i)
            if band is not None:
                axes.fill_between(steps, *band, color=_series_color(i), alpha=0.18, linewidth=0)
            axes.plot(steps, mean, linewidth=1.8, marker="o" if len(steps) == 1 else None, **style)
        if threshold is not None:
            axes.axhline(threshold, color=_MUTED, linestyle=(0, (4, 3)), linewidth=1)
            low, high = axes.get_ylim()
            is_below = threshold > low + 0.9 * (high - low)
            style = {"color": _MUTED, "fontsize": 8, "ha": "right", "va": "top" if is_below else "bottom"}
            style |= {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
            axes.annotate(f"threshold {threshold:g}", (1, threshold), (0, -2 if is_below else 2), **style)
        axes.set(xlabel="environment steps of each agent", ylabel="return" if is_evaluated else "return, last 100")
        axes.xaxis.set_major_formatter(lambda value, _: format_steps(value))

    return _both_sizes(draw, "learning curves")


def draw_profiles(methods: Sequence[Method]) -> str:
    """Return the performance profiles of methods in one environment: how many agents reach at least which return."""
    finals = [method.final for method in methods]
    low, high = min(final.min() for final in finals), max(final.max() for final in finals)
    margin = 0.05 * (high - low) or 1.0
    thresholds = np.unique(np.concatenate([np.linspace(low - margin, high + margin, 200), *map(np.ravel, finals)]))

    def draw(axes: Any) -> None:
        for i, final in enumerate(finals):
            axes.step(thresholds, performance_profile(final, thresholds), where="pre", linewidth=1.8, **_line_style(i))
        axes.set(xlabel="final return", ylabel="agents above it", ylim=(-0.03, 1.03))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    return _both_sizes(draw, "performance profiles")


def format_steps(value: float) -> str:
    """Return the text of a number of steps.

    >>> format_steps(0), format_steps(5000), format_steps(1.5e6)
    ('0', '5k', '1.5M')
    """
    return f"{value / 1e6:g}M" if abs(value) >= 1e6 else f"{value / 1e3:g}k" if abs(value) >= 1e3 else f"{value:g}"


def _line_style(index: int) -> dict[str, Any]:
    """Return the colour of a method, as its placeholder, and its dashes."""
    return {"color": _series_color(index), "linestyle": _DASHES[index // NUM_SERIES % len(_DASHES)]}


def _series_color(index: int) -> str:
    return f"#0000{16 + index % NUM_SERIES:02x}"


def _curve(method: Method) -> tuple[Any, Any, Any]:
    """Return the steps, the interquartile mean and its band, which a single agent has not."""
    steps, returns = method.curve()
    kept = np.unique(np.linspace(0, len(steps) - 1, MAX_CURVE_POINTS).round().astype(int))
    steps, returns = steps[kept], returns[..., kept]
    has_band = len(returns) > 1
    band = bootstrap_interval(interquartile_mean, returns, num_replicates=CURVE_REPLICATES) if has_band else None
    return steps, interquartile_mean(returns), band


def _both_sizes(draw: Callable[[Any], None], title: str) -> str:
    return "\n".join(f'<div class="plot {name}">{_svg(draw, size, title)}</div>' for name, size in _SIZES.items())


def _svg(draw: Callable[[Any], None], size: tuple[float, float], title: str) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "font.family": "sans-serif"}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        axes.tick_params(colors=_MUTED, labelsize=9)
        draw(axes)
        axes.grid(color=_LINE, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_LINE)
        for label in (axes.xaxis.label, axes.yaxis.label):
            label.set(color=_MUTED, fontsize=9)
        axes.margins(x=0.01)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return _themed(written.getvalue(), title)


def _themed(text: str, title: str) -> str:
    """Return an SVG element whose colours are variables of the page, and whose names differ from those of others."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]+)"[^>]*>',
        lambda found: f'<svg role="img" aria-label="{html.escape(title)}" viewBox="{found[1]}">',
        text,
        count=1,
    )
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font: \1 system-ui, sans-serif", text)
    for placeholder, name in _VARIABLES.items():
        text = text.replace(placeholder, f"var(--{name})")
    return text

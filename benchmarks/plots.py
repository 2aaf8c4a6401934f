"""Plots of the suite's results: speed against the number of environments, and the cost of each part of a step."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Callable
from typing import Any

from rows import CLASSIC, ENVS

INK, SOFT, GRID, PAPER = "#1c2330", "#697386", "#e6e9ef", "#ffffff"
COLORS = {
    "funcenv": "#3f51b5",
    "funcenv in jit": "#8c9eff",
    "gymnax": "#e8710a",
    "C": "#1c2330",
    "C, cheap hash": "#9aa3b2",
    "CartPoleVectorEnv": "#188038",
    "Gymnasium": "#188038",
    "phys2d": "#7cb342",
    "envpool": "#a142f4",
    "brax (comparable)": "#c5221f",
    "funcenv in jit, now": "#3f51b5",
    "pgx": "#188038",
    "jumanji (comparable)": "#12858d",
}
LEVELS = ("Gymnasium",)
"""Peers that step one environment; their speed is drawn as a horizontal line."""
TITLES = {"Gymnasium": "Gymnasium (1 env)", "brax (comparable)": "brax*", "jumanji (comparable)": "jumanji*"}
STYLES = {
    "funcenv in jit": (0, (4, 1.5)),
    "funcenv in jit, now": (0, (4, 1.5)),
    "C": (0, (6, 2)),
    "C, cheap hash": (0, (1.5, 1.8)),
}
PART_COLORS = {
    "physics": "#3f51b5",
    "randomness": "#e8710a",
    "reset": "#12858d",
    "observation": "#c58af9",
    "bookkeeping": "#c3cad6",
}
MAX_BYTES = 100_000
ON_HARDWARE = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MinAtar/Breakout-v1")
STEPS_OF_ITERATION = 4  # a rollout on a GPU takes so many now


def draw_all(results: dict[str, Any], folder: pathlib.Path) -> list[pathlib.Path]:
    """Draw every plot for which there are results as SVG, and return the files.

    Raises:
        ImportError: matplotlib is missing.
    """
    speeds = series(results.get("speed", []))
    files = []
    with _style():
        for name, draw, data in (
            ("speed_cartpole", _draw_one, {"CartPole-v1": speeds.get(("CartPole-v1", False), {})}),
            ("speed_envs", _draw_many, _some(speeds, lambda env, keep: not keep and env in CLASSIC[1:])),
            ("speed_kept", _draw_many, _some(speeds, lambda env, keep: keep)),
            ("breakdown", _draw_breakdown, {env: anatomy["breakdown"] for env, anatomy in anatomies(results).items()}),
        ):
            if any(data.values()):
                files.append(_save(draw(data), folder / f"{name}.svg"))
    return files


def draw_hardware(results: dict[str, Any], path: pathlib.Path) -> pathlib.Path:
    """Draw the speeds of `benchmarks/hardware.py` for some ids that other libraries have."""
    data: dict[str, dict[str, list[tuple[int, float, float, float]]]] = {}
    for env_id, sizes in ((env_id, results["tasks"][env_id]) for env_id in ON_HARDWARE):
        lines: dict[str, list[tuple[int, float, float, float]]] = {}
        for size, programs in sizes.items():
            for name, figures in programs.items():
                if "error" not in figures:
                    lines.setdefault(name, []).append((int(size), figures["steps_per_second"], *figures["range"]))
        data[env_id] = lines
    for row in results["unrolled"]:
        if row["program"] == "funcenv in jit" and row["steps_an_iteration"] == STEPS_OF_ITERATION:
            speeds = [row["num_envs"] / one * 1e6 for one in (row["microseconds"], *reversed(row["range"]))]
            data[row["id"]].setdefault("funcenv in jit, now", []).append((row["num_envs"], *speeds))
    with _style():
        return _save(_draw_many(data, "steps per second"), path)


def _style() -> Any:
    """Return the context in which plots are drawn.

    Raises:
        ImportError: matplotlib is missing.
    """
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the plots need matplotlib: pip install "funcenv[train]"') from None
    matplotlib.use("svg")
    return matplotlib.rc_context(
        {
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"],
            "svg.fonttype": "none",
            "font.size": 9,
            "text.color": INK,
            "axes.labelcolor": SOFT,
            "xtick.color": SOFT,
            "ytick.color": SOFT,
            "svg.hashsalt": "funcenv",
            "figure.facecolor": PAPER,
            "axes.facecolor": PAPER,
        }
    )


def series(rows: list[dict[str, Any]]) -> dict[tuple[str, bool], dict[str, list[tuple[int, float, float, float]]]]:
    """Return the batch size and the median, smallest and largest speed of each point, by (env, keep) and by peer."""
    found: dict[tuple[str, bool], dict[str, list[tuple[int, float, float, float]]]] = {}
    for row in sorted(rows, key=lambda row: (ENVS.index(row["env"]), row["num_envs"])):
        lines = found.setdefault((row["env"], row["keep"]), {})
        for name, figures in row["peers"].items():
            if "error" not in figures:
                point = (row["num_envs"], figures["steps_per_cpu_second"], *figures["speed_range"])
                lines.setdefault(name, []).append(point)
    return found


def _some(speeds: dict[tuple[str, bool], Any], wanted: Callable[[str, bool], bool]) -> dict[str, Any]:
    """Return the lines of some environments for small plots, which have no room for the slowest peers."""
    return {
        env: {name: points for name, points in lines.items() if name not in ("phys2d", "brax (comparable)")}
        for (env, keep), lines in speeds.items()
        if wanted(env, keep)
    }


def anatomies(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the parts of a step and its memory for each environment."""
    rows = {row["env"]: row["peers"]["funcenv"] for row in results.get("anatomy", [])}
    return {env: figures["result"] for env, figures in rows.items() if "result" in figures}


def _draw_one(data: dict[str, Any]) -> Any:
    """Draw one environment with all peers."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.2, 4.8))
    ((env, lines),) = data.items()
    _draw_lines(axes, lines, numbers_of(data))
    axes.set_title(f"{env}, random policy, no trajectory kept", loc="left", fontsize=11, fontweight="bold", pad=12)
    axes.set_ylabel("environment steps per CPU-second")
    axes.set_xlabel("environments")
    note = "one core; medians of interleaved runs, bands from the smallest to the largest"
    if any(name.endswith("(comparable)") for name in lines):
        note += "; * a comparable task, not the same"
    figure.text(0.012, 0.012, note, fontsize=7.5, color=SOFT)
    figure.subplots_adjust(left=0.09, right=0.81, bottom=0.17, top=0.9)
    _label_lines(axes, lines, size=9)
    return figure


def _draw_many(data: dict[str, Any], unit: str = "steps per CPU-second") -> Any:
    """Draw several environments on common axes."""
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    columns = min(len(data), 2)
    rows = math.ceil(len(data) / columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(4.7 * columns, 2.75 * rows + 0.3), squeeze=False, sharex=True, sharey=True
    )
    for axes in grid.flat[len(data) :]:
        axes.set_visible(False)
    for axes, (env, lines) in zip(grid.flat, data.items(), strict=False):
        _draw_lines(axes, lines, numbers_of(data))
        axes.set_title(env, loc="left", fontsize=10, fontweight="bold")
    bottom, top = grid[0, 0].get_ylim()
    if top < 100 * bottom:  # too few powers of ten for labels
        grid[0, 0].yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    for axes in grid[:, 0]:
        axes.set_ylabel(unit)
    for axes in grid[-1]:
        axes.set_xlabel("environments")
    figure.subplots_adjust(left=0.09, right=0.87 if columns > 1 else 0.8, wspace=0.46, hspace=0.2)
    for axes, lines in zip(grid.flat, data.values(), strict=False):
        _label_lines(axes, lines, size=8)
    return figure


def numbers_of(data: dict[str, Any]) -> list[int]:
    """Return the batch sizes in any of the plots that share an axis."""
    return sorted({point[0] for lines in data.values() for points in lines.values() for point in points})


def _draw_lines(axes: Any, lines: dict[str, Any], all_numbers: list[int]) -> None:
    """Draw speed against the number of environments, both logarithmic."""
    for name, points in lines.items():
        numbers, speeds, low, high = zip(*points, strict=True)
        color, first = COLORS[name], name == "funcenv"
        if name in LEVELS:
            axes.axhline(speeds[0], color=color, linewidth=1.2, linestyle=(0, (4, 3)), alpha=0.8, zorder=1)
            continue
        axes.fill_between(numbers, low, high, color=color, alpha=0.15, linewidth=0)
        axes.plot(
            numbers,
            speeds,
            color=color,
            linewidth=2.6 if first else 1.5,
            linestyle=STYLES.get(name, "-"),
            marker="o",
            markersize=5 if first else 4,
            markeredgecolor=PAPER,
            markeredgewidth=0.5,
            zorder=3 if first else 2,
            solid_capstyle="round",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(all_numbers[0] / 1.5, all_numbers[-1] * 1.5)
    shown = [number for number in all_numbers if math.log2(number) % 4 == 0] or all_numbers
    axes.set_xticks(shown, ["1M" if number == 2**20 else f"{number:,}" for number in shown])
    axes.xaxis.set_minor_locator(_no_locator())
    axes.yaxis.set_minor_locator(_no_locator())
    axes.yaxis.set_major_formatter(lambda value, _: _short(value))
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.tick_params(length=0)


def _label_lines(axes: Any, lines: dict[str, Any], size: float) -> None:
    """Write each line's name at its end. The axes must have their final limits and positions."""
    last = max(points[-1][0] for points in lines.values())
    ends = [(last if name in LEVELS else points[-1][0], points[-1][1], name) for name, points in lines.items()]
    for number, speed, name in ends:
        if number < last:
            _label_here(axes, number, speed, name, size)
    _label_ends(axes, [end for end in ends if end[0] == last], size)


def _label_here(axes: Any, number: float, speed: float, name: str, size: float) -> None:
    """Write the name of a line that ends inside the plot."""
    axes.annotate(
        TITLES.get(name, name),
        xy=(number, speed),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=size,
        color=COLORS[name],
        bbox={"boxstyle": "square,pad=0.12", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.85},
        zorder=4,
    )


def _label_ends(axes: Any, ends: list[tuple[float, float, str]], size: float) -> None:
    """Write names to the right of the plot at the heights of their lines, moved apart so that none overlap."""
    bottom, top = (math.log10(limit) for limit in axes.get_ylim())
    gap = 1.35 * size / (axes.get_position().height * axes.figure.get_figheight() * 72)
    heights = {name: (math.log10(speed) - bottom) / (top - bottom) for _, speed, name in ends}
    places = spread(heights, gap)
    for number, speed, name in ends:
        is_moved = abs(places[name] - heights[name]) > gap / 2
        line = {"arrowstyle": "-", "color": COLORS[name], "alpha": 0.4, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 3}
        axes.annotate(
            TITLES.get(name, name),
            xy=(number, speed),
            xytext=(1.02, places[name]),
            textcoords="axes fraction",
            va="center",
            fontsize=size,
            color=COLORS[name],
            fontweight="bold" if name == "funcenv" else "normal",
            annotation_clip=False,
            arrowprops=line if is_moved else None,
        )


def spread(heights: dict[str, float], gap: float) -> dict[str, float]:
    """Return positions at least `gap` apart, in the order of the heights and close to them.

    Neighbours that are too close become a group, which is centred on the mean of its members' heights.
    """
    groups: list[list[str]] = []
    for name in sorted(heights, key=lambda name: heights[name]):
        groups.append([name])
        while len(groups) > 1 and _bottom(groups[-1], heights, gap) - _top(groups[-2], heights, gap) < gap:
            groups[-2:] = [groups[-2] + groups[-1]]
    return {name: _bottom(group, heights, gap) + gap * place for group in groups for place, name in enumerate(group)}


def _bottom(group: list[str], heights: dict[str, float], gap: float) -> float:
    return sum(heights[name] for name in group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: list[str], heights: dict[str, float], gap: float) -> float:
    return _bottom(group, heights, gap) + gap * (len(group) - 1)


def _draw_breakdown(data: dict[str, Any]) -> Any:
    """Draw the nanoseconds of each part of a step as stacked bars."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.2, 0.46 * len(data) + 1.7))
    num_envs = next(iter(data.values()))["num_envs"]
    widest = 0.0
    for place, breakdown in enumerate(data.values()):
        left = 0.0
        for part, color in PART_COLORS.items():
            width = max(breakdown["nanoseconds"][part], 0.0)
            axes.barh(place, width, left=left, color=color, height=0.62, edgecolor=PAPER, linewidth=0.6)
            left += width
        widest = max(widest, left)
        axes.text(left, place, f"  {left:.3g} ns", va="center", fontsize=8.5, color=INK)
    axes.set_xlim(0, widest * 1.1)
    axes.set_yticks(range(len(data)), list(data))
    axes.tick_params(axis="y", labelsize=9, labelcolor=INK)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(f"nanoseconds of CPU for each environment's step, {num_envs:,} environments")
    axes.set_title("The cost of each part of a step", loc="left", fontsize=11, fontweight="bold", pad=28, x=0)
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in PART_COLORS.values()]
    axes.legend(
        handles,
        list(PART_COLORS),
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=len(PART_COLORS),
        frameon=False,
        fontsize=8.5,
        handlelength=1,
        handleheight=1,
        columnspacing=1.4,
    )
    figure.tight_layout()
    return figure


def _rounded(number: re.Match[str]) -> str:
    """Round coordinates to hundredths of a point, and leave factors below 1 as they are."""
    return f"{float(number[0]):.2f}" if float(number[0]) >= 1 else number[0]


def _no_locator() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _short(value: float) -> str:
    """Format a number as 1 k, 10 M or 1 G."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _save(figure: Any, path: pathlib.Path) -> pathlib.Path:
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": "funcenv"}, bbox_inches="tight", pad_inches=0.15)
    plt.close(figure)
    path.write_text(re.sub(r"\d+\.\d{3,}", _rounded, path.read_text()))
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(
            f"{path.name} has {size:,} bytes, but a plot in the docs may have at most {MAX_BYTES:,}; draw fewer points"
        )
    return path

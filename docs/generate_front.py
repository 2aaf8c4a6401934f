"""The charts of the front page, drawn as SVG from the measured figures: speed beside other libraries, and learning.

mkdocs calls `on_page_markdown` while it builds the site (`hooks:` in mkdocs.yml). The markers `<!-- speed -->` and
`<!-- learning -->` are replaced; docs/assets/bench/results.json and docs/returns.json are the only sources.
"""

from __future__ import annotations

import decimal
import json
import pathlib
from typing import Any

import numpy as np
from result_tables import return_of

import funcenv

DOCS = pathlib.Path(__file__).parent
SPEED_ENV, SPEED_SIZE = "CartPole-v1", 4096
LEARNING_ENV = "LunarLander-v3"
NAMES = {
    "C": "C, hand-written",
    "funcenv": "funcenv",
    "CartPoleVectorEnv": "Gymnasium (NumPy, batch)",
    "gymnax": "gymnax",
    "envpool": "EnvPool (1 thread)",
}
"""The bars of the chart of speeds, by the names of programs in results.json."""


def speeds() -> dict[str, float]:
    """Return the steps per CPU-second of every program in the chart."""
    rows = json.loads((DOCS / "assets" / "bench" / "results.json").read_text())["speed"]
    (row,) = (one for one in rows if (one["env"], one["num_envs"], one["keep"]) == (SPEED_ENV, SPEED_SIZE, False))
    return {name: row["peers"][name]["steps_per_cpu_second"] for name in NAMES}


def digits(steps: float) -> str:
    """Return millions of steps with three digits, rounded as on the benchmark's page.

    >>> digits(226_500_000.0), digits(1_305_000.0)
    ('227', '1.31')
    """
    exact = decimal.Decimal(str(steps)) / 1_000_000
    places = max(0, 2 - exact.adjusted())
    return str(exact.quantize(decimal.Decimal(1).scaleb(-places), decimal.ROUND_HALF_UP))


def speed_chart() -> str:
    """Return a figure with a bar for each program."""
    found = speeds()
    bars = []
    for index, (name, label) in enumerate(NAMES.items()):
        y, width = 8 + 34 * index, max(2.0, 225 * found[name] / max(found.values()))
        kind = "ours" if name == "funcenv" else "theirs"
        bars.append(
            f'<text class="label {kind}" x="0" y="{y + 8}">{label}</text>'
            f'<rect class="{kind}" x="0" y="{y + 13}" width="{width:.1f}" height="11" rx="2"/>'
            f'<text class="value {kind}" x="{width + 6:.1f}" y="{y + 23}">{digits(found[name])} M</text>'
        )
    return (
        f'<figure class="chart"><figcaption><strong>{digits(found["funcenv"])} million steps per CPU-second</strong>'
        f" {SPEED_ENV}, {SPEED_SIZE:,} environments, one core, random actions</figcaption>"
        f'<svg viewBox="0 0 300 176" role="img" aria-label="Steps per CPU-second of {SPEED_ENV}">{"".join(bars)}</svg>'
        "</figure>"
    )


def learning_chart() -> str:
    """Return a figure with the learning curves of the agents of one preset."""
    trained = json.loads((DOCS / "returns.json").read_text())[LEARNING_ENV]["trained"]
    steps, returns = np.array(trained["curve_steps"]), np.array(trained["curve_returns"])
    threshold = float(funcenv.spec(LEARNING_ENV).reward_threshold or 0.0)
    low, high = float(returns.min()), float(max(returns.max(), threshold)) + 20
    x = 34 + 258 * steps / steps[-1]
    heights = {value: 150 - 142 * (value - low) / (high - low) for value in (*returns.ravel(), threshold, 0.0)}

    def line(values: Any, kind: str) -> str:
        points = " ".join(
            f"{at:.1f},{150 - 142 * (value - low) / (high - low):.1f}" for at, value in zip(x, values, strict=True)
        )
        return f'<polyline class="{kind}" points="{points}"/>'

    lines = "".join(line(column, "agent") for column in returns.T) + line(returns.mean(axis=1), "mean")
    marks = "".join(
        f'<path class="grid" d="M34 {heights[value]:.1f}H292"/>'
        f'<text x="30" y="{heights[value] + 3:.1f}" text-anchor="end">{value:.0f}</text>'
        for value in (0.0, threshold)
    )
    seconds, count = trained["cpu_seconds"], returns.shape[1]
    return (
        f'<figure class="chart"><figcaption><strong>LunarLander solved in {seconds:.0f} CPU-seconds</strong>'
        f" {count} agents together, PPO's preset, return {return_of(trained)}</figcaption>"
        f'<svg viewBox="0 0 300 176" role="img" aria-label="Return against steps in {LEARNING_ENV}">{marks}{lines}'
        f'<text x="34" y="166">0</text><text x="292" y="166" text-anchor="end">{steps[-1] / 1e6:.1f} M steps</text>'
        "</svg></figure>"
    )


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Replace the markers (called by mkdocs)."""
    del kwargs
    if page.file.src_uri != "index.md":
        return markdown
    return markdown.replace("<!-- speed -->", speed_chart()).replace("<!-- learning -->", learning_chart())

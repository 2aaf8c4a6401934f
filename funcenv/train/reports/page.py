"""The page of a report on runs: tables, learning curves, performance profiles and recorded episodes."""

from __future__ import annotations

import html
import importlib.resources
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcenv.replay.html import player_script, player_style, security_policy
from funcenv.replay.replay import Replay
from funcenv.train.reports.comparison import (
    Method,
    compare,
    differences,
    format_interval,
    improvement_text,
)
from funcenv.train.reports.plots import NUM_SERIES, draw_curves, draw_profiles
from funcenv.train.runs.metrics import format_return


def build_report(methods: Sequence[Method], replays: Sequence[tuple[str, Replay]]) -> str:
    """Return the whole page."""
    figures = compare(methods)
    environments = list(dict.fromkeys(method.env_id for method in methods))
    title = f"{', '.join(environments)}: {_count(sum(len(method.runs) for method in methods), 'run')}"
    sections = [
        _section("Results", _results(figures), _judged(figures)),
        *(
            _section(
                f"Learning curves in {env_id}",
                _legend(own) + draw_curves(own),
                "Interquartile mean over agents; the band is its 95% bootstrap interval.",
            )
            + _profiles(env_id, own)
            for env_id in environments
            for own in [[method for method in methods if method.env_id == env_id]]
        ),
        _section("Probability of improvement", _improvements(figures), "With 95% bootstrap intervals.")
        if figures["improvements"]
        else "",
        _section("Settings that differ", _settings(methods)) if len(methods) > 1 else "",
        _section("Cost", _cost(figures, methods), "Time of all agents of all runs together, compilation included."),
        _section("Best and worst episodes", "".join(_player(*one) for one in replays)) if replays else "",
    ]
    style = (importlib.resources.files("funcenv.train.reports") / "report.css").read_text(encoding="utf-8")
    body = "".join(sections)
    styles = dict.fromkeys([style, *re.findall(r"<style[^>]*>(.*?)</style>", body, re.DOTALL)])  # curves have some
    if replays:  # the policy also holds in an iframe's `srcdoc`
        policy = security_policy([player_script()], [*styles, player_style()], allows_attributes=True)
    else:
        policy = security_policy([], [*styles], allows_attributes=True)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="funcenv">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<link rel="icon" href="data:,">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{html.escape(title)}</h1></header>
<main>
{body}
</main>
</body>
</html>
"""


def format_seconds(seconds: float) -> str:
    """Return the text of a duration.

    >>> format_seconds(9.84), format_seconds(75), format_seconds(7260)
    ('9.8 s', '1:15 min', '2:01 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02} h"


def _section(title: str, body: str, note: str = "") -> str:
    note = f'<p class="note">{html.escape(note)}</p>' if note else ""
    return f"<section><h2>{html.escape(title)}</h2>{body}{note}</section>\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table whose first column names its rows, and which scrolls where it is too wide."""
    header = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    body = "".join(
        f'<tr><th scope="row">{html.escape(str(name))}</th>'
        + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return f'<div class="table"><table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></div>'


def _results(figures: dict[str, Any]) -> str:
    head = (
        "Method",
        "Final return",
        "95% interval",
        "Worst",
        "Best",
        "Greedy",
        "Threshold",
        "Reached at",
        "Steps",
        "Agents",
    )
    rows = (
        (
            one["label"],
            format_return(one["interquartile_mean"]),
            format_interval(one["interval"]) or "–",
            format_return(one["worst"]),
            format_return(one["best"]),
            "–" if one["greedy_returns"] is None else format_return(float(np.mean(one["greedy_returns"]))),
            "–" if one["threshold"] is None else f"{one['threshold']:g}",
            "–" if one["solved_at"] is None else f"{one['solved_at']:,}",
            f"{one['env_steps']:,}",
            one["num_agents"],
        )
        for one in figures["methods"]
    )
    return _table(head, rows)


def _judged(figures: dict[str, Any]) -> str:
    judged = " or ".join(dict.fromkeys(one["judged_by"] for one in figures["methods"]))
    return (
        f"The final return is the interquartile mean over agents of the mean return in {judged}. "
        "The greedy return is the mean over whole episodes of the saved agents, without exploration, as evaluate and "
        "replay play them. A threshold is reached where all agents are at it at the same time, in training."
    )


def _legend(methods: Sequence[Method]) -> str:
    entries = "".join(
        f'<li><span class="key" style="background: var(--series-{i % NUM_SERIES})"></span>{html.escape(one.label)}</li>'
        for i, one in enumerate(methods)
    )
    return f'<ul class="legend">{entries}</ul>'


def _profiles(env_id: str, methods: Sequence[Method]) -> str:
    if max(len(method.final) for method in methods) < 2:
        return ""
    body = _legend(methods) + draw_profiles(methods)
    return _section(f"Performance profiles in {env_id}", body, "The part of the agents whose final return is larger.")


def _improvements(figures: dict[str, Any]) -> str:
    items = "".join(f"<li>{html.escape(improvement_text(one))}</li>" for one in figures["improvements"])
    return f'<ul class="plain">{items}</ul>'


def _settings(methods: Sequence[Method]) -> str:
    table = differences([method.runs[0] for method in methods])
    rows = ((name, *("–" if value is None else value for value in values)) for name, values in table.items())
    return _table(("Setting", *(method.label for method in methods)), rows)


def _cost(figures: dict[str, Any], methods: Sequence[Method]) -> str:
    rows = (
        (
            one["label"],
            f"{one['steps_per_second']:,.0f}",
            format_seconds(one["wall_seconds"]),
            format_seconds(one["cpu_seconds"]),
            one["device"],
            method.runs[0].description["versions"]["jax"],
        )
        for one, method in zip(figures["methods"], methods, strict=True)
    )
    return _table(("Method", "Steps per second", "Time", "CPU time", "Device", "JAX"), rows)


def _player(label: str, replay: Replay) -> str:
    page = html.escape(replay.to_html())
    return f'<iframe srcdoc="{page}" title="Episodes of {html.escape(label)}" loading="lazy"></iframe>'


def _count(number: int, name: str) -> str:
    return f"{number} {name}" + ("" if number == 1 else "s")

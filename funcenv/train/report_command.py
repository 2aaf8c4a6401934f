"""The command `funcenv report RUN...`, which writes one page on several runs."""

from __future__ import annotations

import dataclasses
import html
import importlib.resources
import os
import pathlib
import sys
import webbrowser
from collections.abc import Iterable, Sequence
from typing import Any

from funcenv.display import has_display
from funcenv.random import key
from funcenv.replay import can_draw
from funcenv.replay.record import record
from funcenv.replay.replay import Replay
from funcenv.train.best import pick_agent
from funcenv.train.compare_command import format_interval, format_seconds, improvement_text
from funcenv.train.comparison import Method, compare, differences, group_runs, read_run
from funcenv.train.metrics import format_return
from funcenv.train.policy import load_agents
from funcenv.train.report_plots import NUM_SERIES, draw_curves, draw_profiles


@dataclasses.dataclass(frozen=True)
class ReportOptions:
    """What a report shows, and where it is written."""

    output: str = "report.html"
    """file to write"""
    replay_episodes: int = 16
    """episodes of each agent, of which the best and the worst are shown; 0 for none"""
    max_steps: int = 1000
    """largest number of steps in an episode"""
    seed: int = 0
    """seed of the episodes"""
    best: bool = False
    """play the best agents of the runs instead of the newest"""
    open: bool = True
    """open the page in a browser, if there is a display"""
    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all"""


def report_runs(folders: Sequence[str | os.PathLike[str]], options: ReportOptions) -> pathlib.Path:
    """Write a page that loads nothing from the network: curves, differences, cost, best and worst episodes.

    Raises:
        FileNotFoundError: A folder holds no run, or there is no folder for the page.
        ValueError: No episode has ended in a run.
    """
    path = pathlib.Path(options.output)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--output: there is no folder {path.parent}; make it first")
    methods = group_runs(read_run(folder) for folder in folders)
    replays = []
    for method in methods if options.replay_episodes else ():
        print(
            f"playing {options.replay_episodes} episodes of each agent of {method.label}", file=sys.stderr, flush=True
        )
        replays.append((method.label, extreme_episodes(method, options)))
    text = build_report(methods, [(label, replay) for label, replay in replays if replay is not None])
    partial = path.with_suffix(".partial.html")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
    print(f"report on {len(folders)} runs: {path}")
    if options.open and has_display():
        webbrowser.open(path.resolve().as_uri())
    return path


def extreme_episodes(method: Method, options: ReportOptions) -> Replay | None:
    """Return the best and the worst episode of the agents of a method's first run, or None if there is no scene."""
    learner, agents = load_agents(method.runs[0].folder, best=options.best)
    if not can_draw(learner.env):
        return None
    episodes = []
    for index in range(learner.config.num_seeds):
        agent = pick_agent(learner, agents, index)
        replay = record(
            learner.env, agent, key(options.seed), options.replay_episodes, max_steps=options.max_steps, title="of 1"
        )
        name = f", agent {index}" if learner.config.num_seeds > 1 else ""
        episodes += [dataclasses.replace(episode, title=name) for episode in replay.episodes]
    ranked = sorted(episodes, key=lambda episode: episode.episode_return)
    shown = [("Best", ranked[-1]), ("Worst", ranked[0])]
    titled = [dataclasses.replace(episode, title=f"{name}{episode.title}") for name, episode in shown]
    return Replay(tuple(titled), replay.fps, f"{method.label}: best and worst of {len(episodes)} episodes")


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
    style = (importlib.resources.files("funcenv.train") / "report.css").read_text(encoding="utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
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
<style>
{style}
</style>
</head>
<body>
<header><h1>{html.escape(title)}</h1></header>
<main>
{"".join(sections)}
</main>
</body>
</html>
"""


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
    head = ("Method", "Final return", "95% interval", "Worst", "Best", "Threshold", "Solved at", "Steps", "Agents")
    rows = (
        (
            one["label"],
            format_return(one["interquartile_mean"]),
            format_interval(one["interval"]) or "–",
            format_return(one["worst"]),
            format_return(one["best"]),
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
        "A task is solved where all agents are at the threshold at the same time."
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

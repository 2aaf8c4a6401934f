"""The documentation of a benchmark run: `docs/benchmarks_suite.md`, its plots, and the figures as JSON."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from goals import digits
from harness import microseconds
from libraries import REQUIREMENTS
from plots import anatomies, draw_all
from rows import ENVS, OURS, PEERS

Results = dict[str, Any]
CAPTIONS = {
    "speed_cartpole": "Speed of CartPole under a random policy against the number of environments",
    "speed_envs": "Speed of the other classic control environments against the number of environments",
    "speed_kept": "Speed with whole trajectories kept against the number of environments",
    "breakdown": "Nanoseconds of each part of a step, for each environment",
}


def write_docs(results: Results, docs: pathlib.Path) -> list[pathlib.Path]:
    """Write the page, the plots and the JSON, and return their paths."""
    folder = docs / "assets" / "bench"
    plots = draw_all(results, folder)
    for stale in set(folder.glob("*.svg")) - set(plots):
        stale.unlink()
    figures = folder / "results.json"
    figures.parent.mkdir(parents=True, exist_ok=True)
    figures.write_text(json.dumps(_rounded(results), separators=(",", ":")) + "\n")
    page = docs / "benchmarks_suite.md"
    page.write_text(render(results, {plot.stem for plot in plots}))
    return [page, figures, *plots]


def render(results: Results, plots: set[str]) -> str:
    """Return the page in Markdown."""
    parts = [
        *_head(results, plots),
        *_speed(results, plots),
        *_loop(results),
        *_anatomy(results, plots),
        *_compile(results),
        *_memory(results),
        *_latency(results),
        *_peers(results),
        *_machine(results),
        *_goals(results),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a table whose first `left` columns are aligned to the left and the others to the right."""
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, marks, *rows))


def _head(results: Results, plots: set[str]) -> list[str]:
    parts = [
        "---\nhide: [toc]\n---",  # leaves its place to wide tables
        "# Random-policy stepping",
        "How many steps do rollouts make in a second, here and in other libraries? Higher is better, and both axes are "
        "logarithmic.",
        *_figure("speed_cartpole", plots),
        _summary(results),
        *_figure("speed_envs", plots),
        "`funcenv bench ENV` measures your own environment on your own machine. The [machine](#machine-and-method) and "
        "the method are described below, [training, latency and rendering](benchmarks.md) on the next page.",
    ]
    return [part for part in parts if part]


def _summary(results: Results) -> str:
    """Return what the largest batch of CartPole that several libraries ran says, in a sentence for each question."""
    rows = [row for row in results.get("speed", []) if row["env"] == ENVS[0] and not row["keep"]]
    if not rows:
        return ""
    row = min(rows, key=lambda row: abs(row["num_envs"] - 4096))
    peers = {name: figures for name, figures in row["peers"].items() if "error" not in figures}
    ours = peers.pop("funcenv")["steps_per_cpu_second"] / 1e6
    others = ", ".join(
        f"{digits(figures['ratio_of_first'])} times as fast as {name}"
        for name, figures in peers.items()
        if name in ("gymnax", "CartPoleVectorEnv", "envpool")
    )
    text = (
        f"With {row['num_envs']:,} environments, CartPole makes **{digits(ours)} million steps per CPU-second** on one"
    )
    text += " core"
    text += f": {others}. " if others else ". "
    if "C" in peers:
        text += f"A C program written for this task alone is {digits(1 / peers['C']['ratio_of_first'])} times as fast. "
    return text + "A random policy chooses the actions, so this is the speed of the environment, not of training."


def _machine(results: Results) -> list[str]:
    machine, versions = results["machine"], results["versions"]
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    flags = ", ".join(f"`{name}={value}`" for name, value in results["flags"].items()) or "none"
    load = machine["load_average"]
    rows = [
        ("processor", f"{machine['cpu']}, {machine['cores']} cores, {machine['vectors']}; {caches}"),
        ("memory", f"{machine['memory_gib']} GiB"),
        ("system", f"{machine['system']}, {machine['architecture']}, Python {versions['python']}"),
        ("versions", f"funcenv {versions['funcenv']}, jax {versions['jax']}; the others above"),
        ("flags", flags),
        ("load at the start", "unknown" if load is None else f"{load[0]} on {machine['cores']} cores"),
    ]
    pinned = "pinned to one core" if results["pinned_to_one_core"] else "not pinned to a core"
    origin = (
        f"Every figure on this page comes from one run of `{results['command']}` ({results['mode']}) on "
        f"{results['date']}, which wrote the page; edit `benchmarks/`, not the page. The figures are also in "
        "[results.json](assets/bench/results.json)."
    )
    method = (
        "Each library runs in a process and a virtual environment of its own, with one thread, "
        f"{pinned}. The processes of a row take turns within the same minute, and the clock is the CPU time of the "
        "process, so that other work on the machine disturbs little. A ratio is computed within a round; the tables "
        "give the median over rounds, with the least and the greatest value. Each process has one thread because XLA's "
        "thread pool costs CPU time: about half of it for gymnax's CartPole with 4,096 environments "
        "(`benchmarks/run.py --all-cores` measures that). This would be unfair to gymnax."
    )
    return ["## Machine and method", origin, method, table(("", "measured on"), rows, left=2)]


def _goals(results: Results) -> list[str]:
    rows = [(goal["what"], goal["goal"], goal["measured"], f"**{goal['verdict']}**") for goal in results["goals"]]
    about = "Goals that were set before the suite ran, and whether this run met them."
    return ["## Goals met and missed", about, table(("what", "goal", "measured", "verdict"), rows, left=4)]


def _speed(results: Results, plots: set[str]) -> list[str]:
    rows = results.get("speed", [])
    if not rows:
        return []
    parts = [
        "## Speed without a trajectory",
        "Millions of environment steps per CPU-second, and in brackets how many times as fast funcenv is. Nothing but "
        "episode statistics is kept. Libraries marked * perform a comparable task, not the same one. Libraries that "
        "are stepped from Python receive actions that were drawn beforehand. A compiled rollout resets all "
        "environments and then makes about 524,288 steps (at least 64 and at most 8,192 of each environment), "
        "repeatedly.",
        *(_speed_table(env, rows, keep=False) for env in ENVS),
    ]
    if any(row["keep"] for row in rows):
        parts += [
            "## Speed with a trajectory",
            "The rollout keeps the observation, action, reward and both flags of every step, as arrays "
            "`[num_steps, num_envs, ...]`.",
            *_figure("speed_kept", plots),
            *(_speed_table(env, rows, keep=True) for env in ENVS),
        ]
    return [part for part in parts if part]


def _speed_table(env: str, rows: list[dict[str, Any]], keep: bool) -> str:
    chosen = sorted((row for row in rows if row["env"] == env and row["keep"] == keep), key=lambda row: row["num_envs"])
    if not chosen:
        return ""
    order = [peer.program.name for peer in (OURS, *PEERS)]
    names = [name for name in order if any(name in row["peers"] for row in chosen)]
    head = [f"{env}, environments", *(name.replace(" (comparable)", "*") for name in names)]
    body = [[f"{row['num_envs']:,}", *(_cell(row["peers"].get(name)) for name in names)] for row in chosen]
    absences = {
        name: figures["error"] for row in chosen for name, figures in row["peers"].items() if "error" in figures
    }
    notes = "".join(f"\n\nabsent: {error}" for error in absences.values())
    return table(head, body) + notes


def _loop(results: Results) -> list[str]:
    rows = results.get("loop", [])
    if not rows:
        return []
    names = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    body = [
        [row["env"], row["policy"], f"{row['num_envs']:,}", *(_cell(row["peers"].get(name)) for name in names)]
        for row in rows
    ]
    about = (
        "The collection phase of a training script: `jax.lax.scan` over steps in the caller's own `jax.jit`. With the "
        "policy *network*, actor and critic have two hidden layers of 64 units, and observation, action, reward, end, "
        "value and log-probability are kept; most of the time is then the network's. With *random*, actions are "
        "uniform, and rewards and ends are kept. Millions of environment steps per CPU-second. Plain steps are those "
        "of `FUNCENV_NO_FAST_PATH=1`."
    )
    return ["## The users' loop", about, table(("environment", "policy", "environments", *names), body, left=2)]


def _cell(figures: dict[str, Any] | None) -> str:
    if figures is None:
        return ""
    if "error" in figures:
        return "absent"
    speed = digits(figures["steps_per_cpu_second"] / 1e6)
    low, high = figures["ratio_range"]
    if low == high == 1:
        return f"**{speed}**"
    return f"{speed} ({digits(figures['ratio_of_first'])}x; {digits(low)} - {digits(high)})"


def _anatomy(results: Results, plots: set[str]) -> list[str]:
    rows = anatomies(results)
    if not rows:
        return []
    first = next(iter(rows.values()))["breakdown"]
    parts = list(first["nanoseconds"])
    body = [
        [env, *(digits(row["breakdown"]["nanoseconds"][part], 2) for part in parts), _engine(row["engine"])]
        for env, row in rows.items()
    ]
    about = (
        f"Nanoseconds of CPU time for a step of each of {first['num_envs']:,} environments. They are "
        "the differences between five programs that `funcenv.rollout` runs: in the first the state does not change "
        "(bookkeeping: loop, counters, episode statistics); physics, random numbers, resets and observations are then "
        "added one after another. A part that costs less than the noise may come out below 0. `funcenv bench ENV` does "
        "the same for your own environment."
    )
    return [
        "## Where the time of a step goes",
        about,
        *_figure("breakdown", plots),
        table(("environment", *parts, "engine"), body),
    ]


def _engine(told: dict[str, str]) -> str:
    return ", ".join(f"{name}: {choice}" for name, choice in told.items() if name != "backend") or "-"


def _compile(results: Results) -> list[str]:
    rows = [row for row in results.get("compile", []) if "filled cache" in row["peers"]]
    if not rows:
        return []
    body = [(row["env"], *(f"{figures['compile_cpu']:.2f}" for figures in row["peers"].values())) for row in rows]
    about = (
        "CPU seconds from making the environment until a rollout of 256 environments has been compiled and has run "
        "once, minus the time of a second run. Imports and the start of JAX's backend are not counted. The last column "
        "is the time of a second process that uses the same `JAX_COMPILATION_CACHE_DIR`."
    )
    return ["## Compile time", about, table(("environment", "CPU-s", "from JAX's persistent cache"), body)]


def _memory(results: Results) -> list[str]:
    parts = []
    rows = anatomies(results)
    if rows:
        body = []
        for env, row in rows.items():
            sizes = (row["footprint"][name] for name in ("state", "outputs", "temporaries"))
            body.append((env, *("-" if size is None else f"{size:.0f}" for size in sizes)))
        parts += [
            "Bytes for each environment if the rollout is a part of a larger compiled program: the state that is "
            "carried from step to step, and by XLA's `memory_analysis` the results and the working memory.",
            table(("environment", "carried", "returned", "working memory"), body),
        ]
    for row in results.get("soak", []):
        soak = row["peers"]["funcenv"]
        steps, (before, after) = 10 * soak["steps"], soak["rss_mb"]
        parts.append(
            f"{steps:,} steps of {row['num_envs']:,} {row['env']} took "
            f"{steps / soak['steps_per_cpu_second']:.0f} CPU-s. Resident memory went from {before:.1f} to {after:.1f} "
            f"MB ({after - before:+.2f} MB), after a tenth as many steps to warm up."
        )
    kept = [row for row in results.get("speed", []) if row["env"] == "CartPole-v1" and "funcenv" in row["peers"]]
    sized = [row for row in kept if "peak_mb" in row["peers"]["funcenv"]]
    if sized:
        body = [
            (
                f"{row['num_envs']:,}",
                "kept" if row["keep"] else "not kept",
                *(_megabytes(row["peers"].get(name)) for name in ("funcenv", "gymnax")),
            )
            for row in sized
        ]
        parts += [
            "Peak resident memory of the whole process, in MB. Most of it belongs to the libraries and the compiler:",
            table(("CartPole-v1, environments", "trajectory", "funcenv", "gymnax"), body, left=2),
        ]
    return ["## Memory", *parts] if parts else []


def _megabytes(figures: dict[str, Any] | None) -> str:
    return f"{figures['peak_mb']:.0f}" if figures and "peak_mb" in figures else ""


def _latency(results: Results) -> list[str]:
    parts = []
    for row in results.get("latency", []):
        single = [(name, digits(microseconds(figures)), _times(figures)) for name, figures in row["peers"].items()]
        parts += [
            f"One {row['env']}, stepped by `env.step(action)` in a Python loop that resets at the end of an episode:",
            table(("", "CPU us a step", "speed of funcenv relative to it"), single),
        ]
    rows = results.get("vector", [])
    if rows:
        body = [
            [
                f"{row['num_envs']:,}",
                *(f"{_of_all(figures, row)} ({_times(figures)}x)" for figures in row["peers"].values()),
            ]
            for row in rows
        ]
        parts += [
            "A vector environment of CartPoles, stepped by `envs.step(actions)` with NumPy arrays and the autoreset "
            "mode NEXT_STEP. The factor in brackets is the speed of the first column relative to this one:",
            table(("environments", *(f"{name}, CPU us a step" for name in rows[0]["peers"])), body),
        ]
    return ["## Speed of steps from Python", *parts] if parts else []


def _of_all(figures: dict[str, Any], row: dict[str, Any]) -> str:
    """Return the microseconds of a step of all environments."""
    return digits(row["num_envs"] * microseconds(figures))


def _times(row: dict[str, Any]) -> str:
    return digits(row["ratio_of_first"])


def _peers(results: Results) -> list[str]:
    versions: dict[str, str] = {}
    for row in results.get("speed", []):
        for name, figures in row["peers"].items():
            versions[name] = figures.get("version") or versions.get(name, "-")
    names = {peer.program.name: peer for peer in PEERS}
    body = [(name.replace(" (comparable)", "*"), versions.get(name, "-"), peer.about) for name, peer in names.items()]
    libraries = dict.fromkeys(peer.program.library for peer in PEERS if peer.program.library)
    about = (
        "Each library is used as its own documentation describes, and nothing is tuned against it. The suite installs "
        f"{', '.join(f'`{REQUIREMENTS[library][0]}`' for library in libraries)}."
    )
    return ["## Other libraries and programs", about, table(("", "version", "what is run"), body, left=3)]


def _figure(name: str, plots: set[str]) -> list[str]:
    return [f"![{CAPTIONS[name]}](assets/bench/{name}.svg){{ .figure }}"] if name in plots else []


def _rounded(value: Any) -> Any:
    """Round to five significant digits, which is more than a repeated run reproduces."""
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value

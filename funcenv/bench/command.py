"""`funcenv bench ENV`: arguments, tables, and the JSON that goes with them."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import math
import pathlib
from typing import Any

import jax

import funcenv
from funcenv.bench.breakdown import PARTS, Breakdown, break_down
from funcenv.bench.measure import Measurement, measure
from funcenv.checker.check import resolve
from funcenv.registry import make

ABOUT = """\
Speed, compile time, memory and a cost breakdown of an environment under a random policy that keeps no trajectory.
On a CPU all seconds are CPU seconds of this process; on an accelerator they are the wall's."""


def run(arguments: list[str]) -> int:
    """Measure what the command line names, print tables, write JSON if asked; returns the exit status.

    Args:
        arguments: what follows `funcenv bench`.

    Raises:
        SystemExit: flags that make no sense, after a line that says what is wrong with them.
        ValueError: an unknown environment.
        TypeError, ImportError: one that cannot be built.
        FileNotFoundError: no folder to write the JSON to.

    >>> run(["CartPole-v1", "--num-envs", "8", "--seconds", "0.001", "--rounds", "1", "--no-breakdown"])
    CartPole-v1, random policy...
    0
    """
    options = _parser().parse_args(arguments)
    out = None if options.json is None else _writable(options.json)
    env = resolve(options.env, make)
    measurements, breakdown = [], None
    for num_envs in options.num_envs:
        measurements.append(measure(env, num_envs, seconds=options.seconds, rounds=options.rounds, impl=options.impl))
    if not options.no_breakdown:
        largest = max(options.num_envs)
        breakdown = break_down(
            env, largest, seconds=options.seconds / 2, rounds=max(options.rounds, 3), impl=options.impl
        )
    _print(options.env, measurements, breakdown)
    if out is not None:
        out.write_text(json.dumps(_report(options.env, measurements, breakdown), indent=2) + "\n")
        print(f"written to {out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="funcenv bench", description=ABOUT)
    parser.add_argument("env", metavar="ENV", help="an id, or module:EnvClass, or module:function that returns one")
    parser.add_argument(
        "--num-envs", type=_size, nargs="+", default=[1, 256, 4096], help="how many are stepped together"
    )
    parser.add_argument("--impl", help='the random generator, such as "feistel2x32"; by default that of funcenv.key')
    parser.add_argument("--json", metavar="FILE", help="write every figure here, too")
    parser.add_argument("--seconds", type=float, default=0.2, help="about how long each program runs in a round")
    parser.add_argument("--rounds", type=_size, default=5, help="medians are taken over these")
    parser.add_argument("--no-breakdown", action="store_true", help="leave out where the time of a step goes")
    parser.add_argument("--threads", type=int, default=1, help="threads that XLA may use on a CPU, 0 for all")
    return parser


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return int(text)


def _writable(name: str) -> pathlib.Path:
    """Heard of before minutes are spent on measuring."""
    path = pathlib.Path(name)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--json: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise ValueError(f"--json needs the name of a file, got the folder {path}")
    return path


def _report(target: str, measurements: list[Measurement], breakdown: Breakdown | None) -> dict[str, Any]:
    return {
        "env": target,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "funcenv": funcenv.__version__,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "measurements": [_finite(dataclasses.asdict(measurement)) for measurement in measurements],
        "breakdown": None if breakdown is None else dataclasses.asdict(breakdown),
    }


def _finite(figures: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no NaN."""
    return {name: None if value != value else value for name, value in figures.items()}


def _print(target: str, measurements: list[Measurement], breakdown: Breakdown | None) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    unit = "CPU-s" if measurements[0].clock == "cpu" else "s"
    engine = ", ".join(f"{name}: {choice}" for name, choice in measurements[0].engine.items())
    console.print(f"{target}, random policy, no trajectory kept, jax {jax.__version__} ({engine})", soft_wrap=True)
    console.print(_table_of_measurements(measurements, unit))
    if breakdown is not None:
        console.print(_table_of_parts(breakdown))


def _table_of_measurements(measurements: list[Measurement], unit: str) -> Any:
    table = _table(
        "\nenvs",
        f"M steps\n/{unit}",
        "\nrange",
        "ns\na step",
        f"compile\n{unit}",
        "B/env\ncarried",
        "B/env\nworking",
        "mean\nepisode",
    )
    for row in measurements:
        low, high = row.steps_per_second_range
        working = row.bytes_per_env.temporaries
        table.add_row(
            f"{row.num_envs:,}",
            _digits(row.steps_per_second / 1e6),
            f"{_digits(low / 1e6)} - {_digits(high / 1e6)}",
            _digits(1e9 / row.steps_per_second),
            f"{row.compile_seconds:.2f}",
            f"{row.bytes_per_env.state:.0f}",
            "-" if working is None else f"{working:.0f}",
            "none" if math.isnan(row.mean_length) else f"{row.mean_length:.1f}",
        )
    return table


def _table_of_parts(breakdown: Breakdown) -> Any:
    clock = "of CPU" if breakdown.clock == "cpu" else "of wall time"
    table = _table(f"a step at {breakdown.num_envs:,} envs", f"ns {clock}", "share", "")
    table.columns[0].justify = table.columns[-1].justify = "left"
    total = max(breakdown.total, 1e-9)
    for name in PARTS:
        share = breakdown.nanoseconds[name] / total
        table.add_row(name, _digits(breakdown.nanoseconds[name]), f"{share:.0%}", "█" * round(30 * max(share, 0)))
    table.add_row("all of it", _digits(total), "", "")
    return table


def _table(*headers: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _digits(number: float) -> str:
    """Three significant digits.

    >>> _digits(123.456), _digits(12.3456), _digits(0.0123456)
    ('123', '12.3', '0.0123')
    """
    if not number:
        return "0"
    return f"{number:,.{max(0, 2 - math.floor(math.log10(abs(number))))}f}"

"""The command `funcenv bench ENV`: its flags, tables and JSON file."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import math
import pathlib
from typing import Any

import jax

from funcenv.bench.breakdown import PARTS, Breakdown, break_down
from funcenv.bench.measure import Measurement, measure
from funcenv.checker.check import resolve
from funcenv.registry import make

DESCRIPTION = """\
Measure the speed, compile time and memory of an environment under a random policy without a trajectory, and the cost of
each part of a step. Seconds are CPU seconds of this process on a CPU, and wall time on an accelerator."""


def run(arguments: list[str]) -> int:
    """Measure an environment, print tables, write JSON if asked, and return the exit status.

    Args:
        arguments: The arguments after `funcenv bench`.

    Raises:
        SystemExit: A flag is not valid; a line that says why is printed first.
        ValueError: The environment is unknown.
        TypeError, ImportError: The environment cannot be built.
        FileNotFoundError: The folder for the JSON file does not exist.

    >>> run(["CartPole-v1", "--num-envs", "8", "--seconds", "0.001", "--rounds", "1", "--no-breakdown"])
    CartPole-v1, random policy...
    0
    """
    options = _parser().parse_args(arguments)
    out = None if options.json is None else _writable(options.json)
    env = resolve(options.env, make)
    seconds, rounds, impl = options.seconds, options.rounds, options.impl
    measurements = [measure(env, num, seconds=seconds, rounds=rounds, impl=impl) for num in options.num_envs]
    breakdown = None
    if not options.no_breakdown:
        breakdown = break_down(env, max(options.num_envs), seconds=seconds / 2, rounds=max(rounds, 3), impl=impl)
    _print(options.env, measurements, breakdown)
    if out is not None:
        out.write_text(json.dumps(_report(options.env, measurements, breakdown), indent=2) + "\n")
        print(f"written to {out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="funcenv bench", description=DESCRIPTION)
    parser.add_argument("env", metavar="ENV", help="an id, or module:EnvClass, or module:function that returns one")
    parser.add_argument("--num-envs", type=_size, nargs="+", default=[1, 256, 4096], help="sizes of the batch")
    parser.add_argument("--impl", help='random generator, such as "threefry"; by default that of funcenv.key')
    parser.add_argument("--json", metavar="FILE", help="also write all results to this file")
    parser.add_argument("--seconds", type=float, default=0.2, help="approximate duration of each program in a round")
    parser.add_argument("--rounds", type=_size, default=5, help="rounds over which medians are taken")
    parser.add_argument("--no-breakdown", action="store_true", help="do not measure the parts of a step")
    parser.add_argument("--threads", type=int, default=1, help="threads that XLA may use on a CPU, 0 for all")
    return parser


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return int(text)


def _writable(name: str) -> pathlib.Path:
    """Check the name of the JSON file before the measurements, which take minutes."""
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
        "funcenv": importlib.metadata.version("funcenv"),
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "measurements": [
            {name: None if value != value else value for name, value in dataclasses.asdict(measurement).items()}
            for measurement in measurements  # JSON has no NaN
        ],
        "breakdown": None if breakdown is None else dataclasses.asdict(breakdown),
    }


def _print(target: str, measurements: list[Measurement], breakdown: Breakdown | None) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    unit = "CPU-s" if measurements[0].clock == "cpu" else "s"
    engine = ", ".join(f"{name}: {choice}" for name, choice in measurements[0].engine.items())
    console.print(f"{target}, random policy, no trajectory kept, jax {jax.__version__} ({engine})", soft_wrap=True)
    console.print(_measurement_table(measurements, unit))
    if breakdown is not None:
        console.print(_part_table(breakdown))


def _measurement_table(measurements: list[Measurement], unit: str) -> Any:
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


def _part_table(breakdown: Breakdown) -> Any:
    clock = "of CPU" if breakdown.clock == "cpu" else "of wall time"
    table = _table(f"a step at {breakdown.num_envs:,} envs", f"ns {clock}", "share", "")
    table.columns[0].justify = table.columns[-1].justify = "left"
    total = max(breakdown.total, 1e-9)
    for name in PARTS:
        share = breakdown.nanoseconds[name] / total
        table.add_row(name, _digits(breakdown.nanoseconds[name]), f"{share:.0%}", "█" * round(30 * max(share, 0)))
    table.add_row("total", _digits(total), "", "")
    return table


def _table(*headers: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _digits(number: float) -> str:
    """Format a number with three significant digits.

    >>> _digits(123.456), _digits(12.3456), _digits(0.0123456)
    ('123', '12.3', '0.0123')
    """
    if not number:
        return "0"
    return f"{number:,.{max(0, 2 - math.floor(math.log10(abs(number))))}f}"

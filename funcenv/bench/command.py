"""The command `funcenv bench ENV`: its flags, tables and JSON file."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import math
import pathlib
import sys
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
    print(f"measuring {options.env} in {len(options.num_envs)} sizes", file=sys.stderr, flush=True)
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
    unit = "CPU-s" if measurements[0].clock == "cpu" else "s"
    engine = ", ".join(f"{name}: {choice}" for name, choice in measurements[0].engine.items())
    print(f"{target}, random policy, no trajectory kept, jax {jax.__version__} ({engine})\n")
    print(_table(_measurement_rows(measurements, unit)))
    if breakdown is not None:
        print("\n" + _table(_part_rows(breakdown), left=(0, 3)))


def _measurement_rows(measurements: list[Measurement], unit: str) -> list[list[str]]:
    """Return two rows of headers, and one for each measurement."""
    rows = [
        ["", "M steps", "", "ns", "compile", "B/env", "B/env", "mean"],
        ["envs", f"/{unit}", "range", "a step", unit, "carried", "working", "episode"],
    ]
    for row in measurements:
        low, high = row.steps_per_second_range
        working = row.bytes_per_env.temporaries
        rows.append(
            [
                f"{row.num_envs:,}",
                _digits(row.steps_per_second / 1e6),
                f"{_digits(low / 1e6)} - {_digits(high / 1e6)}",
                _digits(1e9 / row.steps_per_second),
                f"{row.compile_seconds:.2f}",
                f"{row.bytes_per_env.state:.0f}",
                "-" if working is None else f"{working:.0f}",
                "none" if math.isnan(row.mean_length) else f"{row.mean_length:.1f}",
            ]
        )
    return rows


def _part_rows(breakdown: Breakdown) -> list[list[str]]:
    """Return a row of headers, one for each part of a step, and one for their total."""
    clock = "of CPU" if breakdown.clock == "cpu" else "of wall time"
    rows, total = [[f"a step at {breakdown.num_envs:,} envs", f"ns {clock}", "share", ""]], max(breakdown.total, 1e-9)
    for name in PARTS:
        share = breakdown.nanoseconds[name] / total
        rows.append([name, _digits(breakdown.nanoseconds[name]), f"{share:.0%}", "#" * round(30 * max(share, 0))])
    return [*rows, ["total", _digits(total), "", ""]]


def _table(rows: list[list[str]], left: tuple[int, ...] = ()) -> str:
    """Align the cells of each column to the right, or to the left in the columns that are named.

    >>> print(_table([["a", "1"], ["long", "234"]], left=(0,)))
    a       1
    long  234
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = ([f"{cell:{'<' if i in left else '>'}{widths[i]}}" for i, cell in enumerate(row)] for row in rows)
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def _digits(number: float) -> str:
    """Format a number with three significant digits.

    >>> _digits(123.456), _digits(12.3456), _digits(0.0123456)
    ('123', '12.3', '0.0123')
    """
    if not number:
        return "0"
    return f"{number:,.{max(0, 2 - math.floor(math.log10(abs(number))))}f}"

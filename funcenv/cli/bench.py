"""The command `funcenv bench ENV`: its flags, tables and JSON file."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import math
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import jax

from funcenv.bench.breakdown import PARTS, Breakdown, break_down
from funcenv.bench.measure import Measurement, measure
from funcenv.checker.check import resolve
from funcenv.checks import require_size
from funcenv.cli.flags import Threads, Word, read
from funcenv.counted import counted
from funcenv.files import write_text
from funcenv.func_env import AnyEnv
from funcenv.memory import describe_device, device_memory, num_bytes, readable_size
from funcenv.programs import Choice, explain
from funcenv.random import key
from funcenv.registry import make


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(Threads):
    """Measure speed, compile time and memory under a random policy without a trajectory, and each part of a step.

    Seconds are CPU seconds of this process on a CPU, and wall time on an accelerator.
    """

    env: Annotated[str, Word("ENV")]
    """an id, or module:EnvClass, or module:function that returns one"""
    num_envs: tuple[int, ...] = (1, 256, 4096)
    """sizes of the batch"""
    impl: str | None = None
    """random generator, such as threefry; by default that of funcenv.key"""
    json: Annotated[str | None, "FILE"] = None
    """file for all results, "-" for standard output instead of the tables"""
    seconds: float = 0.2
    """approximate duration of each program in a round"""
    rounds: int = 5
    """rounds over which medians are taken"""
    breakdown: bool = True
    """measure the parts of a step as well"""
    programs: bool = True
    """list which programs run, and why others do not"""

    def __post_init__(self) -> None:
        for size in self.num_envs:
            require_size("num_envs", size)
        require_size("rounds", self.rounds)


def run(arguments: Sequence[str]) -> int:
    """Measure an environment, print tables, write JSON if asked, and return the exit status.

    >>> run(["CartPole-v1", "--num-envs", "8", "--seconds", "0.001", "--rounds", "1", "--no-breakdown",
    ...      "--no-programs"])
    CartPole-v1, random policy...
    0
    """
    options: Options = read("bench", Options, arguments)
    out = None if options.json in (None, "-") else _writable(str(options.json))
    env, count = resolve(options.env, make), len(options.num_envs)
    print(f"measuring {options.env} at {counted(count, 'batch size')}", file=sys.stderr, flush=True)
    print(_memory(env, max(options.num_envs)), file=sys.stderr, flush=True)
    seconds, rounds, impl = options.seconds, options.rounds, options.impl
    measurements = [measure(env, num, seconds=seconds, rounds=rounds, impl=impl) for num in options.num_envs]
    breakdown = None
    if options.breakdown:
        breakdown = break_down(env, max(options.num_envs), seconds=seconds / 2, rounds=max(rounds, 3), impl=impl)
    programs = explain(env, max(options.num_envs)) if options.programs else []
    text = json.dumps(_report(options.env, measurements, breakdown, programs), indent=2)
    if options.json == "-":
        print(text)
        return 0
    _print(options.env, measurements, breakdown, programs)
    if out is not None:
        write_text(out, text + "\n")
        print(f"written to {out}")
    return 0


def _memory(env: AnyEnv, num_envs: int) -> str:
    """Return the device, what the largest batch of states takes of its memory, and whether that is too much."""
    device = jax.devices()[0]
    of_one = num_bytes(jax.eval_shape(env.reset, jax.eval_shape(lambda: key(0))))
    limit = device_memory(device)
    line = f"{describe_device(device)}; the states of {num_envs:,} environments take {readable_size(num_envs * of_one)}"
    if limit is not None and num_envs * of_one > limit:
        line += "\nwarning: that is more than the device has; choose a smaller --num-envs"
    return line


def _writable(name: str) -> pathlib.Path:
    """Check the name of the JSON file before the measurements, which take minutes."""
    path = pathlib.Path(name)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--json: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise ValueError(f"--json needs the name of a file, got the folder {path}")
    return path


def _report(
    target: str, measurements: list[Measurement], breakdown: Breakdown | None, programs: list[Choice]
) -> dict[str, Any]:
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
        "programs": [choice._asdict() for choice in programs],
    }


def _print(target: str, measurements: list[Measurement], breakdown: Breakdown | None, programs: list[Choice]) -> None:
    unit = "CPU-s" if measurements[0].clock == "cpu" else "s"
    engine = ", ".join(f"{name}: {choice}" for name, choice in measurements[0].engine.items())
    print(f"{target}, random policy, no trajectory kept, jax {jax.__version__} ({engine})\n")
    print(_table(_measurement_rows(measurements, unit)))
    if breakdown is not None:
        print("\n" + _table(_part_rows(breakdown), left=(0, 3)))
    if programs:
        print("\n" + _table(_program_rows(programs), left=(0, 1, 2)))


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


def _program_rows(programs: list[Choice]) -> list[list[str]]:
    """Return a row of headers, and one for each choice between a single kernel and the plain program."""
    rows = [["call", "program", "because"]]
    return [
        *rows,
        *([choice.entry, "plain" if choice.refusal else "kernel", choice.refusal or ""] for choice in programs),
    ]


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

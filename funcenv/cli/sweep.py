"""The command `funcenv sweep [ENV]`, which trains with many values of settings in one compiled program."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import shlex
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from funcenv.cli.flags import Threads
from funcenv.cli.settings import chosen_algorithm, find_algorithm, read_config, read_options
from funcenv.cli.table import UsageError
from funcenv.files import write_text


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(Threads):
    """Train with every combination of values of settings, side by side in one compiled program."""

    section: ClassVar[str] = "run"

    algo: str | None = None
    """training algorithm, with the default of funcenv train"""
    vary: Annotated[tuple[str, ...], "NAME=VALUES"] = ()
    """values of settings that are not whole numbers, such as learning-rate=1e-4,1e-3 gamma=0.95,0.99; each combination
    is a sample, and is trained with --num-seeds seeds"""
    json: Annotated[str | None, "FILE"] = None
    """file for the table of samples, "-" for standard output instead of the text"""
    marl_eval: Annotated[str | None, "FILE"] = None
    """file for the learning curves in the JSON layout of marl-eval"""


def run(arguments: Sequence[str]) -> int:
    """Train all samples, print a table of them, and return the exit status."""
    typed = read_options("sweep", Options, arguments)
    options: Options = typed.options
    is_json = options.json == "-"
    if not (typed.wants_help or is_json):
        print("loading JAX and the packages for training", flush=True)

    from rich.console import Console

    from funcenv.train.sweeps import grid, sweep, sweepable

    name = chosen_algorithm(typed)
    algorithm = find_algorithm(name)
    config = read_config(typed, algorithm, name)
    for flag, file in (("--json", options.json), ("--marl-eval", options.marl_eval)):
        if file is not None and not pathlib.Path(file).parent.is_dir():
            raise FileNotFoundError(f"{flag}: there is no folder {pathlib.Path(file).parent}; make it first")
    if not options.vary:
        raise UsageError(
            f"sweep needs values: --vary learning-rate=1e-4,1e-3; these may vary: {', '.join(sweepable(config))}"
        )
    samples = grid(**dict(map(_values, options.vary)))
    result = sweep(config, samples, seeds=config.num_seeds, algorithm=algorithm, console=None if is_json else Console())
    if not is_json:
        print(result)
    if options.json is not None:
        table = [{key: _known(value) for key, value in row.items()} for row in result.rows()]
        written = {"algorithm": name, "config": config.to_json(), "samples": table}
        if is_json:
            print(json.dumps(written, indent=2))
        else:
            write_text(options.json, json.dumps(written, indent=2) + "\n")
    if options.marl_eval is not None:
        write_text(options.marl_eval, json.dumps(result.marl_eval(), indent=1) + "\n")
    if is_json:
        return 0
    values = [word for key in samples for word in (f"--{key.replace('_', '-')}", f"{getattr(result.best, key):g}")]
    algo = [] if options.algo is None else ["--algo", name]
    print("train the best again, with other seeds:", shlex.join(["funcenv", "train", *typed.rest, *algo, *values]))
    return 0


def _values(text: str) -> tuple[str, list[float]]:
    """Read the values of a setting.

    >>> _values("learning-rate=1e-3,0.1")
    ('learning_rate', [0.001, 0.1])
    """
    name, equals, values = text.partition("=")
    try:
        return name.replace("-", "_"), [float(value) for value in values.split(",")]
    except ValueError as error:
        raise UsageError(f"--vary takes NAME=VALUE,VALUE, got {text!r}; write learning-rate=1e-4,1e-3") from error


def _known(value: Any) -> Any:
    """Return a value for JSON, which has no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value

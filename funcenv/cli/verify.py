"""The command `funcenv verify [ENV ...]`, which compares environments with their records, and replays datasets."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from funcenv.cli.flags import Word, read
from funcenv.cli.table import UsageError
from funcenv.cli.waiting import show_progress
from funcenv.files import write_text
from funcenv.printable import printable
from funcenv.registry import spec
from funcenv.verify.outcome import Outcome, Result

if TYPE_CHECKING:
    from funcenv.datasets import Verification

    Compared: TypeAlias = Result | Verification


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Compare environments with their records, and replay datasets. The exit status is 1 if one is different."""

    envs: Annotated[tuple[str, ...], Word("ENV")] = ()
    """ids with their versions, and folders of datasets; by default all ids that have a record, of the Atari games Pong
    and another one each day"""
    all: bool = False
    """all Atari games that have a record"""
    exact: bool = False
    """compile without fused multiply-add, which makes results equal bit for bit on every x86 processor"""
    quiet: bool = False
    """print the environments that are different, and the last line only"""
    json: Annotated[str | None, "FILE"] = None
    """file for the results, "-" for standard output instead of the lines"""
    against: Literal["record", "gymnasium"] = "record"
    """what to compare with: the record, or the installed Gymnasium with MuJoCo and ale-py"""
    trust_code: bool = False
    """import the environment that a dataset names as module:name, although somebody else made it"""


def run(arguments: Sequence[str]) -> int:
    """Compare, print what was found, and return the exit status."""
    options: Options = read("verify", Options, arguments)
    folders = [word for word in options.envs if pathlib.Path(word).is_dir()]
    if folders and options.against != "record":
        raise UsageError(f"datasets are replayed, got {folders[0]} with --against {options.against}; leave that out")
    for id in set(options.envs) - set(folders):
        spec(id)  # raises for an id that is not registered
    if options.exact:
        _set_exact()
    from funcenv.verify.run import surroundings

    is_json, start = options.json == "-", time.monotonic()
    results: list[Compared] = []
    if not (is_json or options.quiet):
        print("  ".join(f"{name} {value}" for name, value in surroundings().items() if value), flush=True)
    for result in _results(options):
        results.append(result)
        if not is_json and (result.outcome is Outcome.DIFFERENT or not options.quiet):
            print(printable(f"{result.id}: {result}"), flush=True)
    contents = {"surroundings": surroundings(), "results": [one.to_json() for one in results]}
    if options.json is not None and not is_json:
        write_text(options.json, json.dumps(contents, indent=1) + "\n")
    if is_json:
        print(json.dumps(contents, indent=1))
    else:
        counts = {outcome: sum(one.outcome is outcome for one in results) for outcome in Outcome}
        shown = ", ".join(f"{count} {outcome.value}" for outcome, count in counts.items() if count)
        print(f"{shown}; {time.monotonic() - start:.0f} s")
    return 1 if any(one.outcome is Outcome.DIFFERENT for one in results) else 0


def _results(options: Options) -> Iterator[Compared]:
    from funcenv.verify.outcomes import remember
    from funcenv.verify.run import ids_by_default, verify
    from funcenv.verify.streams import verify_streams

    if options.against == "gymnasium":
        from funcenv.adapters.gymnasium.verification import REFERENCED, verify_against_gymnasium

        for id in options.envs or REFERENCED:
            yield verify_against_gymnasium(id)
        return
    if not options.envs:
        yield verify_streams()
    for word in options.envs or ids_by_default(every_game=options.all):
        yield _replayed(word, options) if pathlib.Path(word).is_dir() else remember(verify(word))


def _replayed(folder: str, options: Options) -> Compared:
    """Replay a dataset, and show how many steps are done where there is a terminal."""
    from funcenv.datasets import Dataset, verify_dataset

    dataset = Dataset(folder, trust_code=options.trust_code)

    def show(num_steps: int) -> None:
        show_progress(f"{folder}: {num_steps:,} of {dataset.num_steps:,} steps")

    return verify_dataset(dataset, None if options.quiet else show)


def _set_exact() -> None:
    """Set the flags of exact mode, which XLA reads when its backend starts."""
    from funcenv.verify.record import EXACT_FLAGS

    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {EXACT_FLAGS}".strip()

"""Studies of other libraries: a process in the virtual environment of each, and tables that several runs measure."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from harness import ONE_CORE  # noqa: E402  (it lies in the folder above)
from libraries import LibraryError, python_of  # noqa: E402

PAGE = ROOT / "docs" / "guides" / "interop.md"


def run_isolated(library: str, script: str, *args: str, pythons: dict[str, str]) -> dict[str, Any]:
    """Run a worker to its end on one core in a library's virtual environment, with this package on its path.

    Returns:
        The object that it printed as a line of JSON, or `{"error": ...}`; and the date.
    """
    today = str(datetime.date.today())
    try:
        python = python_of(library, pythons)
    except LibraryError as error:
        return {"error": str(error), "date": today}
    paths = os.pathsep.join(map(str, (ROOT, HERE)))
    environment = {**os.environ, **ONE_CORE, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}
    command = [python, str(HERE / script), *args]
    outcome = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [line for line in outcome.stdout.splitlines() if line.startswith("{")]
    said = [line for line in outcome.stderr.splitlines() if line.strip()] or ["no message"]
    return {**(json.loads(lines[-1]) if lines else {"error": said[-1]}), "date": today}


def keep_rows(
    table: str, rows: list[dict[str, Any]], key: str, order: list[str], folder: pathlib.Path = HERE / "results"
) -> list[dict[str, Any]]:
    """Add rows to those of earlier runs, in place of those with the same key, and return all of them in order.

    Args:
        table: the name of the file.
        rows: the new rows.
        key: the entry of a row that tells it from others.
        order: the keys in the order of the table. Rows with other keys are dropped.
        folder: where the file is.
    """
    path = folder / f"{table}.json"
    kept = {row[key]: row for row in json.loads(path.read_text())} if path.exists() else {}
    kept |= {row[key]: row for row in rows}
    ordered = [kept[name] for name in order if name in kept]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(ordered, indent=2) + "\n")
    return ordered


def write_table(begin: str, end: str, text: str) -> None:
    """Replace what stands between two markers of the guide."""
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")

"""Rows of a table that several runs measure, kept in `benchmarks/results/`."""

from __future__ import annotations

import json
from typing import Any

from harness import HERE

FOLDER = HERE / "results"


def keep_rows(table: str, rows: list[dict[str, Any]], key: str, order: list[str]) -> list[dict[str, Any]]:
    """Add rows to those of earlier runs, in place of those with the same key, and return all of them in order.

    Args:
        table: the name of the file.
        rows: the new rows.
        key: the entry of a row that tells it from others.
        order: the keys in the order of the table. Rows with other keys are dropped.
    """
    path = FOLDER / f"{table}.json"
    kept = {row[key]: row for row in json.loads(path.read_text())} if path.exists() else {}
    kept |= {row[key]: row for row in rows}
    ordered = [kept[name] for name in order if name in kept]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(ordered, indent=2) + "\n")
    return ordered

"""Maps for Frozen Lake: the two standard ones, checks, and random maps.

The letters are S for a start, G for a goal, F for frozen and H for a hole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcenv.checks import require_size

MAPS: dict[str, tuple[str, ...]] = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
"""The named maps of Gymnasium."""

_MAX_RANDOM_MAPS = 10_000


def parse_map(desc: Iterable[Any]) -> tuple[str, ...]:
    """Return a map as a tuple of strings.

    Args:
        desc: rows from top to bottom: strings, or sequences or arrays of letters (str or bytes).

    Raises:
        TypeError: `desc` is not a sequence of rows.
        ValueError: no rows, rows of different lengths, letters other than S, F, H and G, or no start or no goal.

    >>> parse_map([["S", "F"], ["H", "G"]])
    ('SF', 'HG')
    >>> parse_map(["SFF", "FG"])
    Traceback (most recent call last):
        ...
    ValueError: every row of a map must have the same length, got rows of 3 and 2 letters
    """
    if isinstance(desc, (str, bytes)) or not isinstance(desc, Iterable):
        raise TypeError(f'a map is a list of rows such as ["SF", "FG"], got {desc!r}')
    rows = tuple(_row(row) for row in desc)
    if not rows or not rows[0]:
        raise ValueError(f"a map needs at least one row and one column, got {rows!r}")
    for row in rows:
        if len(row) != len(rows[0]):
            raise ValueError(
                f"every row of a map must have the same length, got rows of {len(rows[0])} and {len(row)} letters"
            )
    for letter in "".join(rows):
        if letter not in "SFHG":
            raise ValueError(f"a map holds the letters S (start), F (frozen), H (hole) and G (goal), got {letter!r}")
    for letter, name in ("S", "start"), ("G", "goal"):
        if not any(letter in row for row in rows):
            raise ValueError(f"a map needs at least one {name}, the letter {letter}, got {rows!r}")
    return rows


def generate_random_map(size: int = 8, p: float = 0.8, seed: int | None = None) -> list[str]:
    """Return a random square map with a path from the start, top left, to the goal, bottom right.

    Maps are drawn until one has a path. The same arguments give the same map as in Gymnasium 1.4.0.

    Args:
        size: number of rows and of columns, at least 2.
        p: the probability that any other tile is frozen rather than a hole; above 0, at most 1.
        seed: a non-negative integer; with None, every call draws another map.

    Raises:
        ValueError: an argument out of range, or a `p` so small that 10,000 draws gave no path.

    >>> generate_random_map(size=4, p=0.7, seed=1)
    ['SFFF', 'HFFH', 'HHFF', 'FHFG']
    """
    size = require_size("size", size)
    if size < 2:
        raise ValueError(f"a random map needs a start and a goal, so a size of at least 2, got {size}")
    if not 0 < p <= 1:
        raise ValueError(f"p, the probability that a tile is frozen, must be above 0 and at most 1, got {p}")
    generator = np.random.default_rng(seed)
    for _ in range(_MAX_RANDOM_MAPS):
        tiles = np.where(generator.random((size, size)) < p, "F", "H")
        tiles[0, 0], tiles[-1, -1] = "S", "G"
        if has_path(tiles):
            return ["".join(row) for row in tiles]
    raise ValueError(
        f"none of {_MAX_RANDOM_MAPS} random maps with size={size} and p={p} has a path to the goal; raise p"
    )


def has_path(desc: Iterable[Any]) -> bool:
    """Return whether steps along rows and columns lead from a start to a goal without a hole.

    >>> has_path(["SH", "HG"]), has_path(["SF", "HG"])
    (False, True)
    """
    tiles = np.array([list(row) for row in parse_map(desc)])
    reached, passable = tiles == "S", tiles != "H"
    while True:
        wider = reached.copy()
        wider[1:] |= reached[:-1]
        wider[:-1] |= reached[1:]
        wider[:, 1:] |= reached[:, :-1]
        wider[:, :-1] |= reached[:, 1:]
        wider &= passable
        if (wider == reached).all():
            return bool((reached & (tiles == "G")).any())
        reached = wider


def _row(row: Any) -> str:
    if isinstance(row, bytes):
        return row.decode("ascii", errors="replace")
    if isinstance(row, str):
        return row
    if not isinstance(row, Iterable):
        raise TypeError(f"a row of a map is a string such as 'SFFF', got {row!r}")
    letters = [letter.decode("ascii", errors="replace") if isinstance(letter, bytes) else letter for letter in row]
    if not all(isinstance(letter, str) and len(letter) == 1 for letter in letters):
        raise TypeError(f"a row of a map holds single letters, got {row!r}")
    return "".join(letters)

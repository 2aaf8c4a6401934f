"""Comparison of imported environments with their libraries: `python benchmarks/interop.py [--write-docs]`.

Each library has a virtual environment of its own, in which a worker compares, for some environments, trajectories with
those of the library's own functions (the same keys and actions), lists what `check_func_env` finds, and takes the time
of a step of a compiled loop against that of the library's own. `--write-docs` writes the table of the guide.
"""

from __future__ import annotations

import argparse
import datetime

from harness import HERE, run_peer, write_table

PAGE = HERE.parent / "docs" / "guides" / "interop.md"
BEGIN, END = "<!-- table: python benchmarks/interop.py --write-docs -->", "<!-- end of the table -->"
IDS = {
    "gymnax": ["CartPole-v1", "Pendulum-v1", "MountainCar-v0", "Breakout-MinAtar", "Catch-bsuite", "FourRooms-misc"],
    "brax": ["inverted_pendulum", "reacher"],
    "craftax": ["Craftax-Classic-Symbolic-v1"],
    "jaxmarl": ["MPE_simple_spread_v3", "switch_riddle", "coin_game", "hanabi"],
    "jumanji": ["Game2048-v1", "Snake-v1", "Maze-v0"],
    "navix": ["Navix-Empty-8x8-v0", "Navix-DoorKey-5x5-v0"],
    "pgx": ["minatar-breakout", "minatar-freeway", "2048"],
    "xminigrid": ["MiniGrid-Empty-8x8", "MiniGrid-FourRooms"],
}


def measure(library: str) -> list[dict[str, object]]:
    """Return a row for each environment of a library."""
    rows = []
    for name in IDS[library]:
        rows.append({"id": f"{library}/{name}", **run_peer(f"interop {library}", "interop.py", library, name)})
        print(rows[-1], flush=True)
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """Format the rows for the documentation."""
    lines = [
        f"Measured on {datetime.date.today()}:",
        "",
        "| id | library | trajectories | found by `check_func_env` | time of a step |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        if "error" in row:
            lines.append(f"| `{row['id']}` | | | {row['error']} | |")
            continue
        lines.append(
            f"| `{row['id']}` | {row['version']} | {row['trajectories']} | {row['findings'] or 'nothing'} | "
            f"{row['ratio']:.2f}x |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(IDS), default=list(IDS), help="libraries to measure")
    parser.add_argument("--write-docs", action="store_true", help=f"write the table of {PAGE.name}")
    options = parser.parse_args()
    text = table([row for library in options.only for row in measure(library)])
    print(text)
    if options.write_docs:
        write_table(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    main()

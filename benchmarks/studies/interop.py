"""Comparison of imported environments with their libraries: `python benchmarks/studies/interop.py [--write-docs]`.

Each library has a virtual environment of its own, in which a worker compares, for some environments, trajectories with
those of the library's own functions (the same keys and actions), lists what `check_func_env` finds, and takes the time
of a step of a compiled loop against that of the library's own. Our CartPole behind the library's interface is compared
with its own functions in the same way. `--write-docs` writes the tables of the guide. Results are kept in
`benchmarks/studies/results/` with their dates, so that libraries can be measured one after another (`--only`).
"""

from __future__ import annotations

import argparse
from typing import Any

from isolated import keep_rows, run_isolated, write_table
from libraries import add_pythons

BEGIN_OUT, END_OUT = "<!-- table of the other way -->", "<!-- end of the table of the other way -->"
BEGIN, END = "<!-- table: python benchmarks/studies/interop.py --write-docs -->", "<!-- end of the table -->"
IDS = {
    "gymnax": ["CartPole-v1", "Pendulum-v1", "MountainCar-v0", "Breakout-MinAtar", "Catch-bsuite", "FourRooms-misc"],
    "brax": ["inverted_pendulum", "reacher"],
    "craftax": ["Craftax-Classic-Symbolic-v1"],
    "envelope": ["gymnax.CartPole-v1"],
    "functional": [
        "gymnasium.envs.phys2d.cartpole:CartPoleFunctional",
        "gymnasium.envs.phys2d.pendulum:PendulumFunctional",
        "gymnasium.envs.tabular.blackjack:BlackjackFunctional",
        "gymnasium.envs.tabular.cliffwalking:CliffWalkingFunctional",
    ],
    "jaxmarl": ["MPE_simple_spread_v3", "switch_riddle", "coin_game", "hanabi"],
    "jumanji": ["Game2048-v1", "Snake-v1", "Maze-v0"],
    "navix": ["Navix-Empty-8x8-v0", "Navix-DoorKey-5x5-v0"],
    "pgx": ["minatar-breakout", "minatar-freeway", "2048"],
    "playground": ["CartpoleBalance"],
    "xminigrid": ["MiniGrid-Empty-8x8", "MiniGrid-FourRooms"],
}
OUT = ["brax", "envelope", "gymnax"]
"""The libraries whose interface can be compiled."""


def title(library: str, name: str) -> str:
    """Return the first entry of a row."""
    return name.rpartition(":")[2] if library == "functional" else f"{library}/{name}"


def table(rows: list[dict[str, Any]]) -> str:
    """Format the rows for the documentation."""
    lines = [
        "| id | library | trajectories | found by `check_func_env` | time of a step | date |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "error" in row:
            lines.append(f"| `{row['id']}` | | | {row['error']} | | {row['date']} |")
            continue
        cells = [row["version"], row["trajectories"], row["findings"] or "nothing", f"{row['ratio']:.2f}x"]
        lines.append(f"| `{row['id']}` | {' | '.join(cells)} | {row['date']} |")
    return "\n".join(lines)


def table_out(rows: list[dict[str, Any]]) -> str:
    """Format the rows of the other way for the documentation."""
    lines = ["| function | package | trajectories | time of a step | date |", "|---|---|---|---|---|"]
    for row in rows:
        equal = "equal bit for bit" if row.get("largest difference") == 0 else row.get("error", "differ")
        time = f"{row['ratio']:.2f}x" if "ratio" in row else ""
        lines.append(f"| `{row['id']}` | {row.get('version', '')} | {equal} | {time} | {row['date']} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(IDS), default=list(IDS), help="libraries to measure")
    parser.add_argument("--write-docs", action="store_true", help="write the tables of the guide")
    add_pythons(parser)
    options = parser.parse_args()
    order = [title(library, name) for library in IDS for name in IDS[library]]
    order_out = [f"to_{library}" for library in OUT]
    for library in options.only:
        place = {"functional": "gymnasium"}.get(library, library)
        for name in IDS[library]:
            row = run_isolated(place, "interop_worker.py", "in", library, name, pythons=dict(options.python))
            print(row, flush=True)
            keep_rows("interop", [{**row, "id": title(library, name)}], "id", order)
        if library in OUT:
            row = run_isolated(place, "interop_worker.py", "out", library, "CartPole-v1", pythons=dict(options.python))
            keep_rows("interop_out", [{**row, "id": f"to_{library}"}], "id", order_out)
    texts = table(keep_rows("interop", [], "id", order)), table_out(keep_rows("interop_out", [], "id", order_out))
    print(*texts, sep="\n\n")
    if options.write_docs:
        write_table(BEGIN, END, texts[0])
        write_table(BEGIN_OUT, END_OUT, texts[1])


if __name__ == "__main__":
    main()

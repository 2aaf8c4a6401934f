"""Comparison of imported environments with their libraries: `python benchmarks/interop.py [--write-docs]`.

Each library has a virtual environment of its own, in which a worker compares, for some environments, trajectories with
those of the library's own functions (the same keys and actions), lists what `check_func_env` finds, and takes the time
of a step of a compiled loop against that of the library's own. `--write-docs` writes the table of the guide.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import subprocess

from harness import HERE, PeerError, peer_python

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
    """Return a row for each environment of a library; or one with an error."""
    try:
        python = peer_python(f"interop {library}")
    except PeerError as error:
        return [{"id": library, "error": str(error)}]
    paths = os.pathsep.join(map(str, (HERE.parent, HERE)))
    variables = {**os.environ, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}
    rows = []
    for name in IDS[library]:
        worker = [python, str(HERE / "workers" / "interop.py"), library, name]
        outcome = subprocess.run(worker, env=variables, capture_output=True, text=True)
        lines = [line for line in outcome.stdout.splitlines() if line.startswith("{")]
        said = [line for line in outcome.stderr.splitlines() if line.strip()] or ["no message"]
        rows.append(json.loads(lines[-1]) if lines else {"id": f"{library}/{name}", "error": said[-1]})
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
        page = PAGE.read_text()
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        pathlib.Path(PAGE).write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()

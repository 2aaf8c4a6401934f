"""Trainers of other libraries on our CartPole: `python benchmarks/studies/trainers.py [--write-docs]`.

Each trainer has a virtual environment of its own, in which its program runs with the line changed that makes the
environment. `--write-docs` writes the table of the guide. PureJaxRL and CleanRL are scripts: name the folder of a
checkout by `--purejaxrl` and `--cleanrl`. Results are kept in `benchmarks/studies/results/` with their dates, so that
trainers can run one after another (`--only`).
"""

from __future__ import annotations

import argparse
from typing import Any

from isolated import keep_rows, run_isolated, write_table
from libraries import add_pythons

BEGIN, END = (
    "<!-- table: python benchmarks/studies/trainers.py --write-docs -->",
    "<!-- end of the table of trainers -->",
)
TRAINERS = {
    "purejaxrl": ("PureJaxRL, `ppo.py`", "gymnax"),
    "cleanrl-ppo": ("CleanRL, `ppo.py`", "torch"),
    "cleanrl-pqn": ("CleanRL, `pqn.py`", "torch"),
    "rejax": ("Rejax, `PPO`", "rejax"),
    "brax": ("brax, `ppo.train`", "brax"),
    "torchrl": ("TorchRL, `Collector` and `ClipPPOLoss`", "torchrl"),
    "bsuite": ("bsuite's actor-critic in JAX, for dm_env", "bsuite"),
    "tianshou": ("tianshou, `DQN`", "tianshou"),
    "rllib": ("RLlib, `PPOConfig`", "ray"),
}
"""The name in the table, and the package whose version it states."""
CLEANRL_STEPS = {"ppo": 100_000, "pqn": 200_000}


def table(rows: list[dict[str, Any]]) -> str:
    """Format the rows for the documentation."""
    lines = [
        "One seed each; 500 is the most that an episode gives:",
        "",
        "| trainer | package | the line that makes the environment | steps | mean return at the end | CPU s | date |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['name']} | | {row['error']} | | | | {row['date']} |")
            continue
        lines.append(
            f"| {row['name']} | {row['version']} | `{row['line']}` | {row['steps']:,} | {row['return']:.1f} | "
            f"{row['cpu']:.0f} | {row['date']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(TRAINERS), default=list(TRAINERS), help="trainers to run")
    parser.add_argument("--purejaxrl", metavar="CHECKOUT", help="the folder of a checkout of PureJaxRL")
    parser.add_argument("--cleanrl", metavar="CHECKOUT", help="the folder of a checkout of CleanRL")
    parser.add_argument("--write-docs", action="store_true", help="write the table of the guide")
    add_pythons(parser)
    options = parser.parse_args()
    rows = []
    for trainer in options.only:
        library, _, script = trainer.partition("-")
        args = [options.purejaxrl] if library == "purejaxrl" else []
        if library == "cleanrl":
            args = [options.cleanrl, script, str(CLEANRL_STEPS[script])]
        if args and args[0] is None:
            print(f"{trainer}: not run, because no checkout was named")
            continue
        name, package = TRAINERS[trainer]
        args = ["trainers_worker.py", trainer, package, *args]
        rows.append({"name": name, **run_isolated(f"trainer {library}", *args, pythons=dict(options.python))})
        print(rows[-1], flush=True)
    text = table(keep_rows("trainers", rows, "name", [name for name, _ in TRAINERS.values()]))
    print(text)
    if options.write_docs:
        write_table(BEGIN, END, text)


if __name__ == "__main__":
    main()

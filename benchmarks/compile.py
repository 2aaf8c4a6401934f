"""The cost of a first step: `python benchmarks/compile.py [ID ...]` traces and compiles one step of environments.

A row has the number of equations, which does not depend on the machine, the instructions of the optimized program, and
the CPU seconds of tracing with lowering, and of compiling, with JAX's default options. `--write-docs` writes the
committed table, by which `tests/benchmarks/test_compile.py` holds the equations.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from harness import HERE, write_json
from machine import describe

DOCS = HERE.parent / "docs"
RESULTS = DOCS / "assets" / "bench" / "compile.json"
PAGE = DOCS / "benchmarks_compile.md"
LARGER = ["BipedalWalkerHardcore-v3"]  # ids whose programs are larger than that of the first id of their class
START, END = "<!-- the table, by benchmarks/compile.py -->", "<!-- end of the table -->"


class Cost(NamedTuple):
    """The cost of a step of an environment before it runs."""

    equations: int
    hlo_instructions: int
    trace_seconds: float
    compile_seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write it if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID", help="by default those of the table")
    parser.add_argument("--write-docs", action="store_true", help="update docs/benchmarks_compile.md and its data")
    options = parser.parse_args(arguments)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)  # Everything is compiled.
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else {}
    for id in options.ids or [*first_of_each_class(), *LARGER]:
        known[id] = measure(id)._asdict()
        print(row(id, known[id]), flush=True)
    if options.write_docs:
        import jax

        rows = dict(sorted(known.items(), key=lambda item: -item[1]["equations"]))
        write_json(RESULTS, {"jax": jax.__version__, "machine": describe(), "rows": rows})
        write_table(PAGE, rows)


def first_of_each_class() -> list[str]:
    """Return the first id of each class of environments."""
    import funcenv
    from funcenv.registry import registry

    found: dict[type, str] = {}
    for id in registry:
        found.setdefault(type(funcenv.make(id).unwrapped), id)
    return list(found.values())


def measure(id: str) -> Cost:
    """Trace and compile a step of one environment, as it is made."""
    import jax

    import funcenv
    from funcenv._compile.jaxpr import iter_eqns

    env, key = funcenv.make(id), funcenv.key(0)
    state = jax.eval_shape(env.reset, key)[0]
    action = jax.eval_shape(env.action_space.sample, key)
    start = time.process_time()
    traced: Any = jax.jit(env.step).trace(state, action, key)
    lowered = traced.lower()
    middle = time.process_time()
    program = lowered.compile()
    end = time.process_time()
    equations = sum(1 for _ in iter_eqns(traced.jaxpr.jaxpr))
    # The text has tables of source lines, too, whose lengths depend on the depth of the call stack.
    instructions = sum(" = " in line for line in program.as_text().splitlines())
    return Cost(equations, instructions, round(middle - start, 2), round(end - middle, 2))


def row(id: str, cost: dict[str, Any]) -> str:
    """Return a line of the table."""
    return (
        f"| {id} | {cost['equations']:,} | {cost['hlo_instructions']:,} | {cost['trace_seconds']:.2f} "
        f"| {cost['compile_seconds']:.2f} |"
    )


def write_table(page: pathlib.Path, rows: dict[str, dict[str, Any]]) -> None:
    """Replace the table of the page."""
    head = "| environment | equations | optimized HLO, instructions | trace and lower, CPU-s | compile, CPU-s |"
    replace_table(page, START, END, [head, "|---|---:|---:|---:|---:|", *(row(id, cost) for id, cost in rows.items())])


def replace_table(page: pathlib.Path, start: str, end: str, lines: Sequence[str]) -> None:
    """Replace what stands between two comments of a page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    table = "\n".join(lines)
    page.write_text(f"{before}{start}\n\n{table}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

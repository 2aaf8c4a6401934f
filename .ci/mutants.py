"""Changes rules one by one, and lists the changes that no test notices.

    python .ci/mutants.py --seconds 600                     a part of all mutants, chosen by the commit
    python .ci/mutants.py --targets cartpole --all          all mutants of some files
    python .ci/mutants.py --list                            how many mutants there are

A mutant is one file with one change: a comparison or an operation becomes its neighbour, a number grows, a flag turns,
two branches change places. The tests of that file run in a process of its own, in which the changed file takes the
place of the original; nothing in the checkout is written. A mutant that passes all tests is a survivor. `EQUIVALENT`
explains those that change nothing which a test could see.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.abc
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTROL, TOY = "tests/envs/classic_control", "tests/envs/toy_text"
TARGETS = {
    "cartpole": ("envs/classic_control/cartpole.py", f"{CONTROL}/test_cartpole.py"),
    "mountain_car": ("envs/classic_control/mountain_car.py", f"{CONTROL}/test_mountain_car.py"),
    "mountain_car_dynamics": ("envs/classic_control/mountain_car_dynamics.py", f"{CONTROL}/test_mountain_car.py"),
    "acrobot": ("envs/classic_control/acrobot.py", f"{CONTROL}/test_acrobot.py"),
    "pendulum": ("envs/classic_control/pendulum.py", f"{CONTROL}/test_pendulum.py"),
    "frozen_lake": ("envs/toy_text/frozen_lake.py", f"{TOY}/test_frozen_lake.py"),
    "cliff_walking": ("envs/toy_text/cliff_walking.py", f"{TOY}/test_cliff_walking.py"),
    "taxi": ("envs/toy_text/taxi.py", f"{TOY}/test_taxi.py"),
    "blackjack": ("envs/toy_text/blackjack.py", f"{TOY}/test_blackjack.py"),
    "pong": ("envs/arcade/pong.py", "tests/envs/arcade/test_pong.py"),
    "coin_game": ("envs/multi_agent/coin_game.py", "tests/envs/multi_agent"),
    "autoreset": ("funcenv/vector_step.py", "tests/test_vector.py"),
    "keys": ("funcenv/func_env.py", "tests/test_func_env.py tests/test_vector.py"),
    "time_limit": ("funcenv/wrappers/time_limit.py", "tests/wrappers/test_time_limit.py tests/wrappers/test_stacks.py"),
    "autoreset_wrapper": ("funcenv/wrappers/autoreset.py", "tests/wrappers/test_autoreset.py"),
    "box": ("funcenv/spaces/box.py", "tests/spaces/test_box.py tests/spaces/test_distributions.py"),
    "discrete": ("funcenv/spaces/discrete.py", "tests/spaces/test_integers.py tests/spaces/test_distributions.py"),
    "returns": ("funcenv/train/updates/returns.py", "tests/train/test_returns.py tests/train/test_advantages.py"),
    "replay_buffer": ("funcenv/train/updates/replay_buffer.py", "tests/train/test_replay_buffer.py"),
}
"""The files whose rules are changed, and the tests that should notice."""

LOG = ROOT / ".cache" / "mutant.log"  # output of the tests of the last mutant
NUM_PARTS = 8
TIMEOUT_SECONDS = 300
SKIPPED_FUNCTIONS = ("scene", "backdrop", "__repr__", "get_keys_to_action", "stateful_attributes")  # drawings and words
EQUIVALENT: dict[str, str] = {}
"""Survivors that change nothing, by their names, with the reason."""

_COMPARISONS: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_COMPARISONS |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_OPERATIONS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_OPERATIONS |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.Mult}
_NEIGHBOURS = {"minimum": "maximum", "maximum": "minimum", "sin": "cos", "cos": "sin"}


class Mutant(NamedTuple):
    """One changed file."""

    target: str
    name: str  # "file:line: before -> after"
    source: str


def main() -> int:
    """Try mutants until the time is over, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so many seconds")
    parser.add_argument("--all", action="store_true", help="all parts")
    parser.add_argument("--list", action="store_true", help="count the mutants, and try none")
    parser.add_argument("--json", type=pathlib.Path, help="file for the outcome of each mutant")
    options = parser.parse_args()
    mutants = [one for target in options.targets for one in mutants_of(target)]
    if options.list:
        for target in options.targets:
            print(f"{target}: {sum(one.target == target for one in mutants)}")
        print(f"{len(mutants)} mutants")
        return 0
    chosen = [one for one in mutants if options.all or _is_turn(one)]
    chosen.sort(key=lambda one: hashlib.sha256(one.name.encode()).hexdigest())  # a sample, if the time is short
    _prepare()
    for target in dict.fromkeys(one.target for one in chosen):
        if try_mutant(Mutant(target, "unchanged", (ROOT / TARGETS[target][0]).read_text())) != "survived":
            sys.exit(f"the tests of {target} fail without a change: {TARGETS[target][1]}")
    outcomes: dict[str, str] = {}
    start = time.monotonic()
    for mutant in chosen:
        if time.monotonic() - start > options.seconds:
            break
        outcomes[mutant.name] = try_mutant(mutant)
        print(f"{outcomes[mutant.name]:<9} {mutant.name}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(outcomes, indent=1) + "\n")
    survivors = [name for name, outcome in outcomes.items() if outcome == "survived" and name not in EQUIVALENT]
    explained = sum(name in EQUIVALENT for name, outcome in outcomes.items() if outcome == "survived")
    killed = len(outcomes) - len(survivors) - explained
    tried = len(outcomes) - explained
    print(f"{killed} of {tried} killed, {explained} equivalent; {len(chosen)} chosen of {len(mutants)}")
    return 1 if survivors else 0


def mutants_of(target: str) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    path = TARGETS[target][0]
    source = (ROOT / path).read_text()
    for node, new in _changes(ast.parse(source)):
        before, after = ast.get_source_segment(source, node), ast.unparse(new)
        changed = _replaced(source, node, f"({after})")
        shown = " ".join(str(before).split())
        yield Mutant(target, f"{path}:{node.lineno}: {shown} -> {after}", changed)


def _changes(tree: ast.Module) -> Iterator[tuple[Any, ast.expr]]:
    """Yield expressions of function bodies and defaults of fields, and what to put in their place."""
    for node in _rules(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            yield node, ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            yield node, ast.BinOp(node.left, _OPERATIONS[type(node.op)](), node.right)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, ast.Constant(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            yield node, ast.Constant(node.value + 1)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
            yield node, node.operand
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("where", "select") and len(node.args) == 3:
                yield node, ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
            elif node.func.attr in _NEIGHBOURS:
                function = ast.Attribute(node.func.value, _NEIGHBOURS[node.func.attr], ast.Load())
                yield node, ast.Call(function, node.args, node.keywords)


def _rules(tree: ast.AST) -> Iterator[Any]:
    """Walk through code that decides results: no annotations, no messages of errors, no drawings, no text."""
    if isinstance(tree, (ast.FunctionDef, ast.ClassDef)) and tree.name in SKIPPED_FUNCTIONS:
        return
    if isinstance(tree, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.arguments)):
        return
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from _rules(child)


def _replaced(source: str, node: Any, text: str) -> str:
    """Return the source with the characters of a node replaced; offsets of nodes count bytes."""
    lines = source.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    data = source.encode()
    return (data[:begin] + text.encode() + data[end:]).decode()


def _is_turn(mutant: Mutant) -> bool:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return int(hashlib.sha256(mutant.name.encode()).hexdigest(), 16) % NUM_PARTS == int(commit or "0", 16) % NUM_PARTS


def _prepare() -> None:
    """Import what every child needs besides the package, so that it begins quickly; no backend is started."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    # Loaded by its path, because pytest rewrites the package that it belongs to when it is imported.
    spec = importlib.util.spec_from_file_location("compiling", ROOT / "tests" / "support" / "compiling.py")
    assert spec is not None and spec.loader is not None
    compiling = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compiling)
    compiling.configure()
    import gymnasium  # noqa: F401
    import jax  # noqa: F401
    import pytest  # noqa: F401


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Finds one module, with a source of its own."""

    def __init__(self, name: str, path: str, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(fullname, self, origin=self.path) if fullname == self.name else None

    def get_filename(self, fullname: str) -> str:
        return self.path

    def get_data(self, path: str) -> bytes:
        return self.source.encode()


def try_mutant(mutant: Mutant) -> str:
    """Return "killed", "timed out" or "survived"."""
    path, tests = TARGETS[mutant.target]
    child = os.fork()
    if child == 0:
        _run_tests(mutant, path, tests.split())
    end = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if status == 0 else "killed"
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timed out"


def _run_tests(mutant: Mutant, path: str, tests: list[str]) -> None:
    import pytest

    name = path.removesuffix(".py").replace("/", ".")
    name = name if name.startswith("funcenv.") else f"funcenv.{name}"
    sys.meta_path.insert(0, _Changed(name, str(ROOT / path), mutant.source))
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.environ["FUNCENV_TEST_PART"] = "0"
    status = 1
    try:
        status = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(0 if status == 0 else 1)


if __name__ == "__main__":
    sys.exit(main())

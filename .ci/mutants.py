"""Changes rules one by one, and lists the changes that no test notices.

    python .ci/mutants.py --seconds 600                     a part of all mutants, chosen by the commit
    python .ci/mutants.py --targets cartpole --all          all mutants of some files
    python .ci/mutants.py --list                            how many mutants there are
    python .ci/mutants.py --all --seconds 0                 what is known of them

A mutant is one file with one change: a comparison or an operation becomes its neighbour, a number grows, a flag turns,
two branches change places. The tests of that file run in a process of its own, in which the changed file takes the
place of the original, also in processes that a test starts; nothing in the checkout is written. A mutant that passes
the quick tests meets the thorough ones next. One that passes these too is a survivor. `EQUIVALENT` explains those that
change nothing which a test could see. Outcomes are added to `--json FILE`, by default `.ci/mutants.json`. Those of a
file that changed since are dropped, and what no test noticed is tried again, because tests may have come.
"""

from __future__ import annotations

import argparse
import ast
import collections
import hashlib
import importlib.abc
import importlib.util
import itertools
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Target(NamedTuple):
    """A file whose rules are changed, and the tests that should notice: quick ones, then those that take longer."""

    path: str
    quick: str
    thorough: str


WHOLE = (
    "tests/contract/test_envs.py tests/verify/test_records.py tests/adapters/test_reward_range.py "
    "tests/adapters/engine/test_parameters.py tests/adapters/engine/test_remembered.py "
    "tests/adapters/gymnasium/test_registration.py"
)
ALWAYS = "declared_where_they_were or bounds_follow_from_the_parameters"  # tests of all environments


def _environment(path: str, quick: str, more: str, *names: str) -> Target:
    """Return an environment's file, which the contract suite and the records test besides its own tests."""
    return Target(f"envs/{path}", quick, f"{more} {WHOLE} -k '{' or '.join((*names, ALWAYS))}'")


CONTROL, TOY = "tests/envs/classic_control", "tests/envs/toy_text"
TARGETS = {
    "cartpole": _environment("classic_control/cartpole.py", f"{CONTROL}/test_cartpole.py", CONTROL, "CartPole-v1"),
    "mountain_car": _environment(
        "classic_control/mountain_car.py", f"{CONTROL}/test_mountain_car.py", CONTROL, "MountainCar-v0"
    ),
    "mountain_car_dynamics": _environment(
        "classic_control/mountain_car_dynamics.py",
        f"{CONTROL}/test_mountain_car.py {CONTROL}/test_mountain_car_continuous.py",
        CONTROL,
        "MountainCar-v0",
    ),
    "acrobot": _environment("classic_control/acrobot.py", f"{CONTROL}/test_acrobot.py", CONTROL, "Acrobot-v1"),
    "pendulum": _environment("classic_control/pendulum.py", f"{CONTROL}/test_pendulum.py", CONTROL, "Pendulum-v1"),
    "frozen_lake": _environment(
        "toy_text/frozen_lake.py",
        f"{TOY}/test_frozen_lake.py {TOY}/test_tabular.py",
        TOY,
        "FrozenLake-v1",
        "lake",
        "frozen",
    ),
    "cliff_walking": _environment(
        "toy_text/cliff_walking.py",
        f"{TOY}/test_cliff_walking.py {TOY}/test_tabular.py",
        TOY,
        "CliffWalking-v1",
        "CliffWalkingSlippery-v1",
        "cliff",
    ),
    "taxi": _environment("toy_text/taxi.py", f"{TOY}/test_taxi.py {TOY}/test_tabular.py", TOY, "Taxi-v4", "taxi"),
    "blackjack": _environment("toy_text/blackjack.py", f"{TOY}/test_blackjack.py", TOY, "Blackjack-v1", "blackjack"),
    "pong": _environment("arcade/pong.py", "tests/envs/arcade/test_pong.py", "", "Pong-v0"),
    "coin_game": _environment("multi_agent/coin_game.py", "tests/envs/multi_agent", "", "CoinGame-v0"),
    "autoreset": Target(
        "funcenv/vector_step.py",
        "tests/test_vector.py",
        "tests/test_rollout.py tests/wrappers/test_autoreset.py tests/accelerators/test_programs.py "
        "-k 'test_rollout or autoreset or without_collectives or no_chip_waits'",
    ),
    "keys": Target("funcenv/func_env.py", "tests/test_func_env.py tests/test_vector.py", "tests/test_rollout.py"),
    "time_limit": Target(
        "funcenv/wrappers/time_limit.py", "tests/wrappers/test_time_limit.py", "tests/wrappers/test_stacks.py"
    ),
    "autoreset_wrapper": Target(
        "funcenv/wrappers/autoreset.py", "tests/wrappers/test_autoreset.py", "tests/wrappers/test_stacks.py"
    ),
    "box": Target(
        "funcenv/spaces/box.py", "tests/spaces/test_box.py tests/spaces/test_distributions.py", "tests/spaces"
    ),
    "discrete": Target("funcenv/spaces/discrete.py", "tests/spaces/test_integers.py", "tests/spaces"),
    "returns": Target(
        "funcenv/train/updates/returns.py", "tests/train/test_returns.py", "tests/train/test_advantages.py"
    ),
    "replay_buffer": Target(
        "funcenv/train/updates/replay_buffer.py",
        "tests/train/test_replay_buffer.py",
        "tests/train/test_blocks.py tests/train/test_hindsight.py tests/train/test_processes.py "
        "-k 'blocks or hindsight or (devices and dqn)'",
    ),
}
"""Files that are changed, by a word for `--targets`."""

OUTCOMES = ROOT / ".ci" / "mutants.json"
LOGS = ROOT / ".cache" / "mutants"  # outputs of tests, since the script began
NUM_PARTS = 8
TIMEOUT_SECONDS = 900
PASSES = "passes the quick tests"
SKIPPED_FUNCTIONS = ("scene", "backdrop", "__repr__", "get_keys_to_action", "stateful_attributes")  # drawings and words
EQUIVALENT: dict[str, str] = {
    "envs/classic_control/acrobot.py:193:40: self.torque_noise_max > 0 -> self.torque_noise_max >= 0": "no noise",
    "envs/classic_control/acrobot.py:228:12: 0 -> 1": "noise that is multiplied by its size, 0",
    "envs/multi_agent/coin_game.py:96:53: -1 -> 1": "the last of two axes",
    "envs/multi_agent/coin_game.py:123:66: 1 -> 2": "an index beyond the end takes the last entry",
    "funcenv/func_env.py:433:75: 0 -> 1": "only the shapes of what a key draws are used",
    "funcenv/spaces/box.py:100:73: 0 -> 1": "one choice or two, both of which take one word",
    "funcenv/spaces/box.py:105:67: largest + 1 -> largest - 1": "one word or two, both as exact as promised",
    "funcenv/spaces/box.py:105:77: 1 -> 2": "one word or two, both as exact as promised",
    "funcenv/spaces/box.py:128:56: 0 -> 1": "a bound that there is not, whose number is not used",
    "funcenv/spaces/box.py:128:83: 0 -> 1": "a bound that there is not, whose number is not used",
    "funcenv/spaces/box.py:220:19: 0 -> 1": "a bound of no elements",
    "funcenv/spaces/box.py:220:22: 0 -> 1": "a bound of no elements",
    "funcenv/spaces/box.py:222:89: True -> False": "all have equally many entries",
    "funcenv/spaces/box.py:237:77: True -> False": "both have equally many axes",
    "funcenv/train/updates/replay_buffer.py:108:27: self.count > self.capacity -> self.count >= self.capacity": (
        "a full buffer's oldest step is at its count modulo the capacity, which is 0"
    ),
    "funcenv/train/updates/replay_buffer.py:115:80: 2 -> 3": "one draw more, which nothing reads",
    "funcenv/train/updates/returns.py:49:107: 4 -> 5": "how far a loop is unrolled",
    "funcenv/vector_step.py:79:24: True -> False": "it is asked whether there is such a mark, not which",
    "envs/arcade/pong.py:141:47: 120_400 -> 120401": "no position of the knob is at a step of its reading",
    "envs/arcade/pong.py:181:93: 16 -> 17": "a wall that ends beyond the screen",
    "envs/arcade/pong.py:181:97: 160 -> 161": "a wall that ends beyond the screen",
    "envs/arcade/pong.py:176:78: state.ball_y > 0 -> state.ball_y >= 0": "a ball at 0 is outside of the court",
}
"""Survivors that change nothing, by their names, with the reason."""

_COMPARISONS: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_COMPARISONS |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_OPERATIONS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_OPERATIONS |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.Mult}
_NEIGHBOURS = {"minimum": "maximum", "maximum": "minimum", "sin": "cos", "cos": "sin"}


class Mutant(NamedTuple):
    """One changed file."""

    target: str
    name: str  # "file:line:column: before -> after"
    source: str


def main() -> int:
    """Try mutants until the time is over, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so many seconds")
    parser.add_argument("--all", action="store_true", help="all parts")
    parser.add_argument("--list", action="store_true", help="count the mutants, and try none")
    parser.add_argument("--json", type=pathlib.Path, default=OUTCOMES, help="file with the outcome of each mutant")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tried at the same time")
    options = parser.parse_args()
    mutants = [one for target in options.targets for one in mutants_of(target)]
    if options.list:
        for target in options.targets:
            print(f"{target}: {sum(one.target == target for one in mutants)}")
        print(f"{len(mutants)} mutants")
        return 0
    chosen = [one for one in mutants if options.all or _is_turn(one)]
    chosen.sort(key=lambda one: hashlib.sha256(one.name.encode()).hexdigest())  # a sample, if the time is short
    outcomes = read_outcomes(options.json)
    new = [one for one in chosen if _is_open(one, outcomes)]
    _prepare()
    shutil.rmtree(LOGS, ignore_errors=True)
    asked = dict.fromkeys(one.target for one in new) if options.seconds > 0 else ()
    unchanged = [
        Mutant(target, name, (ROOT / TARGETS[target].path).read_text())
        for target in asked
        if outcomes.get(name := f"{TARGETS[target].path}: no change") != "survived"
    ]
    failed = []
    for tries in (
        try_mutants(unchanged, options.jobs, math.inf),
        try_mutants(new, options.jobs, options.seconds),
    ):
        for one, outcome in tries:
            print(f"{outcome:<9} {one.name}", flush=True)
            if outcome != PASSES or outcomes.get(one.name) != "survived":  # one that survived did so until it is killed
                outcomes[one.name] = outcome
            if one in unchanged and outcome not in (PASSES, "survived"):
                failed.append(one.target)
            write_outcomes(options.json, outcomes)
        if failed:
            sys.exit(f"tests fail without a change: {', '.join(failed)}; outputs are in {LOGS}")
    tried = [one for one in chosen if outcomes.get(one.name, PASSES) != PASSES]
    undecided = sum(outcomes.get(one.name) == PASSES for one in chosen)
    told = [one for one in tried if outcomes[one.name] != "survived" or one.name not in EQUIVALENT]
    survivors = [one for one in told if outcomes[one.name] == "survived"]
    for target, of_target in itertools.groupby(sorted(told), key=lambda one: one.target):
        results = [outcomes[one.name] != "survived" for one in of_target]
        print(f"{target}: {sum(results)} of {len(results)} killed")
    for one in survivors:
        print(f"not noticed: {one.name}")
    print(
        f"{len(told) - len(survivors)} of {len(told)} killed, {len(tried) - len(told)} equivalent; "
        f"{len(tried)} tried of {len(mutants)}, {undecided} more pass the quick tests"
    )
    return int(bool(survivors))


def read_outcomes(file: pathlib.Path) -> dict[str, str]:
    """Return the outcomes of mutants by their names, without those of files that changed."""
    known = json.loads(file.read_text()) if file.exists() else {}
    return {
        name: outcome
        for path, of_file in known.items()
        if of_file["sha256"] == _digest(path)
        for name, outcome in of_file["outcomes"].items()
    }


def write_outcomes(file: pathlib.Path, outcomes: dict[str, str]) -> None:
    """Write the outcomes of mutants by file, with the digest of its source."""
    by_file = itertools.groupby(sorted(outcomes.items(), key=lambda one: _place(one[0])), key=lambda one: _path(one[0]))
    known = {path: {"sha256": _digest(path), "outcomes": dict(of_file)} for path, of_file in by_file}
    file.write_text(json.dumps(known, indent=1) + "\n")


def _is_open(mutant: Mutant, outcomes: dict[str, str]) -> bool:
    """Return whether a mutant is to be tried: it never was, or not by the thorough tests, or it survived them."""
    outcome = outcomes.get(mutant.name, PASSES)
    return outcome == PASSES or (outcome == "survived" and mutant.name not in EQUIVALENT)


def _path(name: str) -> str:
    return name.partition(":")[0]


def _place(name: str) -> tuple[str, list[int], str]:
    """Return the file, the line and column, and the rest of a mutant's name."""
    return _path(name), [int(number) for number in re.findall(r":(\d+)", name)[:2]], name


def _digest(path: str) -> str:
    source = ROOT / path
    return hashlib.sha256(source.read_bytes()).hexdigest() if source.exists() else ""


def mutants_of(target: str) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    path = TARGETS[target].path
    source = (ROOT / path).read_text()
    for node, new in _changes(ast.parse(source)):
        before, after = ast.get_source_segment(source, node), ast.unparse(new)
        changed = _replaced(source, node, f"({after})")
        shown = " ".join(str(before).split())
        yield Mutant(target, f"{path}:{node.lineno}:{node.col_offset}: {shown} -> {after}", changed)


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


def change(file: pathlib.Path) -> None:
    """Let the module that `file` names be imported with the source that it has."""
    sys.meta_path.insert(0, _Changed(*json.loads(file.read_text())))


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


def try_mutants(mutants: list[Mutant], jobs: int, seconds: float) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant that was tried, and "killed", "timed out" or "survived", or `PASSES` before its second try.

    Args:
        mutants: in the order of their tries.
        jobs: how many are tried at the same time.
        seconds: no try begins later.
    """
    waiting = collections.deque((one, TARGETS[one.target].quick, False) for one in mutants)
    running: dict[int, tuple[Mutant, bool, float]] = {}
    last = time.monotonic() + seconds
    while running or (waiting and time.monotonic() < last):
        while waiting and len(running) < jobs and time.monotonic() < last:
            mutant, tests, is_thorough = waiting.popleft()
            child = os.fork()
            if child == 0:
                _run_tests(mutant, shlex.split(tests), is_thorough)
            running[child] = (mutant, is_thorough, time.monotonic() + TIMEOUT_SECONDS)
        time.sleep(0.05)
        for child, (mutant, is_thorough, end) in list(running.items()):
            done, status = os.waitpid(child, os.WNOHANG)
            if not done and time.monotonic() < end:
                continue
            del running[child]
            if not done:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                yield mutant, "timed out"
            elif status != 0 or is_thorough:
                yield mutant, "killed" if status != 0 else "survived"
            else:
                waiting.appendleft((mutant, TARGETS[mutant.target].thorough, True))
                yield mutant, PASSES


def _run_tests(mutant: Mutant, tests: list[str], is_thorough: bool) -> None:
    """Run tests of a child process, with a changed file, and end it: 0 if they pass."""
    import pytest

    path = TARGETS[mutant.target].path
    name = path.removesuffix(".py").replace("/", ".")
    name = name if name.startswith("funcenv.") else f"funcenv.{name}"
    home = LOGS / str(os.getpid())
    home.mkdir(parents=True, exist_ok=True)
    changed = home / "changed.json"
    changed.write_text(json.dumps((name, str(ROOT / path), mutant.source)))
    change(changed)
    start = f"import pathlib, sys; sys.path.insert(0, {str(ROOT / '.ci')!r}); import mutants; sys.path.pop(0)"
    (home / "sitecustomize.py").write_text(f"{start}\nmutants.change(pathlib.Path({str(changed)!r}))\n")
    sys.path.append(str(home))  # tests hand it to the processes that they start
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(home), os.environ.get("PYTHONPATH"))))
    with (LOGS / f"{os.getpid()}.log").open("w") as log:
        log.write(f"{mutant.name}\n")
        log.flush()
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.environ["FUNCENV_TEST_PART"] = "0"
    status = 1
    try:
        parts = ["--exhaustive=all"] if is_thorough else []
        status = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *parts, *tests]))
    finally:
        os._exit(0 if status == 0 else 1)


if __name__ == "__main__":
    sys.exit(main())

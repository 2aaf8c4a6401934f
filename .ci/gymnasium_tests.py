"""Gymnasium's own tests over `funcenv.adapters`: `python .ci/gymnasium_tests.py CHECKOUT [--files tests/spaces]`.

CHECKOUT is a folder with Gymnasium's repository. Its tests are copied to a temporary folder, where `funcenv.adapters`
takes the place of `gymnasium` in every import. A name that is missing becomes a placeholder, which fails the tests that
use it. Failures are grouped, and compared with the table of `docs/guides/reference_tests.md`; the script ends with
status 1 if the groups or their numbers differ. Nothing of the checkout is kept.
"""

from __future__ import annotations

import argparse
import ast
import collections
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "reference_tests.md"
CACHE = pathlib.Path(tempfile.gettempdir()) / "funcenv_gymnasium_tests"  # compiled programs, kept for the next run
BEGIN, END = "<!-- table: python .ci/gymnasium_tests.py -->", "<!-- end of the table -->"
PLACES = {"gymnasium": "funcenv.adapters", "gym": "funcenv.adapters.gym"}
TOOLS = {"gymnasium.utils.env_checker": {"data_equivalence"}}
"""Functions by which the tests compare results, and which they do not test: those remain Gymnasium's."""

NAMES = '''
"""The names that the tests import."""

import importlib


def take(module, name):
    """Return a name of a module, or a class that fails whoever uses it."""
    try:
        found = importlib.import_module(module)
        if hasattr(found, name):
            return getattr(found, name)
        return importlib.import_module(f"{module}.{name}")
    except ImportError:
        return placeholder(f"{module}.{name}".replace("funcenv.adapters.", "gymnasium."))


def placeholder(name):
    """Return a class that says at its first use that there is no such name."""

    def refuse(*args, **kwargs):
        raise NotImplementedError(f"there is no {name}")

    meta = type("Missing", (type,), {"__getattr__": lambda cls, attribute: refuse(), "__call__": refuse})
    return meta(name.rpartition(".")[2], (), {})
'''

LIMIT = '''
"""A limit for every test, because a window that waits for a key would wait for ever."""

import signal

import pytest


@pytest.fixture(autouse=True)
def limit():
    def stop(number, frame):
        raise TimeoutError("the test did not end")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(90)
    yield
    signal.alarm(0)
'''


class Failure(NamedTuple):
    """A test that failed."""

    test: str  # such as "tests/spaces/test_box.py::test_shape[3]"
    message: str


class Row(NamedTuple):
    """A row of the page's table: failures that have one reason."""

    patterns: tuple[str, ...]  # names of tests without parameters, such as "spaces/test_box.py::test_shape_*"
    count: int
    reason: str

    def fits(self, failure: Failure) -> bool:
        """Return whether a failure belongs to the row."""
        own = failure.test.partition("[")[0].removeprefix("tests/")
        return any(fnmatch.fnmatchcase(own, pattern) for pattern in self.patterns)

    def is_in(self, files: list[str]) -> bool:
        """Return whether all tests of the row are in some files or folders."""
        folders = [file.removeprefix("tests").strip("/") for file in files]  # "" holds all
        return all(any(pattern.startswith(folder) for folder in folders) for pattern in self.patterns)


def rewrite(text: str) -> str:
    """Return a program in which the package takes the place of Gymnasium, and of old Gym, in every import."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and any(_ours(name.name) for name in node.names):
            new = [_import(name) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and _ours(node.module or ""):
            new = [_import_from(node.module or "", name) for name in node.names]
        else:
            continue
        rest = [""] * ((node.end_lineno or node.lineno) - node.lineno)  # keeps the numbers of lines
        lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + "; ".join(new), *rest]
    return "\n".join(lines) + "\n"


def _ours(module: str) -> str | None:
    """Return the module that takes the place of another one; None if that one stays."""
    package, dot, rest = module.partition(".")
    return PLACES[package] + dot + rest if package in PLACES else None


def _import(name: ast.alias) -> str:
    ours, package = _ours(name.name), name.name.partition(".")[0]
    if ours is None:
        return f"import {name.name}" + (f" as {name.asname}" if name.asname else "")
    if name.asname or name.name == package:
        return f"import {ours} as {name.asname or package}"
    return f"import {ours}, {PLACES[package]} as {package}"


def _import_from(module: str, name: ast.alias) -> str:
    if name.name in TOOLS.get(module, ()):
        return f"from {module} import {name.name}"
    return f'from reference_names import take; {name.asname or name.name} = take("{_ours(module)}", "{name.name}")'


def copy_tests(checkout: pathlib.Path, folder: pathlib.Path) -> None:
    """Copy the tests of a checkout to a folder, with other imports."""
    shutil.copytree(checkout / "tests", folder / "tests")
    for path in (folder / "tests").rglob("*.py"):
        path.write_text(rewrite(path.read_text()))
    (folder / "reference_names.py").write_text(NAMES)
    (folder / "conftest.py").write_text(LIMIT)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")


def run_tests(folder: pathlib.Path, files: list[str], options: list[str]) -> tuple[list[Failure], int]:
    """Run the tests in a folder, and return the failures and the number of tests that passed."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", *files, "-q", "--tb=short", f"--junitxml={report}", *options]
    command += [
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
    ]
    cache = {"JAX_COMPILATION_CACHE_DIR": str(CACHE), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment = {
        **cache,
        "FUNCENV_NO_FAST_PATH": "1",
        "JAX_PLATFORMS": "cpu",
        "SDL_VIDEODRIVER": "dummy",
        **os.environ,
    }
    subprocess.run(command, cwd=folder, env=environment, check=False)
    failures, passed = [], 0
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = [part for kind in ("failure", "error") for part in case.findall(kind)]
        place = (case.get("classname") or "").replace(".", "/")
        test = f"{place}.py::{case.get('name')}" if place else str(case.get("name")).replace(".", "/") + ".py"
        failures += [Failure(test, error_of(part.text or part.get("message") or "")) for part in wrong]
        passed += not wrong and case.find("skipped") is None
    return failures, passed


def error_of(text: str) -> str:
    """Return the error at the end of a traceback."""
    lines = [line.removeprefix("E").strip() for line in text.splitlines() if line.startswith("E  ")]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Warning|Failed|Exit|assert)\b", line)]
    return (named or lines or text.splitlines() or [""])[-1]


def table_rows(begin: str = BEGIN) -> list[Row]:
    """Return the rows of a table of the page."""
    table = PAGE.read_text().split(begin)[1].split(END)[0].strip().splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [Row(tuple(re.findall(r"`([^`]+)`", tests)), int(count), reason) for tests, count, reason in cells]


def compare(failures: list[Failure], rows: list[Row], files: list[str]) -> list[str]:
    """Return in what failures differ from the rows of the table; only rows of the files have their number."""
    found: collections.Counter[Row] = collections.Counter()
    differences = []
    for failure in failures:
        fitting = [row for row in rows if row.fits(failure)]
        found.update(fitting[:1])
        if not fitting:
            differences.append(f"not in the table: {failure.test}: {failure.message[:200]}")
    differences += [
        f"{' '.join(row.patterns)}: the table says {row.count}, the run {found[row]}"
        for row in rows
        if found[row] != row.count and (row.is_in(files) or found[row] > row.count)
    ]
    return differences


def print_groups(failures: list[Failure], rows: list[Row], files: list[str]) -> None:
    """Print the failures by reason, and end with status 1 if they differ from the table."""
    for row in rows:
        fitting = [failure for failure in failures if row.fits(failure)]
        print(f"{len(fitting):5} {' '.join(row.patterns)}: {row.reason}")
    differences = compare(failures, rows, files)
    if differences:
        sys.exit("\n".join(differences))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--files", nargs="+", default=["tests"], help="files or folders of tests; all by default")
    parser.add_argument("--pytest", nargs="+", default=[], help="options of pytest, such as --pytest=-x")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy_tests(arguments.checkout, pathlib.Path(folder))
        failures, passed = run_tests(pathlib.Path(folder), arguments.files, arguments.pytest)
    print(f"{passed} passed, {len(failures)} failed")
    print_groups(failures, table_rows(), arguments.files)


if __name__ == "__main__":
    main()

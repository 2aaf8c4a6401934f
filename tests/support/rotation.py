"""A pytest plugin that runs a sixteenth of the tests with the mark `exhaustive` or `dear`, which the commit chooses.

`--exhaustive=all` runs all of them, as does naming a test (`file.py::test`). The header names the part, and the
summary counts the tests that were left out.
"""

import hashlib
import os
import pathlib
import subprocess

import pytest

NUM_PARTS = 16
ROOT = pathlib.Path(__file__).parents[2]
PART = "FUNCENV_TEST_PART"  # an environment variable, so that xdist's workers agree with the main process


def pytest_addoption(parser):
    parser.addoption("--exhaustive", choices=["part", "all"], default="part", help="which exhaustive tests to run")


def pytest_configure(config):
    if PART not in os.environ:
        os.environ[PART] = str(int(_commit(), 16) % NUM_PARTS)


def _commit():
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else "0"


def pytest_report_header(config):
    if config.getoption("--exhaustive") == "all":
        return "exhaustive tests: all"
    return f"exhaustive tests: part {part() + 1} of {NUM_PARTS}, chosen by the commit; --exhaustive=all runs all"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("--exhaustive") == "all" or any("::" in arg for arg in config.args):
        return
    left_out = [item for item in items if (mark := _rotates(item)) and not _is_chosen(item, mark)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
        config.stash[NUM_LEFT_OUT] = len(left_out)


NUM_LEFT_OUT = pytest.StashKey()


def part():
    """Return the number of the commit's part."""
    return int(os.environ[PART])


def rotated(values, always=()):
    """Return values for `pytest.mark.parametrize`, of which all but those in `always` rotate."""
    return [value if value in always else pytest.param(value, marks=pytest.mark.exhaustive) for value in values]


def _rotates(item):
    """Return the mark that lets a test rotate, or None; that of a product of cases may name a group."""
    return item.get_closest_marker("exhaustive") or item.get_closest_marker("dear")


def _is_chosen(item, mark):
    """Return whether the commit's part holds a test; tests of one file with the same `group` are in the same part."""
    group = mark.kwargs.get("group")
    return is_chosen(f"{item.nodeid.partition('::')[0]}[{group}]" if group else item.nodeid)


def is_chosen(nodeid):
    """Return whether the commit's part holds a test. Each test is in one part."""
    return int(hashlib.sha256(nodeid.encode()).hexdigest(), 16) % NUM_PARTS == part()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take over what a worker of xdist counted; all workers collect the same tests."""
    node.config.stash[NUM_LEFT_OUT] = getattr(node, "workeroutput", {}).get("num_left_out", 0)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["num_left_out"] = session.config.stash.get(NUM_LEFT_OUT, 0)


def pytest_terminal_summary(terminalreporter, config):
    if num_left_out := config.stash.get(NUM_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{num_left_out} exhaustive tests were left to other commits; --exhaustive=all runs them"
        )

"""A pytest plugin that measures what each test costs and fails one that costs too much.

It counts CPU seconds (those of subprocesses included), because wall time depends on what else the machine does, and
the programs that JAX compiled rather than read from the compile cache. The ten dearest files are printed at the end.
`--costs=FILE` writes all figures as JSON.
"""

import collections
import json
import pathlib
import resource
import time

import jax
import pytest

# The limit of a test without the mark `dear` is three times what it should use, because machines differ as much.
MAX_CPU_SECONDS = 60
NUM_DEAREST = 10

_compiled = collections.Counter()
_last = {}


def pytest_addoption(parser):
    parser.addoption("--costs", metavar="FILE", help="write the CPU seconds and compilations of every test as JSON")


def pytest_configure(config):
    if "programs" not in _last:
        jax.monitoring.register_event_duration_secs_listener(_count_compilation)
        jax.monitoring.register_event_listener(_count_cache_hit)
    _last.update(_used())


def _count_compilation(name, _, **__):
    _compiled["programs"] += name == "/jax/core/compile/backend_compile_duration"


def _count_cache_hit(name, **__):
    _compiled["programs"] -= name == "/jax/compilation_cache/cache_hits"


def _used():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() + children.ru_utime + children.ru_stime
    return {"seconds": seconds, "programs": _compiled["programs"]}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Add the cost since the last report to this one; xdist carries it to the main process."""
    report = yield
    now = _used()
    report.cpu_seconds = now["seconds"] - _last["seconds"]
    report.num_compiled = now["programs"] - _last["programs"]
    _last.update(now)
    is_bounded = isinstance(item, pytest.Function) and item.get_closest_marker("dear") is None  # no notebook
    is_too_dear = is_bounded and report.cpu_seconds > MAX_CPU_SECONDS
    if call.when == "call" and report.passed and is_too_dear:
        report.outcome = "failed"
        report.longrepr = (
            f"a test may use {MAX_CPU_SECONDS} CPU seconds, got {report.cpu_seconds:.1f}; "
            "compile less, share a recording, or mark it `dear`"
        )
    return report


def pytest_runtest_logreport(report):
    cost = _costs[report.nodeid]
    cost[0] += report.cpu_seconds
    cost[1] += report.num_compiled
    cost[2] += report.duration


_costs = collections.defaultdict(lambda: [0.0, 0, 0.0])


def pytest_terminal_summary(terminalreporter, config):
    files = collections.defaultdict(lambda: [0.0, 0, 0])
    for nodeid, (seconds, programs, _) in _costs.items():
        total = files[nodeid.partition("::")[0]]
        for index, amount in enumerate((seconds, programs, 1)):
            total[index] += amount
    terminalreporter.section("dearest files")
    terminalreporter.write_line(f"{'CPU-s':>8} {'programs':>9} {'tests':>6}")
    ranked = sorted(files.items(), key=lambda file: file[1][0], reverse=True)
    whole = [sum(column) for column in zip(*files.values(), strict=True)] or [0.0, 0, 0]
    for name, (seconds, programs, tests) in [*ranked[:NUM_DEAREST], ("all files", whole)]:
        terminalreporter.write_line(f"{seconds:8.1f} {programs:9d} {tests:6d}  {name}")
    if path := config.getoption("--costs"):
        pathlib.Path(path).write_text(json.dumps(_costs, indent=1))

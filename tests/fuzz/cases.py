"""How a test gets its cases: from hypothesis, equal in every run of a commit, and with a watch for hangs."""

import functools
import signal
import threading
from contextlib import contextmanager

import hypothesis
from hypothesis import HealthCheck, Phase

MAX_SECONDS = 120  # of wall time in one case, compilation included; a case takes milliseconds
ALL_PARTS = 4  # the number of times that `make test-all` has the cases of `make test`

DECLARED = {}
"""The number of cases of each test, in `make test-all`."""

_part = None


class Hang(BaseException):
    """Raised in a case that takes too long; no code under test catches it."""


def use(part):
    """Choose the cases of one part, or all of them if it is None; a module is imported afterwards."""
    global _part
    _part = part


def cases(number, /, *arguments, **strategies):
    """Return a decorator like hypothesis's `given`, for a test of `number` cases, of which `make test` runs a quarter.

    The commit chooses them, so that other commits run others.
    """

    def decorate(function):
        DECLARED[f"{function.__module__}.{function.__qualname__}"] = number

        @functools.wraps(function)
        def watched(*args, **kwargs):
            with watch():
                return function(*args, **kwargs)

        test = hypothesis.given(*arguments, **strategies)(watched)
        profile = hypothesis.settings(
            max_examples=number if _part is None else -(-number // ALL_PARTS),
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
            report_multiple_bugs=False,
            phases=[Phase.generate],  # shrinking a case that compiles takes minutes
        )
        return hypothesis.seed(ALL_PARTS if _part is None else _part)(profile(test))

    return decorate


@contextmanager
def watch(seconds=MAX_SECONDS):
    """Raise `Hang` if the block takes longer; only the main thread can be watched."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_hang(number, frame):
        raise Hang(f"the case takes more than {seconds} seconds")

    previous = signal.signal(signal.SIGALRM, raise_hang)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

"""A line that shows that a command is at work."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from funcenv.printable import printable

_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Print a text; in a terminal, count the seconds behind it, and remove the line in the end.

    >>> with waiting("compiling"):
    ...     pass
    compiling
    """
    if not sys.stdout.isatty():
        print(text, flush=True)
        yield
        return
    is_over, start = threading.Event(), time.monotonic()

    def count() -> None:
        while True:
            print(f"{_CLEAR_LINE}{text} ({time.monotonic() - start:.0f} s)", end="", flush=True)
            if is_over.wait(1.0):
                return

    counter = threading.Thread(target=count, daemon=True)
    counter.start()
    try:
        yield
    finally:
        is_over.set()
        counter.join()
        print(_CLEAR_LINE, end="", flush=True)


def show_progress(text: str) -> None:
    """Write a line over the one before on standard error, if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r{printable(text):<70}", end="\r", file=sys.stderr, flush=True)

"""The errors of the storage library, which its threads also print, and which do not say that a disk is full."""

from __future__ import annotations

import errno
import logging
import os
import pathlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ERRORS = {
    "RESOURCE_EXHAUSTED": errno.ENOSPC,
    **{os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)},
}
"""Numbers of the errors of a disk, by the words of the library for them."""


def disk_error(error: Exception, folder: pathlib.Path) -> OSError | None:
    """Return the error of the disk that an error of the library reports, or None if it reports another one.

    >>> disk_error(ValueError("OUT_OF_RANGE: Failed writing: File too large"), pathlib.Path("runs"))
    OSError(27, 'File too large')
    """
    number = next((number for words, number in _ERRORS.items() if words in str(error)), None)
    return None if number is None else OSError(number, os.strerror(number), str(folder))


@contextmanager
def quiet_library() -> Iterator[None]:
    """Keep the threads of the library from printing errors that it also raises.

    They go on for a while after an error, so they are kept quiet until something else is saved or read.
    """
    absl, loop = logging.getLogger("absl"), logging.getLogger("asyncio")
    hook = getattr(sys.unraisablehook, "usual", sys.unraisablehook)

    def report(unraisable: Any) -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            hook(unraisable)

    report.usual = hook  # type: ignore[attr-defined]  # the hook to return to
    sys.unraisablehook = report
    warnings.filterwarnings("ignore", "coroutine 'async_serialize.*' was never awaited", RuntimeWarning)
    absl.addFilter(_is_nothing)
    loop.addFilter(_is_news)
    yield
    sys.unraisablehook = hook
    absl.removeFilter(_is_nothing)
    loop.removeFilter(_is_news)


def _is_nothing(record: logging.LogRecord) -> bool:
    return False


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a record is not the repetition of an error of the disk, made when a future is collected."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, OSError) and "never retrieved" in record.getMessage())

"""The switches that turn fast paths off."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator

_is_plain = contextvars.ContextVar("_is_plain", default=False)


def is_enabled() -> bool:
    """Return whether fast paths are enabled: `FUNCENV_NO_FAST_PATH=1` in the environment turns all of them off."""
    return os.environ.get("FUNCENV_NO_FAST_PATH", "0") in ("", "0") and not is_plain()


def is_plain() -> bool:
    """Return whether the caller runs in a block of `plain_programs`."""
    return _is_plain.get()


@contextlib.contextmanager
def plain_programs() -> Iterator[None]:
    """Turn off all fast paths, whose results may differ by rounding from those of other numbers of devices."""
    token = _is_plain.set(True)
    try:
        yield
    finally:
        _is_plain.reset(token)

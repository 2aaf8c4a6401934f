"""Environments that close themselves: when they are collected as garbage, and when Python exits.

Python destroys objects at exit in no useful order, when modules may be gone already; so what is open then is closed
first, by `atexit`.
"""

from __future__ import annotations

import atexit
import contextlib
import weakref
from typing import Any

_open: dict[int, weakref.ref[Any]] = {}  # by id: an environment may define == and not be hashable


class ClosesAtExit:
    """Calls its own `close` once when it is collected or Python exits, after `close_by_itself`.

    >>> class Window(ClosesAtExit):
    ...     def close(self): print("closed")
    >>> window = Window()
    >>> window.close_by_itself()
    >>> del window
    closed
    """

    def close(self) -> None:
        """Give everything back; calling it again does nothing."""

    def close_by_itself(self) -> None:
        """From now on there is something to close."""
        _open[id(self)] = weakref.ref(self)

    def __del__(self, _open: dict[int, weakref.ref[Any]] = _open) -> None:  # bound: modules are emptied at exit
        if _open.pop(id(self), None) is not None:
            self.close()


@atexit.register
def close_all() -> None:
    """Close what is open, all of it even where some `close` raises."""
    still_open = [reference() for reference in _open.values()]
    _open.clear()
    with contextlib.ExitStack() as stack:
        for one in still_open:
            if one is not None:
                stack.callback(one.close)

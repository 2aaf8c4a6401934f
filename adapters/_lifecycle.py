"""Closing environments that nobody closed, and keeping a second thread out of one."""

from __future__ import annotations

import atexit
import contextlib
import threading
import weakref
from typing import Any

from funcenv.adapters.errors import ClosedEnvironment, ConcurrentUse

_open: dict[int, weakref.ref[Any]] = {}  # by id, because an environment that defines == may not be hashable


class ClosesAtExit:
    """An object that calls its own `close` once when it is collected as garbage, or when Python exits.

    At exit Python destroys objects in no useful order, when modules may be gone already. So `atexit` closes them first.

    >>> class Window(ClosesAtExit):
    ...     def close(self): print("closed")
    >>> window = Window()
    >>> window.close_by_itself()
    >>> del window
    closed
    """

    def close(self) -> None:
        """Release resources; calling it again does nothing."""

    def close_by_itself(self) -> None:
        """Note that from now on there is something to close."""
        _open[id(self)] = weakref.ref(self)

    def __del__(self, _open: dict[int, weakref.ref[Any]] = _open) -> None:  # bound, as modules are emptied at exit
        if _open.pop(id(self), None) is not None:
            self.close()


class OneThreadAtATime:
    """An environment that refuses calls from a second thread and calls after `close`.

    A method calls `_acquire`, and releases `_lock` in a `finally` clause. Both are plain calls, because a context
    manager takes a microsecond, as much as an eighth of a step.
    """

    closed: bool
    _lock: threading.Lock

    def _acquire(self) -> None:
        if self.closed:
            raise ClosedEnvironment("this environment was closed; make a new one")
        if not self._lock.acquire(blocking=False):
            raise ConcurrentUse("another thread is using this environment; give each thread one of its own")


@atexit.register
def close_all() -> None:
    """Close everything that is open, even if a `close` raises."""
    still_open = [reference() for reference in _open.values()]
    _open.clear()
    with contextlib.ExitStack() as stack:
        for one in still_open:
            if one is not None:
                stack.callback(one.close)

"""Closing environments that nobody closed, and keeping a second thread out of one."""

from __future__ import annotations

import atexit
import contextlib
import functools
import weakref
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from funcenv.adapters.error import ClosedEnvironment, ConcurrentUse
from funcenv.forking import require_threads

P = ParamSpec("P")
R = TypeVar("R")

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


@atexit.register
def close_all() -> None:
    """Close everything that is open, even if a `close` raises."""
    still_open = [reference() for reference in _open.values()]
    _open.clear()
    with contextlib.ExitStack() as stack:
        for one in still_open:
            if one is not None:
                stack.callback(one.close)


def acquire(env: Any) -> None:
    """Take the lock of an environment, its attribute `_lock`.

    Raises:
        ClosedEnvironment: its attribute `closed` is true and `reopens` is not.
        ConcurrentUse: another thread is inside a call.
        ForkedProcess: this process was forked after JAX had started.
    """
    require_threads()
    if env.closed:
        if not env.reopens:
            raise ClosedEnvironment("this environment was closed; make a new one")
        env.closed = False
    if not env._lock.acquire(False):
        raise ConcurrentUse("another thread is using this environment; give each thread one of its own")


def exclusive(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Decorate a method of an environment, so that it holds the lock while it runs."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        acquire(self)
        try:
            return method(self, *args, **kwargs)
        finally:
            self._lock.release()

    return call

"""A bound on the programs that one jitted function keeps, each of which takes megabytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable


class CompiledKinds:
    """The kinds of programs that a jitted function is compiled to, which are all forgotten when there are too many.

    Args:
        maximum: how many kinds are kept.
        forget: clears the caches of the function.

    >>> kinds = CompiledKinds(2, lambda: print("forgotten"))
    >>> for kind in "aababc": kinds.add(kind)
    forgotten
    >>> len(kinds)
    1
    """

    def __init__(self, maximum: int, forget: Callable[[], None]) -> None:
        self._maximum, self._forget, self._lock = maximum, forget, threading.Lock()
        self._kinds: set[Hashable] = set()

    def add(self, kind: Hashable) -> None:
        """Note that a program of this kind is about to run."""
        if kind in self._kinds:
            return
        with self._lock:
            if len(self._kinds) >= self._maximum:
                self._forget()
                self._kinds.clear()
            self._kinds.add(kind)

    def __len__(self) -> int:
        return len(self._kinds)

"""The pace of a game: when its next step is due, and when a frame is left out because the game is behind."""

from __future__ import annotations

import time
from collections.abc import Callable

_MAX_LATENESS = 0.25  # seconds that are made up for; a game that was held up for longer goes on from there


class Pace:
    """The clock of a game.

    Args:
        fps: Steps per second at speed 1.

    >>> pace = Pace(fps=0.1)
    >>> pace.wait(speed=2.0, sleep=lambda seconds: None)  # the next step is due in five seconds
    >>> pace.is_late
    False
    """

    def __init__(self, fps: float) -> None:
        self._fps, self._seconds, self._due = fps, 1 / fps, time.monotonic()

    @property
    def is_late(self) -> bool:
        """True if the present step is overdue by more than half its length."""
        return time.monotonic() - self._due > self._seconds / 2

    def wait(self, speed: float, sleep: Callable[[float], object] = time.sleep) -> None:
        """Wait until the next step is due."""
        self._seconds = 1 / (self._fps * speed)
        now = time.monotonic()
        self._due = max(self._due + self._seconds, now - _MAX_LATENESS)
        sleep(max(self._due - now, 0.0))

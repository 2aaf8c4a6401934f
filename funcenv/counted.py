"""Numbers of things, in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1.

    >>> counted(1, "episode"), counted(2000, "episode"), counted(0, "frame")
    ('1 episode', '2,000 episodes', '0 frames')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

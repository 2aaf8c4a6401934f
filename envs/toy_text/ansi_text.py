"""Coloured characters for environments that print their maps."""

from __future__ import annotations

_COLORS = ("gray", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def colorize(text: str, color: str, *, bold: bool = False, background: bool = False) -> str:
    r"""Return text in a colour, or on a background of that colour, for a terminal (ECMA-48, SGR).

    >>> colorize("S", "red", background=True)
    '\x1b[41mS\x1b[0m'
    """
    code = (40 if background else 30) + _COLORS.index(color)
    return f"\x1b[{code}{';1' if bold else ''}m{text}\x1b[0m"

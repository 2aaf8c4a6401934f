"""Coloured characters, for the maps that the environments print."""

from __future__ import annotations

_COLORS = ("gray", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def painted(text: str, color: str, *, bold: bool = False, behind: bool = False) -> str:
    r"""Text that a terminal shows in a colour, or before one (ECMA-48, "select graphic rendition").

    >>> painted("S", "red", behind=True)
    '\x1b[41mS\x1b[0m'
    """
    code = (40 if behind else 30) + _COLORS.index(color)
    return f"\x1b[{code}{';1' if bold else ''}m{text}\x1b[0m"

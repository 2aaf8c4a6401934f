"""The name `gymnasium.utils.colorize`: text in colour for a terminal."""

from __future__ import annotations

_CODES = {"gray": 30, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "white": 37}
_CODES["crimson"] = 38

__all__ = ["colorize"]


def colorize(string: str, color: str, bold: bool = False, highlight: bool = False) -> str:
    r"""Return a text with the codes that colour it in a terminal.

    Args:
        string: Text.
        color: "gray", "red", "green", "yellow", "blue", "magenta", "cyan", "white" or "crimson".
        bold: Whether the text is bold.
        highlight: Whether the background has the colour, instead of the text.

    Raises:
        ValueError: The colour is unknown.

    >>> colorize("step", "green", bold=True)
    '\x1b[32;1mstep\x1b[0m'
    """
    if color not in _CODES:
        raise ValueError(f"color must be one of {', '.join(_CODES)}, got {color!r}")
    codes = [str(_CODES[color] + 10 * highlight), *["1"] * bold]
    return f"\x1b[{';'.join(codes)}m{string}\x1b[0m"

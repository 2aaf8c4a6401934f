"""Messages with a level, under the names of `gymnasium.logger` and of old Gym's `gym.logger`.

They are Python warnings, as all warnings of this package are. `set_level` decides which messages of these functions are
shown; `warnings.filterwarnings` decides about all others.
"""

from __future__ import annotations

import warnings

from funcenv.adapters.utils.colorize import colorize

DEBUG, INFO, WARN, ERROR, DISABLED = 10, 20, 30, 40, 50
min_level = WARN

__all__ = ["DEBUG", "DISABLED", "ERROR", "INFO", "WARN", "debug", "deprecation", "error", "info", "set_level", "warn"]


def set_level(level: int) -> None:
    """Show messages of this level and of higher ones only.

    >>> set_level(ERROR)
    >>> warn("%d steps were dropped", 3)  # shows nothing
    >>> set_level(WARN)
    """
    global min_level
    min_level = level


def debug(msg: str, *args: object) -> None:
    """Show a message, formatted with `args`, if the level is `DEBUG`."""
    _show(DEBUG, "DEBUG", "gray", msg, args)


def info(msg: str, *args: object) -> None:
    """Show a message, formatted with `args`, if the level is `INFO` or lower."""
    _show(INFO, "INFO", "white", msg, args)


def warn(msg: str, *args: object, category: type[Warning] | None = None, stacklevel: int = 1) -> None:
    """Show a message, formatted with `args`, if the level is `WARN` or lower."""
    _show(WARN, "WARN", "yellow", msg, args, category, stacklevel)


def deprecation(msg: str, *args: object) -> None:
    """Show a `DeprecationWarning`, formatted with `args`, if the level is `WARN` or lower."""
    _show(WARN, "WARN", "yellow", msg, args, DeprecationWarning)


def error(msg: str, *args: object) -> None:
    """Show a message, formatted with `args`, if the level is `ERROR` or lower."""
    _show(ERROR, "ERROR", "red", msg, args)


def _show(
    level: int,
    name: str,
    color: str,
    msg: str,
    args: tuple[object, ...],
    category: type[Warning] | None = None,
    stacklevel: int = 1,
) -> None:
    if min_level <= level:
        warnings.warn(colorize(f"{name}: {msg % args}", color), category, stacklevel=stacklevel + 2)

"""The line of a user's code that an exception comes from."""

from __future__ import annotations

import functools
import pathlib
import sysconfig
import traceback


def describe_error(error: BaseException) -> str:
    """Return the kind and the text of an exception, with the user's line that it comes from.

    >>> describe_error(KeyError("gravity"))
    "KeyError: 'gravity'"
    """
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    place = user_line(error)
    return f"{type(error).__name__}: {text}" + (f" ({place})" if place else "")


def user_line(error: BaseException) -> str | None:
    """Return file, number and text of the innermost line outside of installed packages, or None if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return _format(error.filename, error.lineno, error.text)
    frames = [one for one in traceback.extract_tb(error.__traceback__) if is_users(one.filename)]
    return _format(frames[-1].filename, frames[-1].lineno, frames[-1].line) if frames else None


def _format(file: str, number: int | None, line: str | None) -> str:
    return f"{file}, line {number}" + (f": {line.strip()}" if line and line.strip() else "")


def is_users(file: str) -> bool:
    """Return whether a file belongs neither to Python nor to an installed package nor to this one."""
    if file.startswith("<"):
        return False
    path = pathlib.Path(file).resolve()
    return not any(path.is_relative_to(folder) for folder in _installed())


@functools.cache
def _installed() -> tuple[pathlib.Path, ...]:
    """Return the folders of Python, of installed packages and of this package."""
    own = pathlib.Path(__file__).parent
    places = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib", "scripts")]
    folders = [*map(pathlib.Path, places), own, own / "envs", own / "adapters"]
    return tuple(folder.resolve() for folder in folders)

"""Where a replay goes: known to be possible before anything is played, and written whole or not at all."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

FORMATS = {".html": (), ".gif": ("PIL",), ".webp": ("PIL",), ".mp4": ("imageio_ffmpeg",)}
"""The suffixes of files that a replay can be saved as, and the modules that write them."""

_PACKAGES = {"PIL": "pillow", "imageio_ffmpeg": "imageio-ffmpeg"}


def require_destination(path: str | os.PathLike[str]) -> pathlib.Path:
    """The path, if a replay can be saved there.

    Raises:
        ValueError: an unknown suffix.
        ImportError: the package that writes such files is missing.
        OSError: the folder does not exist or cannot be written to, or the path is a folder.

    >>> require_destination("episode.avi")
    Traceback (most recent call last):
        ...
    ValueError: a replay is saved as .html, .gif, .webp or .mp4, got 'episode.avi'; choose one of these suffixes
    """
    path = pathlib.Path(path)
    if path.suffix.lower() not in FORMATS:
        *most, last = FORMATS
        raise ValueError(
            f"a replay is saved as {', '.join(most)} or {last}, got {str(path)!r}; choose one of these suffixes"
        )
    for module in FORMATS[path.suffix.lower()]:
        if importlib.util.find_spec(module) is None:
            raise ImportError(
                f'{path.suffix} files are written by {_PACKAGES[module]}: pip install "funcenv[render]"', name=module
            )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first")
    with _beside(path):
        pass
    return path


@contextmanager
def replacing(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A temporary name in the same folder, which becomes `path` once the block has ended well."""
    with _beside(path) as temporary:
        yield temporary
        os.replace(temporary, path)


@contextmanager
def _beside(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """An empty file next to `path`, with the same suffix, removed in the end if it is still there."""
    try:
        handle, name = tempfile.mkstemp(path.suffix, f".{path.stem}-", path.parent)
    except PermissionError as error:
        raise PermissionError(f"{path.parent} cannot be written to; choose another folder for {path.name}") from error
    os.close(handle)
    temporary = pathlib.Path(name)
    try:
        temporary.chmod(0o666 & ~_umask())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The permissions that new files lack; there is no way to ask but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

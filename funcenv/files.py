"""Files that appear complete, or not at all.

A file is written under a temporary name in its own folder, forced to the disk, and renamed. A write that fails removes
the temporary file and leaves an earlier file as it was. A killed process can leave a temporary file, whose name begins
with a dot and contains `.partial`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import uuid
from collections.abc import Iterator

_STREAMS = ("/proc/", "/dev/fd/")  # names of what a process has open already


def as_file_name(text: str) -> str:
    """Return a text, such as an id, as the name of a file or folder.

    >>> as_file_name("module:MinAtar/Breakout-v1")
    'module-MinAtar-Breakout-v1'
    """
    return re.sub("[/:]", "-", text)


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """Yield the path to write to; the file there becomes `path` when the block ends without an error.

    A symbolic link stays, and the file it points to is replaced. A device or a pipe cannot be replaced, so the yielded
    path is then `path` itself.

    Args:
        path: File to write. Its suffix is also that of the yielded path.

    Raises:
        OSError: The file cannot be written. The error names `path`, and an earlier file is as it was.

    >>> import tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with replaced_file(folder / "scores.csv") as partial:
    ...     _ = partial.write_text("1,2")
    ...     print(partial.suffix, (folder / "scores.csv").exists())
    .csv False
    >>> (folder / "scores.csv").read_text(), len(list(folder.iterdir()))
    ('1,2', 1)
    """
    path = pathlib.Path(path)
    if _must_be_opened(path):
        with _named(path, path):
            yield path
        return
    target = pathlib.Path(os.path.realpath(path))
    partial = target.with_name(f".{target.stem[:100]}-{uuid.uuid4().hex[:12]}.partial{target.suffix}")
    try:
        with _named(path, partial):
            partial.touch(exist_ok=False)
            if target.exists():
                shutil.copymode(target, partial)
            yield partial
            _force_to_disk(partial)
            os.replace(partial, target)
    finally:
        with contextlib.suppress(OSError):  # an error of the write is the one to report
            partial.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8 that appears complete, or not at all.

    Raises:
        OSError: As `replaced_file`.

    >>> write_text("missing/report.json", "{}")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'missing/report.json'
    """
    with replaced_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a binary file that appears complete, or not at all.

    Raises:
        OSError: As `replaced_file`.
    """
    with replaced_file(path) as partial:
        partial.write_bytes(content)


def _must_be_opened(path: pathlib.Path) -> bool:
    """Return whether a path names a device, a pipe or an open file, such as `/dev/stdout`."""
    names = [str(path), os.readlink(path)] if path.is_symlink() else [str(path)]
    return any(name.startswith(_STREAMS) for name in names) or (path.exists() and not path.is_file())


def _force_to_disk(path: pathlib.Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def _named(path: pathlib.Path, written: pathlib.Path) -> Iterator[None]:
    """Let an operating system's error in a write name the file that was asked for."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(written), written):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 digest of a file in hexadecimal digits, "" for no path."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() if path else ""

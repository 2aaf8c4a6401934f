"""Signatures of what this user wrote on this machine, such as the configuration of a run.

A signature is the HMAC-SHA256 of the contents with a random key, which lies in the user's data folder and is readable
by the user alone. Without a key nothing is signed, and nothing counts as signed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import secrets
import stat
from collections.abc import Mapping
from typing import Any

FIELD = "signature"
KEY_BYTES = 32
SEAL_BYTES = hashlib.sha256().digest_size


def key_path() -> pathlib.Path:
    """Return the file of the key: `$XDG_DATA_HOME/funcenv/signing.key`, by default in `~/.local/share`."""
    data = os.environ.get("XDG_DATA_HOME", "")
    folder = pathlib.Path(data) if os.path.isabs(data) else pathlib.Path.home() / ".local" / "share"
    return folder / "funcenv" / "signing.key"


def sign(kind: str, contents: Mapping[str, Any]) -> dict[str, Any]:
    """Return contents for JSON with their signature, or without one if there can be no key.

    Args:
        kind: What is signed, such as `"run"`; it is part of what the signature covers.
        contents: Values that JSON can hold.
    """
    key, plain = _read_key() or _create_key(), {name: value for name, value in contents.items() if name != FIELD}
    return plain if key is None else {**plain, FIELD: _signature(key, kind, plain)}


def is_signed(kind: str, contents: Mapping[str, Any]) -> bool:
    """Return whether this user signed these contents on this machine, and nothing in them has changed since."""
    signature, key = contents.get(FIELD), _read_key()
    if key is None or not isinstance(signature, str) or not signature.isascii():
        return False
    plain = {name: value for name, value in contents.items() if name != FIELD}
    return hmac.compare_digest(signature, _signature(key, kind, plain))


def sealed(kind: str, contents: bytes) -> bytes | None:
    """Return bytes with a seal before them, by which `unsealed` knows that this user wrote them; None without a key.

    Args:
        kind: What the bytes are, such as `"program"`; it is part of what the seal covers.
        contents: Any bytes.
    """
    key = _read_key() or _create_key()
    return None if key is None else _digest(key, kind, contents) + contents


def unsealed(kind: str, file: bytes) -> bytes | None:
    """Return what `sealed` was given, or None if somebody else wrote it, or anything in it has changed since."""
    key, (seal, contents) = _read_key(), (file[:SEAL_BYTES], file[SEAL_BYTES:])
    if key is None or not hmac.compare_digest(seal, _digest(key, kind, contents)):
        return None
    return contents


def _digest(key: bytes, kind: str, contents: bytes) -> bytes:
    return hmac.new(key, kind.encode() + b"\0" + contents, hashlib.sha256).digest()


def _signature(key: bytes, kind: str, contents: Mapping[str, Any]) -> str:
    stored = json.loads(json.dumps(contents))  # as a file gives it back: tuples are lists, names are strings
    text = json.dumps([kind, stored], sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _read_key() -> bytes | None:
    """Return the key, or None unless it is a regular file that only this user can read and write."""
    try:
        descriptor = os.open(key_path(), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, RuntimeError):  # RuntimeError: no home folder is known
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        is_private = os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        if not stat.S_ISREG(status.st_mode) or not is_private:
            return None
        key = file.read(KEY_BYTES + 1)
    return key if len(key) == KEY_BYTES else None


def _create_key() -> bytes | None:
    """Create the key, which is complete or absent at any moment, and return it; None if the folder is not writable."""
    try:
        path = key_path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with contextlib.ExitStack() as stack:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            stack.callback(os.unlink, partial)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):  # another process was first, whose key is the one to use
                os.link(partial, path)
    except (OSError, RuntimeError):
        return None
    return _read_key()

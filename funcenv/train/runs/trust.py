"""Which runs may name code: those that this user made on this machine, and those that the user trusts.

`config.json` carries a signature, the HMAC of its contents with a key in the user's data folder. A run that was signed
here goes on without a question. Any other run is data: it may name environments of the registry, algorithms that
installed packages offer, and the networks of these algorithms, and nothing else.
"""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
import hmac
import json
import os
import pathlib
import secrets
from collections.abc import Iterator
from typing import Any

from funcenv.names import is_printable, require_trusted
from funcenv.train.algorithm import algorithm_names, find_algorithm

SIGNATURE = "signature"
KEY_BYTES = 32

_trusts = contextvars.ContextVar("_trusts", default=False)


@contextlib.contextmanager
def trusting_code(trust_code: bool = True) -> Iterator[None]:
    """Let the files that are read in this block name any code, if `trust_code` is true."""
    token = _trusts.set(trust_code or _trusts.get())
    try:
        yield
    finally:
        _trusts.reset(token)


def trust_all_code() -> None:
    """Let all files name any code from now on, as `--trust-code` says."""
    _trusts.set(True)


def signed(description: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of `config.json` with a signature; without one if the user's key cannot be read or made."""
    contents = {name: value for name, value in description.items() if name != SIGNATURE}
    key = _key()
    return contents if key is None else {**contents, SIGNATURE: _digest(key, contents)}


def is_own(description: dict[str, Any]) -> bool:
    """Return whether this user signed these contents of `config.json` on this machine."""
    contents = {name: value for name, value in description.items() if name != SIGNATURE}
    found, key = description.get(SIGNATURE), _key(make=False)
    return isinstance(found, str) and key is not None and hmac.compare_digest(found, _digest(key, contents))


def require_trusted_settings(source: str, algorithm: Any, settings: Any, is_own: bool = False) -> None:
    """Refuse the settings of a run that name code, unless the user wrote or trusts them; nothing is imported before.

    Args:
        source: The file that holds them.
        algorithm: The name of the algorithm.
        settings: The settings, as JSON values.
        is_own: Whether this user wrote the file on this machine.

    Raises:
        funcenv.names.UntrustedCodeError: The settings name code.
        ValueError: They have another form, or hold control characters.
    """
    if not isinstance(algorithm, str) or not isinstance(settings, dict) or not isinstance(settings.get("env_id"), str):
        raise ValueError(f"algorithm and env_id must be names and config an object, got {algorithm!r} and {settings!r}")
    if not is_printable([algorithm, settings]):
        raise ValueError(f"names must hold no control characters, got {[algorithm, settings]!r}")
    params = settings.get("env_params", {})
    if not isinstance(params, dict) or not all(isinstance(value, (bool, int, float, str)) for value in params.values()):
        raise ValueError(f"env_params must be numbers, flags and texts by name, got {params!r}")
    if not is_own:
        require_trusted(source, _names_of_code(algorithm, settings), _trusts.get())


def _names_of_code(algorithm: str, settings: dict[str, Any]) -> dict[str, str]:
    """Return the names in settings that are imported, other than those that are registered."""
    names = {} if algorithm in algorithm_names() else {"algorithm": algorithm}
    known = set() if names else _default_texts(find_algorithm(algorithm).Config)
    for field, value in settings.items():
        if isinstance(value, str) and ":" in value and value not in known:
            names[field] = value
    params = settings.get("env_params", {})
    return names | {
        f"env_params.{name}": text for name, text in params.items() if isinstance(text, str) and ":" in text
    }


def _default_texts(config_class: Any) -> set[str]:
    """Return the texts that are defaults of a configuration, such as the names of its networks."""
    return {value for value in vars(config_class()).values() if isinstance(value, str)}


def _digest(key: bytes, contents: dict[str, Any]) -> str:
    return hmac.new(key, json.dumps(contents, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def key_file() -> pathlib.Path:
    """Return the file of the user's key, which nobody else may read."""
    base = os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA")
    return (pathlib.Path(base) if base else pathlib.Path.home() / ".local" / "share") / "funcenv" / "signing.key"


def _key(make: bool = True) -> bytes | None:
    """Return the user's key, which the first run makes; None if there is none, or its folder cannot be written."""
    path = key_file()
    try:
        if make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
            with contextlib.suppress(FileExistsError):  # another process was first
                os.link(partial, path)
            partial.unlink()
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == KEY_BYTES else None

"""Outcomes of `funcenv verify` on this machine, which runs write into their `config.json`."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import pathlib
from typing import Any

from funcenv._compile.cache_folder import cache_folder
from funcenv.files import write_text
from funcenv.registry import spec
from funcenv.verify.outcome import Outcome, Result
from funcenv.verify.record import load_record
from funcenv.verify.run import surroundings

_SIMULATORS = {"atari": "ale-py", "dm_control": "mujoco", "mujoco": "mujoco", "robotics": "mujoco"}


def remember(result: Result) -> Result:
    """Keep a result for `known_outcome`, and return it. Where nothing can be written, nothing is kept."""
    if result.outcome in (Outcome.UNRECORDED, Outcome.MISSING):
        return result
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({**_read(path), _name(result.id): result.outcome.value}, indent=1) + "\n")
    except OSError:  # a read-only container
        return result
    return result


def known_outcome(id: str) -> str:
    """Return the outcome of the last verification of an id with these versions and flags, or "not verified".

    >>> known_outcome("somebody/Elses-v0")
    'not verified'
    """
    return str(_read(_path()).get(_name(id), "not verified"))


def describe_environment(id: str) -> dict[str, Any]:
    """Return what a run writes about its environment: its record, the outcome on this machine, and the simulator.

    >>> describe_environment("CartPole-v1")["record"] == load_record("CartPole-v1").fingerprint
    True
    """
    record = load_record(id)
    return {
        "record": None if record is None else record.fingerprint,
        "verified": known_outcome(id),
        "simulator": None if (package := simulator(id)) is None else f"{package} {importlib.metadata.version(package)}",
    }


def simulator(id: str) -> str | None:
    """Return the package that simulates the environments of an id; None for none.

    >>> simulator("Ant-v5"), simulator("CartPole-v1")
    ('mujoco', None)
    """
    package, _, rest = str(spec(id).entry_point).removeprefix("funcenv.envs.").partition(".")
    return _SIMULATORS.get(package) if rest else None


def _path() -> pathlib.Path:
    return cache_folder() / "verified.json"


def _name(id: str) -> str:
    """Return the key of an id, the fingerprint of its record, and everything on which its results may depend."""
    record = load_record(id)
    parts = json.dumps([surroundings(), None if record is None else record.fingerprint], sort_keys=True)
    return f"{id} {hashlib.sha256(parts.encode()).hexdigest()[:12]}"


def _read(path: pathlib.Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

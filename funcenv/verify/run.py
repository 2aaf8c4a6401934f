"""`verify`: step an environment as its record says, and compare."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from typing import Any

import jax

from funcenv.registry import registry
from funcenv.vector import AutoresetMode
from funcenv.verify.digest import Trace
from funcenv.verify.outcome import Outcome, Result, differences, judge
from funcenv.verify.play import make_env, num_steps, trace_of
from funcenv.verify.record import EXACT_FLAGS, declaration, load_record, recorded_ids

PACKAGES = ("funcenv", "jax", "jaxlib", "numpy", "flax", "mujoco", "ale-py", "gymnasium")
"""The packages whose versions a verification names, where they are installed."""


def verify(id: str) -> Result:
    """Compare what an environment does on this machine with its record.

    The digests of exact mode are compared if XLA runs with `EXACT_FLAGS`, and otherwise those without.

    Args:
        id: A registered id, with its version.

    Returns:
        The outcome. It is `UNRECORDED` for an id without a record, and `MISSING` where a package is not installed.

    >>> verify("CliffWalking-v1").outcome in (Outcome.EXACT, Outcome.ROUNDING)
    True
    """
    record = load_record(id)
    if record is None:
        return Result(id, Outcome.UNRECORDED, reason="only ids of this package have one")
    try:
        env = make_env(id)
        changed = changed_declarations(record.declared, declaration(id, env))
    except ImportError as error:
        return Result(id, Outcome.MISSING, reason=str(error))
    if changed:
        return Result(id, Outcome.DIFFERENT, reason=changed)
    seen = traces(id, tuple(record.traces))
    if any(len(one.bits) != len(record.traces[mode].bits) for mode, one in seen.items()):
        return Result(id, Outcome.DIFFERENT, reason="the record has another number of steps")
    bits = record.exact_bits if is_exact() else {mode: one.bits for mode, one in record.traces.items()}
    return judge(id, [differences(record.traces[mode], one, bits[mode]) for mode, one in seen.items()])


def traces(id: str, modes: tuple[str, ...]) -> dict[str, Trace]:
    """Return the trace of an environment in each of some modes, which are named by their values."""
    found = {}
    for mode in map(AutoresetMode, modes):
        length = num_steps(mode, is_family_member(id))
        found[mode.value] = trace_of(make_env(id, length), mode, length)
    return found


def changed_declarations(theirs: Any, ours: Any) -> str:
    """Return which of the declared values of an id changed, as text.

    >>> changed_declarations({"reward_threshold": 475.0}, {"reward_threshold": 195.0})
    'reward_threshold was 475.0 and is 195.0'
    """
    changes = [f"{name} was {theirs.get(name)} and is {ours[name]}" for name in ours if theirs.get(name) != ours[name]]
    return "; ".join(changes)


def is_exact() -> bool:
    """Return whether XLA runs with the flags of exact mode."""
    return set(EXACT_FLAGS.split()) <= set(os.environ.get("XLA_FLAGS", "").split())


def is_family_member(id: str) -> bool:
    """Return whether an id is one of a family, such as the games of Atari, and has a shorter record."""
    return id not in registry


def surroundings() -> dict[str, str]:
    """Return versions, flags and device, which belong to every verification.

    >>> {"device", "flags", "jax", "machine", "python"} <= surroundings().keys()
    True
    """
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    device = jax.devices()[0]
    return {
        "python": platform.python_version(),
        **versions,
        "flags": os.environ.get("XLA_FLAGS", ""),
        "x64": str(jax.numpy.zeros(()).dtype == "float64"),
        "device": f"{device.platform}, {device.device_kind}",
        "machine": platform.machine(),
    }


def ids_by_default(every_game: bool = False, day: int | None = None) -> list[str]:
    """Return the ids that are verified if none is named: all with a record, but of the family of Atari one a day.

    >>> "CartPole-v1" in ids_by_default()
    True
    """
    single = [id for id in recorded_ids() if not is_family_member(id)]
    games = [id for id in recorded_ids() if is_family_member(id)]
    if every_game or not games:
        return single + games
    today = datetime.date.today().toordinal() if day is None else day
    return [*single, games[today % len(games)]]

"""Write the records: `python -m funcenv.verify.write [ID ...]`, by default those of all ids that have none.

The dynamics of an id never change. A record that would become another one is therefore left as it is, and the command
fails: register a new version of the id. `--replace` overwrites it all the same, for ids that were never released.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from funcenv.files import write_text
from funcenv.registry import registry
from funcenv.vector import AutoresetMode
from funcenv.verify.digest import Trace
from funcenv.verify.outcomes import simulator
from funcenv.verify.play import make_env, modes_of
from funcenv.verify.record import EXACT_FLAGS, Record, declaration, file_name, load_record, recorded_ids
from funcenv.verify.run import is_family_member, surroundings, traces

GAMES = (
    *("Asteroids", "BeamRider", "Breakout", "Enduro", "Freeway", "MontezumaRevenge", "MsPacman", "Qbert", "Seaquest"),
    "SpaceInvaders",
)
"""The games of Atari, besides Pong, that are recorded: all games run in the same emulator."""
QUICK_FLAG = "--xla_backend_optimization_level=0"
"""The flag with which a program compiles in a third of the time; it changes no bit in exact mode."""
FOLDER = pathlib.Path(__file__).resolve().parent / "records"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write records, and return 1 if one would change that may not."""
    parser = argparse.ArgumentParser(prog="python -m funcenv.verify.write", description=__doc__)
    parser.add_argument("ids", nargs="*", help="ids to record; by default all that have no record")
    parser.add_argument("--replace", action="store_true", help="overwrite records that differ")
    parser.add_argument("--dump", help=argparse.SUPPRESS)  # the part that runs under the flags of a mode
    options = parser.parse_args(arguments)
    ids = options.ids or [id for id in ids_to_record() if id not in recorded_ids()]
    if options.dump is not None:
        pathlib.Path(options.dump).write_text(json.dumps({id: _seen(id) for id in ids}))
        return 0
    once = [id for id in ids if is_family_member(id) or len(modes_of(make_env(id))) == 1]
    both = [id for id in ids if id not in once]
    # Emulators compute with integers, in either mode. Rigid bodies take minutes to compile, so they are recorded
    # in exact mode alone; without it they are equal to rounding at best.
    exact = _dumped(both, EXACT_FLAGS) | _dumped(once, f"{EXACT_FLAGS} {QUICK_FLAG}")
    plain = _dumped(both, "") | {id: exact[id] for id in once}
    return max([_write(_record(id, plain[id], exact[id]), options.replace) for id in ids], default=0)


def ids_to_record() -> list[str]:
    """Return the ids that have a record: all that this package registers one by one, and some games of Atari."""
    own = [id for id, known in registry.items() if str(known.entry_point).startswith("funcenv.envs.")]
    return own + [f"ALE/{name}-v5" for name in GAMES]


def _seen(id: str) -> dict[str, Any]:
    print(id, flush=True)
    modes = (AutoresetMode.SAME_STEP,) if is_family_member(id) else modes_of(make_env(id))
    found = traces(id, tuple(mode.value for mode in modes))
    return {mode: [one.bits, one.integers, one.sketches] for mode, one in found.items()}


def _dumped(ids: Sequence[str], flags: str) -> dict[str, Any]:
    """Return what a process with these flags has seen."""
    if not ids:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "seen.json"
        command = [sys.executable, "-m", "funcenv.verify.write", "--dump", str(file), *ids]
        subprocess.run(command, check=True, env={**os.environ, "XLA_FLAGS": flags})
        seen: dict[str, Any] = json.loads(file.read_text())
        return seen


def _record(id: str, plain: dict[str, Any], exact: dict[str, Any]) -> Record:
    kept = {
        mode: Trace(tuple(bits), tuple(integers), tuple(map(tuple, sketches)))
        for mode, (bits, integers, sketches) in plain.items()
    }
    here = surroundings()
    packages = ["funcenv", "jax", "jaxlib", "numpy", "machine", simulator(id)]
    made_with = {name: here[name] for name in packages if name in here}
    exact_bits = {mode: tuple(bits) for mode, (bits, _, _) in exact.items()}
    return Record(id, declaration(id, make_env(id)), kept, exact_bits, made_with)


def _write(record: Record, replace: bool) -> int:
    before = load_record(record.id)
    is_same = before is not None and (before.exact_bits, before.declared) == (record.exact_bits, record.declared)
    if before is not None and not is_same and not replace:
        print(
            f"{record.id} does other things than its record says; the dynamics of an id never change, so register a "
            "new version of it",
            file=sys.stderr,
        )
        return 1
    if not is_same or replace:
        write_text(FOLDER / file_name(record.id), record.to_json())
    return 0


if __name__ == "__main__":
    sys.exit(main())

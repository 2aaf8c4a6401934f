"""Every environment does what its record says, and an id whose record would change must become another id.

Bits are compared in processes with the flags of exact mode: without them, even programs that are not optimized may
contract a multiplication and an addition. Resets go the way that users have them, by the mark `fast_path`: computed for
all rows and selected, a reset may round otherwise.
"""

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import funcenv
from funcenv.registry import registry
from funcenv.vector import AutoresetMode
from funcenv.verify import load_record, recorded_ids
from funcenv.verify.play import NUM_SHORT_STEPS, NUM_STEPS, make_env, trace_of
from funcenv.verify.record import EXACT_FLAGS, Record, declaration, file_name
from funcenv.verify.write import FOLDER, QUICK_FLAG, ids_to_record, main
from funcenv.wrappers import TimeLimit
from tests.support import environments

pytestmark = pytest.mark.fast_path
MAX_RECORD_BYTES, MAX_ALL_BYTES = 7_000, 600_000
SINGLE = [id for id in recorded_ids() if id in environments.ids()]


@pytest.mark.parametrize("id", environments.rotating(SINGLE, environments.samples()))
def test_an_environment_does_what_its_record_says(id):
    """Where this fails, the dynamics have changed: register a new version of the id."""
    environment = {**os.environ, "XLA_FLAGS": f"{EXACT_FLAGS} {QUICK_FLAG}"}
    command = [sys.executable, "-m", "funcenv", "verify", id, "--json", "-"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    (result,) = json.loads(done.stdout)["results"]
    assert result["outcome"] == "equal bit for bit", result


def test_every_id_of_the_package_has_a_record():
    assert set(ids_to_record()) == set(recorded_ids())


@pytest.mark.parametrize("id", SINGLE)
def test_an_id_declares_what_its_record_says(id):
    assert json.loads(json.dumps(declaration(id, funcenv.make(id)))) == load_record(id).declared


def test_records_are_small_and_restored_from_their_text():
    sizes = {path.name: path.stat().st_size for path in FOLDER.glob("*.json")}
    assert max(sizes.values()) < MAX_RECORD_BYTES and sum(sizes.values()) < MAX_ALL_BYTES
    record = load_record("CartPole-v1")
    assert Record.from_json(record.to_json()) == record
    with pytest.raises(ValueError, match="format 1, got 99"):
        Record.from_json(json.dumps({**json.loads(record.to_json()), "format": 99}))


@pytest.mark.parametrize(("id", "name", "value"), [("Pendulum-v1", "g", 10.0), ("CartPole-v1", "force_mag", 10.0)])
def test_a_change_of_one_unit_in_the_last_place_is_found(id, name, value):
    """The physics differ as little as float32 allows, and the digests differ in the first steps."""
    env = make_env(id, NUM_SHORT_STEPS)
    assert getattr(env.unwrapped, name) == value
    changed = env.replace(env=env.env.replace(**{name: np.nextafter(np.float32(value), np.float32(99))}))
    before, after = (trace_of(one, AutoresetMode.NEXT_STEP, NUM_SHORT_STEPS).bits for one in (env, changed))
    assert before[0] == after[0]  # the reset
    assert before[1:] != after[1:] and before[-1] != after[-1]


def test_records_hold_ends_and_resets_in_every_mode():
    env = make_env("CartPole-v1", NUM_STEPS)
    assert isinstance(env, TimeLimit) and env.max_episode_steps < NUM_STEPS
    assert set(load_record("CartPole-v1").traces) == {mode.value for mode in AutoresetMode}
    for id in recorded_ids():
        assert "SameStep" in load_record(id).traces


def test_a_record_is_not_overwritten_by_another_one(monkeypatch, capsys):
    """The command refuses to change what an id does."""
    before = (FOLDER / file_name("CliffWalking-v1")).read_text()
    record = load_record("CliffWalking-v1")
    shown = {mode: [[*one.bits[:-1], "0" * 8], one.integers, one.sketches] for mode, one in record.traces.items()}
    monkeypatch.setattr("funcenv.verify.write._dumped", lambda ids, flags: dict.fromkeys(ids, shown))
    assert main(["CliffWalking-v1"]) == 1
    assert "register a new version" in capsys.readouterr().err
    assert (FOLDER / file_name("CliffWalking-v1")).read_text() == before


def test_ids_with_records_are_registered():
    assert jax.tree.all([id in registry or id.startswith("ALE/") for id in recorded_ids()])

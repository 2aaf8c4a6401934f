"""Files that are damaged: refused with their name, or read as what they still say."""

import json

import jax
import numpy as np
import pytest
from hypothesis import strategies as st
from rich.console import Console

import funcenv
from funcenv.cli import main
from funcenv.registry import EnvSpec
from funcenv.train import reinforce, run
from funcenv.train.runs.exported import named_leaves
from funcenv.train.runs.folder import read_config
from funcenv.train.runs.metrics import read_metrics
from tests.fuzz.cases import cases
from tests.fuzz.oracle import REFUSED, Ledger

LEDGER = Ledger("files")

CONFIG = reinforce.Config(num_envs=2, num_steps=8, total_timesteps=64, hidden_sizes=(4,))
FILES = {}
"""The contents of the files of a run by name, and the policy that they hold."""


@pytest.fixture(scope="module", autouse=True)
def trained(tmp_path_factory):
    """Train and export an agent, and put each file where the tests may damage it."""
    folder = tmp_path_factory.mktemp("runs")
    result = run.start(CONFIG, folder / "run", replay_episodes=0, console=Console(quiet=True)).folder
    assert main(["export", str(result), str(folder / "policy.safetensors")]) == 0
    (folder / "spec.json").write_text(funcenv.spec("FrozenLake-v1").to_json())
    for path in (result / "config.json", result / "metrics.csv", folder / "policy.safetensors", folder / "spec.json"):
        FILES[path.name] = path, path.read_bytes()
    FILES["policy"] = named_leaves(funcenv.load_policy(folder / "policy.safetensors"))


@st.composite
def damages(draw):
    """Draw a function that damages bytes: cuts, flips, repeats or replaces some of them."""
    kind = draw(st.sampled_from(["cut", "flip", "flip", "repeat", "insert", "replace"]))
    place, length = draw(st.floats(0, 1)), draw(st.integers(1, 40))
    text = draw(st.sampled_from([b"\x00", b"\xff\xfe", b'"', b"{", b"}", b"[]", b",", b"null", b"1e999", b"-1", b"x"]))
    bit = draw(st.integers(0, 7))

    def damage(content):
        at = int(place * (len(content) - 1))
        before, after = content[:at], content[at:]
        return {
            "cut": before,
            "flip": before + bytes([after[0] ^ 1 << bit]) + after[1:],
            "repeat": before + after[:length] + after,
            "insert": before + text + after,
            "replace": before + text + after[length:],
        }[kind]

    return damage


def damaged(name, damage):
    """Write a damaged file, and return its path and whether it differs."""
    path, content = FILES[name]
    path.write_bytes(damage(content))
    return path, damage(content) != content


@cases(400, damages())
def test_a_damaged_configuration_is_refused_by_name_or_a_configuration(damage):
    path, _ = damaged("config.json", damage)
    found = LEDGER.attempt(read_config, folder=path.parent)
    if found is not REFUSED:
        _, config, _ = found
        assert type(config).from_json(json.loads(json.dumps(config.to_json()))) == config


@cases(400, damages())
def test_damaged_metrics_are_refused_by_name_or_rows_in_order(damage):
    path, _ = damaged("metrics.csv", damage)
    rows = LEDGER.attempt(read_metrics, path=path)
    if rows is not REFUSED:
        places = [(int(row["update"]), int(row["seed"])) for row in rows]
        assert places == sorted(set(places))


@cases(160, damages())
def test_a_damaged_policy_is_refused_or_the_same(damage):
    path, _ = damaged("policy.safetensors", damage)
    policy = LEDGER.attempt(funcenv.load_policy, run=path)
    if policy is not REFUSED:
        jax.tree.map(np.testing.assert_array_equal, named_leaves(policy), FILES["policy"])


@cases(600, damages())
def test_a_damaged_specification_is_refused_or_one_of_a_registered_environment(damage):
    path, _ = damaged("spec.json", damage)
    text = path.read_text(errors="replace")
    spec = LEDGER.attempt(EnvSpec.from_json, text=text)
    if spec is not REFUSED:
        assert (
            EnvSpec.from_json(spec.to_json()) == spec and spec.entry_point == funcenv.spec("FrozenLake-v1").entry_point
        )

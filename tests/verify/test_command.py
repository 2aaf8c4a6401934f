"""`funcenv verify`, and what runs keep of it."""

import json
import os

import pytest

from funcenv.cli import main
from funcenv.verify import Outcome, Result, outcomes, verify, verify_streams
from funcenv.verify.outcomes import describe_environment, known_outcome, remember
from funcenv.verify.run import changed_declarations, ids_by_default, is_family_member
from funcenv.verify.streams import recorded_streams

pytestmark = pytest.mark.fast_path


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_the_command_prints_a_line_for_each_id_and_writes_json(tmp_path, capsys):
    file = tmp_path / "results.json"
    assert main(["verify", "CliffWalking-v1", "FrozenLake-v1", "--json", str(file)]) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert "jax " in first and "device cpu" in first
    assert [line.partition(":")[0] for line in lines] == ["CliffWalking-v1", "FrozenLake-v1"]
    assert last.startswith("2 equal bit for bit; ")
    written = json.loads(file.read_text())
    assert {"jax", "numpy", "flags", "device"} <= written["surroundings"].keys()
    assert [one["outcome"] for one in written["results"]] == ["equal bit for bit"] * 2


def test_a_difference_is_the_exit_status(monkeypatch, capsys):
    monkeypatch.setattr("funcenv.verify.run.verify", lambda id: Result(id, Outcome.DIFFERENT, 0.5, 1, 1))
    assert main(["verify", "CartPole-v1", "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["results"][0]["largest_difference"] == 0.5


def test_a_quiet_comparison_names_what_is_different(monkeypatch, capsys):
    outcomes = {"CartPole-v1": Outcome.EXACT, "Acrobot-v1": Outcome.DIFFERENT}
    monkeypatch.setattr("funcenv.verify.run.verify", lambda id: Result(id, outcomes[id], 0.5, 1, 1))
    assert main(["verify", *outcomes, "--quiet"]) == 1
    line, last = capsys.readouterr().out.splitlines()
    assert line.startswith("Acrobot-v1: ") and "1 different" in last


def test_an_unknown_id_is_refused_before_anything_runs(capsys):
    assert main(["verify", "CliffWalking-v1", "CartPoel-v1", "--exact"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "did you mean CartPole-v1?" in err
    assert "max_isa" not in os.environ["XLA_FLAGS"]


def test_an_id_of_somebody_else_has_no_record():
    assert verify("gymnax/CartPole-v1").outcome is Outcome.UNRECORDED


def test_changed_limits_spaces_and_thresholds_are_differences():
    theirs = {"max_episode_steps": 500, "action_space": "Discrete(2)"}
    assert changed_declarations(theirs, theirs) == ""
    assert changed_declarations(theirs, {**theirs, "action_space": "Discrete(3)"}) == (
        "action_space was Discrete(2) and is Discrete(3)"
    )


def test_the_random_streams_are_pinned():
    """A change of any of these numbers is a new major version (docs/stability.md)."""
    assert verify_streams() == Result("random streams", Outcome.EXACT)


def test_a_change_of_a_stream_is_named(monkeypatch):
    name = "threefry, seed 7: permutation"
    changed = {**recorded_streams(), name: [0]}
    monkeypatch.setattr("funcenv.verify.streams.recorded_streams", lambda: changed)
    assert verify_streams() == Result("random streams", Outcome.DIFFERENT, reason=name)


def test_each_day_verifies_another_game_of_a_family():
    games = [id for id in ids_by_default(every_game=True) if is_family_member(id)]
    assert len(games) == 10
    chosen = [[id for id in ids_by_default(day=day) if is_family_member(id)] for day in range(len(games))]
    assert sorted(game for (game,) in chosen) == sorted(games)


def test_an_outcome_is_remembered_for_the_versions_and_flags_that_it_belongs_to(monkeypatch):
    assert known_outcome("CartPole-v1") == "not verified"
    remember(Result("CartPole-v1", Outcome.ROUNDING, 1e-7, 2))
    assert describe_environment("CartPole-v1")["verified"] == "equal to rounding"
    assert known_outcome("Pendulum-v1") == "not verified"
    monkeypatch.setattr(outcomes, "surroundings", lambda: {"jax": "99"})
    assert known_outcome("CartPole-v1") == "not verified"


def test_nothing_is_remembered_where_nothing_can_be_written(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/none")
    result = Result("CartPole-v1", Outcome.EXACT)
    assert remember(result) is result and known_outcome("CartPole-v1") == "not verified"

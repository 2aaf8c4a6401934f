"""The command `funcenv bench`."""

import json

import pytest

from funcenv.bench import PARTS
from funcenv.cli import main


@pytest.mark.dear
def test_the_work_is_found_in_its_part_and_all_results_are_written(walk, tmp_path, capsys):
    out = tmp_path / "results.json"
    arguments = ["--num-envs", "64", "--json", str(out), "--seconds", "0.01", "--rounds", "3"]
    assert main(["bench", "measured_walk:arduous", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "compile" in printed and all(part in printed for part in PARTS)
    results = json.loads(out.read_text())
    (row,), parts = results["measurements"], results["breakdown"]["nanoseconds"]
    low, high = row["steps_per_second_range"]
    assert row["num_envs"] == 64 and low <= row["steps_per_second"] <= high
    assert row["episodes"] > 100 and 20 < row["mean_length"] < 40
    assert sorted(parts) == sorted(PARTS) and max(parts, key=parts.get) == "physics"
    assert row["engine"]["generator"] == "threefry"


def test_another_generator_is_measured(capsys):
    brief = ["--num-envs", "8", "--seconds", "0.001", "--rounds", "1", "--no-breakdown"]
    assert main(["bench", "FrozenLake-v1", *brief, "--impl", "philox4x32"]) == 0
    assert "generator: philox4x32" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["CartPoel-v1"], "did you mean CartPole-v1"),
        (["no_such_module:Env"], "no_such_module"),
        (["CartPole-v1", "--impl", "dice"], "dice"),
        (["CartPole-v1", "--json", "/no/such/folder/x.json"], "there is no folder /no/such/folder"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(arguments, message, capsys):
    assert main(["bench", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["CartPole-v1", "--num-envs", "0"], ["CartPole-v1", "--rounds", "x"]])
def test_impossible_flags_are_refused(arguments, capsys):
    with pytest.raises(SystemExit):
        main(["bench", *arguments])
    assert "funcenv bench: error:" in capsys.readouterr().err

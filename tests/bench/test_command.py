"""The command `funcenv bench`."""

import json

import pytest

from funcenv.bench import PARTS
from funcenv.cli import main

OFF = "switched off by FUNCENV_NO_FAST_PATH"


@pytest.mark.dear
def test_all_results_are_printed_and_written(walk, tmp_path, capsys):
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
    assert sorted(parts) == sorted(PARTS)
    assert row["engine"]["generator"] == "threefry"
    assert results["programs"][0] == {"entry": "rollout", "num_envs": 64, "refusal": OFF} and OFF in printed


@pytest.mark.dear
def test_another_generator_is_measured(capsys):
    brief = ["--num-envs", "8", "--seconds", "0.001", "--rounds", "1", "--no-breakdown", "--no-programs"]
    assert main(["bench", "FrozenLake-v1", *brief, "--impl", "philox4x32"]) == 0
    assert "generator: philox4x32" in capsys.readouterr().out
    assert main(["bench", "FrozenLake-v1", *brief, "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["env"] == "FrozenLake-v1" and err.startswith("measuring FrozenLake-v1 at 1 batch size\n")


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "bench needs ENV"),
        (["CartPole-v1", "--num-envs", "0"], "num_envs must be at least 1"),
        (["CartPole-v1", "--rounds", "x"], "'x' is not a whole number"),
    ],
)
def test_impossible_flags_are_refused(arguments, message, capsys):
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err

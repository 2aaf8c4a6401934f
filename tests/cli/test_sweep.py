"""The command `funcenv sweep`."""

import json

import pytest

from funcenv.cli import main

TINY = [
    "--num-envs",
    "2",
    "--num-steps",
    "8",
    "--total-timesteps",
    "64",
    "--hidden-sizes",
    "8",
    "--num-minibatches",
    "1",
]


@pytest.mark.dear
def test_all_combinations_are_trained_and_written(tmp_path, capsys):
    files = ["--json", str(tmp_path / "table.json"), "--marl-eval", str(tmp_path / "curves.json")]
    vary = ["--vary", "learning-rate=1e-3,1e-2", "gamma=0.9,0.99"]
    assert main(["sweep", "CartPole-v1", *TINY, *vary, "--num-seeds", "2", *files]) == 0
    out = capsys.readouterr().out
    assert (
        "learning_rate" in out
        and "train the best again, with other seeds: funcenv train CartPole-v1 --num-envs 2" in out
    )
    written = json.loads((tmp_path / "table.json").read_text())
    values = {(row["learning_rate"], row["gamma"]) for row in written["samples"]}
    assert values == {(1e-3, 0.9), (1e-3, 0.99), (1e-2, 0.9), (1e-2, 0.99)}
    assert written["algorithm"] == "ppo" and written["config"]["num_seeds"] == 2
    curves = json.loads((tmp_path / "curves.json").read_text())["funcenv"]["CartPole-v1"]
    assert all(name.startswith("ppo, learning_rate") for name in curves)
    assert main(["sweep", "CartPole-v1", *TINY, *vary, "--num-seeds", "2", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["config"] == written["config"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "sweep needs values: --vary learning-rate=1e-4,1e-3; these may vary: learning_rate, "),
        (["--vary", "gamma"], 2, "--vary takes NAME=VALUE,VALUE, got 'gamma'"),
        (["--vary", "num-envs=2,4"], 1, "'num_envs' is no hyper-parameter that can vary"),
        (["--vary", "gamma=0.9", "--json", "nowhere/x.json"], 1, "--json: there is no folder nowhere"),
    ],
)
def test_mistakes_are_reported(arguments, status, message, capsys):
    assert main(["sweep", "CartPole-v1", *TINY, *arguments]) == status
    assert message in capsys.readouterr().err

"""`compare` says when runs of one id used environments that differ."""

import json

import pytest

from funcenv.cli import main
from funcenv.train import ppo
from funcenv.train.reports.environments import environment_warnings
from funcenv.train.runs.folder import describe_run
from funcenv.verify import load_record

SAME = {"record": "aa", "verified": "equal bit for bit", "simulator": None}


def test_a_run_says_which_environment_it_used():
    about = describe_run("ppo", ppo.Config(env_id="CartPole-v1"))["environment"]
    assert about["record"] == load_record("CartPole-v1").fingerprint and about["simulator"] is None
    ant = describe_run("ppo", ppo.Config(env_id="Ant-v5"))["environment"]
    assert ant["simulator"].startswith("mujoco 3.17")


@pytest.mark.parametrize(
    ("other", "sentences"),
    [
        (SAME, []),
        ({**SAME, "verified": "not verified"}, []),
        ({}, []),  # a run of an earlier version
        (
            {**SAME, "record": "bb"},
            ["X-v0: a used a version of it with the record aa, b used a version of it with the "],
        ),
        ({**SAME, "simulator": "mujoco 4"}, ["X-v0: a used None, b used mujoco 4"]),
        ({**SAME, "verified": "different"}, ["X-v0: funcenv verify had found the environment of b different"]),
    ],
)
def test_environments_that_differ_are_named(other, sentences):
    found = environment_warnings([("a", "X-v0", SAME), ("b", "X-v0", other)])
    assert len(found) == len(sentences)
    assert all(seen.startswith(expected) for seen, expected in zip(found, sentences, strict=True))


def test_other_ids_are_not_compared():
    assert environment_warnings([("a", "X-v0", SAME), ("b", "Y-v0", {**SAME, "record": "bb"})]) == []


def test_compare_prints_it(tmp_path, capsys):
    folders = [str(tmp_path / name) for name in ("one", "two")]
    tiny = ["--num-envs", "4", "--num-steps", "16", "--total-timesteps", "512", "--num-minibatches", "2"]
    for folder in folders:
        assert main(["train", "CartPole-v1", "--run-dir", folder, *tiny, "--replay-episodes", "0"]) == 0
    file = tmp_path / "two" / "config.json"
    file.write_text(file.read_text().replace(load_record("CartPole-v1").fingerprint, "00000000"))
    capsys.readouterr()
    assert main(["compare", *folders]) == 0
    assert "the environments differ: CartPole-v1: one used" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", *folders, "--json", "-"]) == 0
    assert len(json.loads(capsys.readouterr().out)["environments"]) == 1

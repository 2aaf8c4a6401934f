"""A run that is killed at a random moment ends as one that was not: the benchmark with a single kill."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "benchmarks" / "studies" / "kills.py"
ALWAYS = ("dqn", "recurrent_ppo")
OTHERS = ("ppo", "pqn", "q_learning", "reinforce", "sac", "simba", "td3", "tqc")


@pytest.mark.dear
@pytest.mark.parametrize("algorithm", [*ALWAYS, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in OTHERS)])
def test_a_run_that_is_killed_ends_as_one_that_is_not(algorithm):
    command = [sys.executable, str(SCRIPT), "--kills", "1", "--seed", str(os.getpid()), "--algorithms", algorithm]
    path = os.pathsep.join(part for part in sys.path if part)
    outcome = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    cells = [cell.strip() for cell in outcome.stdout.splitlines()[-1].strip("|").split("|")]
    assert cells[:2] == [algorithm, "1"]

"""A run that is killed at a random moment ends as one that was not: the benchmark with a single kill."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "benchmarks" / "studies" / "kills.py"
ALWAYS = ("dqn", "recurrent_ppo")
KINDS = ("two runs start in one second", "two processes resume one run", "a process resumes a live run")
OTHERS = ("ars", "ppo", "pqn", "q_learning", "reinforce", "sac", "simba", "td3", "tqc")


@pytest.mark.dear
@pytest.mark.parametrize("algorithm", [*ALWAYS, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in OTHERS)])
def test_a_run_that_is_killed_ends_as_one_that_is_not(algorithm):
    options = ["--kills", "1", "--signals", "SIGKILL", "--meetings", "1", "--seed", str(os.getpid())]
    command = [sys.executable, str(SCRIPT), *options, "--algorithms", algorithm]
    path = os.pathsep.join(part for part in sys.path if part)
    outcome = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in outcome.stdout.splitlines()[2:]]
    assert [row[:3] for row in rows] == [[name, algorithm, "1"] for name in ("SIGKILL", *KINDS)]

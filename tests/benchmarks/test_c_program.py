"""The C program simulates the same CartPole."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import funcenv


def test_the_c_program_simulates_the_same_environment(benchmarks, tmp_path):
    c_program = benchmarks.c_program
    if shutil.which("cc") is None:
        with pytest.raises(benchmarks.libraries.LibraryError, match="no C compiler"):
            c_program.compile_program(1, tmp_path)
        return
    num_envs, num_steps = 1024, 500
    venv = funcenv.FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs)
    ours = funcenv.rollout(venv, funcenv.random_policy(venv), funcenv.key(0), num_steps, collect=None)[2]
    error = float(ours.std_length) / np.sqrt(float(ours.count))
    for generator in c_program.GENERATORS.values():
        program, _ = c_program.compile_program(generator, tmp_path)
        command = [str(program), str(num_envs), str(num_steps)]
        output = subprocess.run(command, input="\n", capture_output=True, text=True, check=True).stdout.splitlines()
        for result in (json.loads(line)["result"] for line in output):
            assert result["mean_length"] == pytest.approx(float(ours.mean_length), abs=6 * error)
            assert result["episodes"] == pytest.approx(int(ours.count), rel=0.02)


def test_the_c_program_refuses_what_it_cannot_do(benchmarks, tmp_path):
    if shutil.which("cc") is None:
        return
    program, _ = benchmarks.c_program.compile_program(1, tmp_path)
    outcome = subprocess.run([str(program), "100", "10"], capture_output=True, text=True)
    assert outcome.returncode == 2 and "a multiple of 256" in outcome.stderr

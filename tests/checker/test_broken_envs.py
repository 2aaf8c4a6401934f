"""The checker reports each broken environment with the findings that its defect deserves, and no others."""

import os
import pathlib
import subprocess
import sys

import pytest

import funcenv
from funcenv.checker import CODES, Severity, find_problems
from tests.checker.broken_envs import BROKEN_ENVS

ROOT = pathlib.Path(__file__).parents[2]
IDS = [cls.__name__ for cls, _ in BROKEN_ENVS]


@pytest.mark.parametrize("index", range(len(BROKEN_ENVS)), ids=IDS)
def test_a_broken_environment_gives_its_findings(index):
    env_class, codes = BROKEN_ENVS[index]
    if "tracer-leak" not in codes:
        assert_findings(env_class, codes)
        return
    # JAX searches the whole heap for what holds a leaked tracer, which takes minutes in a process that ran many tests.
    code = f"from tests.checker import test_broken_envs as t; t.assert_findings(*t.BROKEN_ENVS[{index}])"
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})


def assert_findings(env_class, codes):
    findings = find_problems(env_class(), funcenv.key(0), run=False)
    if sorted(finding.code for finding in findings) != sorted(codes) or not codes:  # the rest shows when it is run
        findings = find_problems(env_class(), funcenv.key(0))
    assert sorted(finding.code for finding in findings) == sorted(codes), [str(finding) for finding in findings]
    for finding in findings:
        assert finding.where.startswith(env_class.__name__), "a finding names the class"
        assert finding.seen
        assert finding.remedy
        assert isinstance(finding.severity, Severity)


def test_every_kind_of_finding_has_a_broken_environment():
    assert {code for _, codes in BROKEN_ENVS for code in codes} == set(CODES)

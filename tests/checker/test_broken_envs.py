"""The checker reports each broken environment with the findings that its defect deserves, and no others."""

import pytest

import funcenv
from funcenv.checker import CODES, Severity, find_problems
from tests.checker.broken_envs import BROKEN_ENVS


@pytest.mark.parametrize(("env_class", "codes"), BROKEN_ENVS, ids=[cls.__name__ for cls, _ in BROKEN_ENVS])
def test_a_broken_environment_gives_its_findings(env_class, codes):
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

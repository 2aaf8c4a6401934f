"""Every broken environment is found out, by the finding that its defect deserves and no other."""

import funcenv
from funcenv.checker import CODES, Severity, find_problems


def test_exhibit_gives_its_findings(exhibit):
    env_class, codes = exhibit
    findings = find_problems(env_class(), funcenv.key(0), run=False)
    if sorted(finding.code for finding in findings) != sorted(codes) or not codes:  # the rest shows when it is run
        findings = find_problems(env_class(), funcenv.key(0))
    assert sorted(finding.code for finding in findings) == sorted(codes), [str(finding) for finding in findings]
    for finding in findings:
        assert finding.where.startswith(env_class.__name__), "a finding names the class"
        assert finding.seen
        assert finding.remedy
        assert isinstance(finding.severity, Severity)


def test_every_kind_of_finding_is_on_show(zoo):
    shown = {code for _, codes in zoo.EXHIBITS for code in codes}
    assert shown == set(CODES)

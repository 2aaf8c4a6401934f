"""The command `funcenv check ENV ...`, which checks environments for mistakes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from funcenv.checker import Severity, format_findings, run_check
from funcenv.cli.flags import Word, read
from funcenv.registry import make


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Check environments for mistakes. The exit status is 1 if one has an error."""

    envs: Annotated[tuple[str, ...], Word("ENV")]
    """an id, or module:EnvClass, or module:function"""
    seed: int = 0
    """seed of the recorded steps"""


def run(arguments: Sequence[str]) -> int:
    """Check the environments, print what is found, and return the exit status."""
    options: Options = read("check", Options, arguments)
    failed = False
    for env in options.envs:
        print(f"{env}: ", end="", flush=True)
        findings = run_check(env, options.seed, make=make)
        failed |= any(finding.severity is Severity.ERROR for finding in findings)
        print(format_findings(findings), flush=True)
    return 1 if failed else 0

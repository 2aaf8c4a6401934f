"""The checker, which finds the defects of an environment before a training run does."""

from funcenv.checker.check import check_func_env, find_problems, run_check
from funcenv.checker.findings import CODES, EnvCheckError, Finding, Severity, format_findings

__all__ = [
    "CODES",
    "EnvCheckError",
    "Finding",
    "Severity",
    "check_func_env",
    "find_problems",
    "format_findings",
    "run_check",
]

"""Findings of the checker: a defect, its place, and its remedy."""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Sequence
from typing import Any


class Severity(enum.Enum):
    """The gravity of a finding.

    An error breaks the contract: JAX or funcenv fails with the environment, or gives wrong results. A warning names
    something that works but is probably unintended. A portability finding names something that works under JAX's
    default settings but not under stricter ones, or with 64-bit numbers.
    """

    ERROR = "error"
    WARNING = "warning"
    PORTABILITY = "portability"


CODES = {
    "action-names": "action_names does not have one name for each action",
    "action-outside-space": "the action space draws, or a wrapper passes on, an action that is not a member",
    "action-undefined": "an action outside the space gives NaN, infinity or an observation outside its space",
    "argument-changed": "a function changes a list or a dict that it is given",
    "dtype-promotion": "a function fails under strict dtype promotion",
    "end-undefined": "steps after the end of an episode give NaN or infinity",
    "flag-not-bool": "terminal or truncated is not a bool",
    "flag-not-scalar": "terminal or truncated is not a scalar",
    "function-fails": "a function raises when it is traced",
    "function-missing": "a function is not defined",
    "gradient-fails": "a step cannot be differentiated",
    "gradient-not-finite": "a derivative of a step is NaN or infinite",
    "impure-result": "two compiled calls with the same arguments differ",
    "impure-trace": "tracing twice gives two programs",
    "info-clash": "both infos have an entry of the same name",
    "info-not-dict": "an info is not a dict",
    "jit-differs": "a plain call and a compiled one differ",
    "key-ignored": "the first state does not depend on the key",
    "key-in-state": "the state holds a random key",
    "key-reuse": "a random key is used more than once",
    "keys-invalid": "get_keys_to_action names a key that does not exist, or an action outside the space",
    "noise-bounds": "a key decides more of a step than noise_bounds says",
    "not-finite": "a state or an observation holds NaN or infinity",
    "not-traceable": "a function needs the values of traced arrays",
    "observation-kind": "an observation does not have the structure, shape or dtype of its space",
    "observation-outside-space": "an observation is not in its space",
    "parameter-ambiguous": "an array-valued parameter could also be a batch of parameters",
    "parameter-derived": "a field is computed from another field and becomes stale",
    "parameter-not-array": "a parameter is neither a number nor an array",
    "parameter-not-batchable": "a batch of environments that differ in a parameter fails",
    "parameter-not-traceable": "a function fails when a parameter is traced",
    "parameter-static": "a real number is a static field",
    "parameter-unannotated": "a class attribute looks like a parameter but has no annotation",
    "parameter-unused": "nothing depends on a parameter",
    "pickle-differs": "a pickled copy is not equal",
    "pickle-fails": "the environment cannot be pickled",
    "rank-promotion": "a function fails when ranks are not promoted",
    "recompiles": "step is compiled more than once",
    "reset-fails": "reset raises although its parts do not",
    "reward-not-finite": "a reward is NaN or infinite",
    "reward-not-float": "the reward is not a float",
    "reward-not-scalar": "the reward is not a scalar",
    "scene-fails": "the scene cannot be traced or drawn",
    "space-broken": "a space cannot draw a member under jit",
    "space-missing": "observation_space or action_space is not a space",
    "starts-ended": "first states are terminal or truncated already",
    "state-drift": "initial and transition return states of different structure, shape or dtype",
    "state-weak-type": "a state has a weak type",
    "static-not-comparable": "static fields of two copies cannot be compared",
    "step-fails": "step raises although its parts do not",
    "tracer-leak": "a traced array is stored outside of its call",
    "vmap-differs": "a row of a batch and the same call alone differ",
    "vmap-fails": "a batch of environments fails",
    "x64-drift": "with jax_enable_x64, initial and transition return states of different structure, shape or dtype",
    "x64-dtype": "with jax_enable_x64, an observation does not have the dtype of its space",
    "x64-fails": "a function fails with jax_enable_x64",
}
"""Every kind of finding, with what it says."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One defect of an environment.

    Attributes:
        code: the kind of finding, a key of `CODES`.
        severity: error or warning.
        where: the function or the parameter, with its class: `Maze.initial`.
        seen: what was seen.
        remedy: what to do.

    Raises:
        ValueError: an unknown `code`.

    >>> print(Finding("key-ignored", Severity.WARNING, "Maze.initial", "it ignores its key", "draw from the key"))
    warning key-ignored: Maze.initial: it ignores its key. Remedy: draw from the key.
    """

    code: str
    severity: Severity
    where: str
    seen: str
    remedy: str

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code!r} is not a kind of finding; they are: {', '.join(CODES)}")

    def __str__(self) -> str:
        return f"{self.severity.value} {self.code}: {self.where}: {self.seen}. Remedy: {self.remedy}."


def error(code: str, owner: Any, part: str, seen: str, remedy: str) -> Finding:
    """Return an error about a part of `owner`, or about all of it if `part` is ""; it makes `check_func_env` raise."""
    return Finding(code, Severity.ERROR, f"{type(owner).__name__}.{part}".rstrip("."), seen, remedy)


def warning(code: str, owner: Any, part: str, seen: str, remedy: str) -> Finding:
    """Return a finding that `check_func_env` reports without raising."""
    return dataclasses.replace(error(code, owner, part, seen, remedy), severity=Severity.WARNING)


def portability(code: str, owner: Any, part: str, seen: str, remedy: str) -> Finding:
    """Return a finding about settings of JAX other than the default ones."""
    return dataclasses.replace(error(code, owner, part, seen, remedy), severity=Severity.PORTABILITY)


def format_findings(findings: Sequence[Finding]) -> str:
    """Format findings as text: one line each, the worst first, and a line that counts them.

    >>> print(format_findings([]))
    no findings
    """
    if not findings:
        return "no findings"
    ordered = sorted(findings, key=lambda finding: list(Severity).index(finding.severity))
    counts = collections.Counter(finding.severity for finding in findings)
    nouns = {Severity.ERROR: "error", Severity.WARNING: "warning"}
    if counts[Severity.PORTABILITY]:
        nouns[Severity.PORTABILITY] = "portability warning"
    total = ", ".join(f"{counts[kind]} {noun}{'' if counts[kind] == 1 else 's'}" for kind, noun in nouns.items())
    return "\n".join([*map(str, ordered), total])


class EnvCheckError(ValueError):
    """Raised when an environment, functional or stateful, breaks its contract.

    Attributes:
        findings: all findings of `check_func_env`, warnings included. Checks of stateful environments stop at the
            first broken rule and leave this empty.
    """

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)

"""The comparison of what an environment does here with its record."""

from __future__ import annotations

import dataclasses
import enum
import itertools
from typing import Any

import numpy as np

from funcenv.verify.digest import PLACES, Trace

ROUNDING_STEPS = 16
"""Contacts and chaos amplify rounding. Within so many steps after the reset it must stay below the tolerances."""
RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-4


class Outcome(enum.Enum):
    """How the results of an environment compare with its record."""

    EXACT = "equal bit for bit"
    ROUNDING = "equal to rounding"
    DIFFERENT = "different"
    UNRECORDED = "no record"
    MISSING = "not tried"


@dataclasses.dataclass(frozen=True)
class Result:
    """The outcome of one environment.

    Attributes:
        id: The id.
        outcome: How its results compare.
        largest_difference: In the sketches within the first `ROUNDING_STEPS` steps.
        first_step: The first place at which a bit differs; 0 is the reset, None means nowhere.
        apart_from: The first place at which more than rounding differs; None means nowhere.
        reason: What differs besides numbers, or why nothing was tried.
    """

    id: str
    outcome: Outcome
    largest_difference: float = 0.0
    first_step: int | None = None
    apart_from: int | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the result as an object of JSON.

        >>> Result("CartPole-v1", Outcome.EXACT).to_json()["outcome"]
        'equal bit for bit'
        """
        return {**dataclasses.asdict(self), "outcome": self.outcome.value}

    def __str__(self) -> str:
        """Return the result as a phrase.

        >>> print(Result("A-v0", Outcome.ROUNDING, 2e-7, 3, 48))
        equal to rounding: largest difference 2e-07, from step 3; from step 48 on apart, as contacts amplify rounding
        """
        if self.outcome in (Outcome.UNRECORDED, Outcome.MISSING) or self.reason:
            return f"{self.outcome.value}: {self.reason}" if self.reason else self.outcome.value
        if self.outcome is Outcome.EXACT:
            return self.outcome.value
        text = f"{self.outcome.value}: largest difference {self.largest_difference:.1g}, from step {self.first_step}"
        if self.apart_from is None:
            return text
        late = self.outcome is Outcome.ROUNDING
        end = ", as contacts amplify rounding" if late else ""
        return f"{text}; from step {self.apart_from} on apart{end}"


@dataclasses.dataclass(frozen=True)
class Difference:
    """The differences of two traces; the fields are those of `Result`."""

    largest: float
    first: int | None
    apart: int | None


def differences(recorded: Trace, seen: Trace, bits: tuple[str, ...]) -> Difference:
    """Compare two traces; `bits` are the recorded digests for the flags in force.

    >>> one = Trace(("a", "b"), ("x", "y"), ((1.0,), (2.0,)))
    >>> differences(one, Trace(("a", "c"), ("x", "y"), ((1.0,), (2.0000001,))), one.bits)
    Difference(largest=1e-07, first=1, apart=None)
    """
    first = _first(theirs != ours for theirs, ours in zip(bits, seen.bits, strict=True))
    pairs = list(zip(recorded.sketches, seen.sketches, strict=True))
    gaps = [_gap(theirs, ours) for theirs, ours in pairs]
    early = [gap for place, gap in zip(PLACES, gaps, strict=False) if place <= ROUNDING_STEPS]
    largest = float(f"{max(early):.3g}")
    is_apart = [
        theirs != ours or not np.allclose(*pair, RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE, equal_nan=True)
        for theirs, ours, pair in zip(recorded.integers, seen.integers, pairs, strict=True)
    ]
    return Difference(largest, first, _first(is_apart))


def judge(id: str, found: list[Difference]) -> Result:
    """Return the result of an environment from the differences in all its modes.

    >>> judge("A-v0", [Difference(0.0, None, None)]).outcome.value
    'equal bit for bit'
    """
    firsts = [one.first for one in found if one.first is not None]
    aparts = [one.apart for one in found if one.apart is not None]
    first, apart = min(firsts, default=None), min(aparts, default=None)
    if first is None:
        return Result(id, Outcome.EXACT)
    outcome = Outcome.ROUNDING if apart is None or apart > ROUNDING_STEPS else Outcome.DIFFERENT
    return Result(id, outcome, max(one.largest for one in found), first, apart)


def _first(flags: Any) -> int | None:
    return next(itertools.compress(PLACES, flags), None)


def _gap(theirs: tuple[float, ...], ours: tuple[float, ...]) -> float:
    with np.errstate(invalid="ignore"):
        gaps = np.abs(np.array(theirs) - np.array(ours))
    return float(np.nanmax(gaps, initial=0.0))

"""The words for what differs: nothing, rounding, or more."""

import numpy as np
import pytest

from funcenv.verify import Outcome, Result
from funcenv.verify.digest import PLACES, SKETCH_SIZE, Trace, sketch, trace
from funcenv.verify.outcome import ROUNDING_STEPS, differences, judge

TEXTS = tuple("abcdefghijklmno")
RECORDED = Trace(TEXTS, TEXTS, tuple((float(place),) for place in PLACES))
EARLY, LATE = PLACES.index(ROUNDING_STEPS), PLACES.index(ROUNDING_STEPS) + 1


def changed(values, index, value):
    return (*values[:index], value, *values[index + 1 :])


def outcome_of(seen):
    return judge("A-v0", [differences(RECORDED, seen, RECORDED.bits)])


def test_equal_bits_are_equal():
    assert outcome_of(RECORDED) == Result("A-v0", Outcome.EXACT)


@pytest.mark.parametrize(
    ("index", "difference", "outcome"),
    [(EARLY, 1e-6, "ROUNDING"), (EARLY, 1.0, "DIFFERENT"), (LATE, 1e-6, "ROUNDING"), (LATE, 1.0, "ROUNDING")],
)
def test_floats_may_differ_by_rounding_and_late_by_more(index, difference, outcome):
    sketches = changed(RECORDED.sketches, index, (PLACES[index] + difference,))
    found = outcome_of(Trace(changed(TEXTS, index, "x"), TEXTS, sketches))
    assert found.outcome is Outcome[outcome] and found.first_step == PLACES[index]
    assert found.apart_from == (PLACES[index] if difference == 1.0 else None)
    assert found.largest_difference == pytest.approx(difference if index == EARLY else 0.0, rel=1e-3)


@pytest.mark.parametrize(("index", "outcome"), [(0, "DIFFERENT"), (EARLY, "DIFFERENT"), (LATE, "ROUNDING")])
def test_integers_may_differ_only_after_rounding_has_grown(index, outcome):
    found = outcome_of(Trace(changed(TEXTS, index, "x"), changed(TEXTS, index, "x"), RECORDED.sketches))
    assert found.outcome is Outcome[outcome] and found.apart_from == PLACES[index]


def test_the_worst_mode_counts():
    parts = [differences(RECORDED, RECORDED, RECORDED.bits)]
    parts += [differences(RECORDED, Trace(changed(TEXTS, 2, "x"), TEXTS, RECORDED.sketches), RECORDED.bits)]
    assert judge("A-v0", parts).first_step == PLACES[2]


def test_not_a_number_equals_itself_alone():
    recorded = Trace(("a",), ("a",), ((np.nan,),))
    assert differences(recorded, Trace(("b",), ("a",), ((np.nan,),)), ("a",)).apart is None
    assert differences(recorded, Trace(("b",), ("a",), ((1.0,),)), ("a",)).apart == 0


def step(**changes):
    values = {"observation": np.float32([1, 2, 3]), "count": np.int32(4), "image": np.zeros((20, 20), np.uint8)}
    return {**values, **changes}


@pytest.mark.parametrize(
    ("changes", "integers_differ", "sketches_differ"),
    [
        ({"observation": np.float32([1, 2, 3.5])}, False, True),
        ({"count": np.int32(5)}, True, False),
        ({"count": np.int64(4)}, True, False),
        ({"image": np.full((20, 20), 1, np.uint8)}, False, True),
    ],
)
def test_integers_and_rounded_numbers_are_kept_apart(changes, integers_differ, sketches_differ):
    before, after = trace([step()]), trace([step(**changes)])
    assert before.bits != after.bits
    assert (before.integers != after.integers) == integers_differ
    assert (before.sketches != after.sketches) == sketches_differ


def test_a_digest_covers_all_steps_before_it():
    one, other = trace([step(), step(), step()]), trace([step(), step(count=np.int32(9)), step()])
    assert [a == b for a, b in zip(one.bits, other.bits, strict=True)] == [True, False, False]


@pytest.mark.parametrize("size", [0, 1, SKETCH_SIZE, SKETCH_SIZE + 1, 100])
def test_a_sketch_moves_with_every_number(size):
    numbers = np.linspace(1, 2, size)
    before = sketch([numbers])
    assert len(before) == SKETCH_SIZE
    for index in range(size):
        moved = numbers.copy()
        moved[index] += 0.5
        assert np.abs(np.array(sketch([moved])) - before).sum() == pytest.approx(0.5)

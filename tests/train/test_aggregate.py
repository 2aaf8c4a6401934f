"""The statistics of runs equal those of rliable 1.2.0; tests/support/rliable_reference.py wrote its values."""

import json
import pathlib

import numpy as np
import pytest

from funcenv.train.reports.aggregate import (
    bootstrap_interval,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
)

REFERENCE = json.loads((pathlib.Path(__file__).parent / "rliable_reference.json").read_text())
X, Y = np.array(REFERENCE["x"]), np.array(REFERENCE["y"])
SETS = {"x": X, "y": Y, "first task of x": X[:, :1]}


@pytest.mark.parametrize("name", SETS)
def test_the_interquartile_mean(name):
    assert interquartile_mean(SETS[name]) == pytest.approx(REFERENCE["interquartile_mean"][name], rel=1e-12)
    ends = bootstrap_interval(interquartile_mean, SETS[name], num_replicates=10_000)
    assert ends == pytest.approx(REFERENCE["interval_of_the_interquartile_mean"][name], abs=0.012)


def test_the_probability_of_improvement():
    reference = REFERENCE["probability_of_improvement"]
    assert probability_of_improvement(X, Y) == pytest.approx(reference["x over y"], rel=1e-12)
    assert probability_of_improvement(Y, X) == pytest.approx(reference["y over x"], rel=1e-12)
    assert probability_of_improvement(X, X) == 0.5
    ends = bootstrap_interval(probability_of_improvement, X, Y, num_replicates=10_000)
    assert ends == pytest.approx(REFERENCE["interval_of_the_probability_of_improvement"]["x over y"], abs=0.012)


@pytest.mark.parametrize("name", ["x", "y"])
def test_the_performance_profile(name):
    profile = performance_profile(SETS[name], REFERENCE["thresholds"])
    assert profile.tolist() == pytest.approx(REFERENCE["performance_profile"][name], rel=1e-12)


def test_points_of_a_curve_stay_together():
    curves = np.stack([X, X + 1], axis=-1)
    low, high = bootstrap_interval(interquartile_mean, curves, num_replicates=200, seed=3)
    assert interquartile_mean(curves) == pytest.approx([interquartile_mean(X), interquartile_mean(X) + 1])
    assert low[1] == pytest.approx(low[0] + 1) and high[1] == pytest.approx(high[0] + 1)


def test_bad_scores_are_named():
    with pytest.raises(ValueError, match=r"scores must have the shape \[num_runs, num_tasks\], got \[2\]"):
        interquartile_mean([1.0, 2.0])
    with pytest.raises(ValueError, match="scores of the same tasks, got 3 and 1"):
        probability_of_improvement(X, X[:, :1])
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, got 95"):
        bootstrap_interval(interquartile_mean, X, confidence=95)

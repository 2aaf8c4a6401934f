"""Statistics of a few runs: robust means, their intervals, and how likely one method is better than another.

They follow Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", 2021. Scores are
arrays `[num_runs, num_tasks]`, where a run is one agent on one task. Tasks are the strata of the bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.checks import require_size
from funcenv.struct import NDArray

NUM_REPLICATES = 2000
"""The default number of bootstrap replicates."""


def interquartile_mean(scores: Any) -> Any:
    """Return the mean of the middle half of all scores, over runs and tasks; of `[num_runs, num_tasks, ...]` over both.

    A quarter of the scores, rounded down, is left out on each side. With three runs or fewer, that is none.

    >>> float(interquartile_mean([[0.0], [1.0], [2.0], [90.0]]))
    1.5
    """
    array = _scores(scores)
    ordered = np.sort(array.reshape(-1, *array.shape[2:]), axis=0)
    cut = len(ordered) // 4
    return ordered[cut : len(ordered) - cut].mean(axis=0)


def performance_profile(scores: Any, thresholds: Any) -> NDArray:
    """Return the fraction of all scores above each threshold, `[num_thresholds]`.

    >>> performance_profile([[0.2], [0.4], [0.6]], [0.0, 0.4, 0.5]).round(2).tolist()
    [1.0, 0.33, 0.33]
    """
    flat = _scores(scores).reshape(-1, 1)
    fractions: NDArray = (flat > np.asarray(thresholds)).mean(axis=0)
    return fractions


def probability_of_improvement(scores: Any, others: Any) -> float:
    """Return the probability that a random run has a larger score than a random run of others, averaged over tasks.

    Equal scores count half.

    Raises:
        ValueError: The two have different numbers of tasks.

    >>> probability_of_improvement([[1.0], [3.0]], [[2.0], [3.0]])
    0.375
    """
    ours, theirs = _scores(scores), _scores(others)
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError(
            f"both must have scores of the same tasks, got {ours.shape[1]} and {theirs.shape[1]}; leave the others out"
        )
    differences = ours[:, None] - theirs[None]
    return float(((differences > 0) + 0.5 * (differences == 0)).mean())


def bootstrap_interval(
    statistic: Callable[..., Any],
    *scores: Any,
    confidence: float = 0.95,
    num_replicates: int = NUM_REPLICATES,
    seed: int = 0,
) -> tuple[Any, Any]:
    """Return the ends of a percentile interval of a statistic by the stratified bootstrap.

    A replicate draws as many runs of each task as there are, with replacement, independently for each task.

    Args:
        statistic: A function of as many arrays of scores as are given, which returns a number or an array.
        scores: Arrays `[num_runs, num_tasks, ...]`; further axes, such as points of a curve, stay together.
        confidence: The part of the replicates that lies inside.
        num_replicates: Number of replicates.
        seed: Determines the replicates.

    Raises:
        ValueError: `confidence` is not between 0 and 1.

    >>> low, high = bootstrap_interval(interquartile_mean, [[1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> bool(1 <= low < 3 < high <= 5)
    True
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}; 0.95 is usual")
    generator, arrays = np.random.default_rng(seed), [_scores(one) for one in scores]
    replicates = [
        statistic(*(_resampled(one, generator) for one in arrays))
        for _ in range(require_size("num_replicates", num_replicates))
    ]
    low, high = np.percentile(replicates, [50 * (1 - confidence), 50 * (1 + confidence)], axis=0)
    return low, high


def _resampled(scores: NDArray, generator: np.random.Generator) -> NDArray:
    num_runs, num_tasks = scores.shape[:2]
    drawn: NDArray = scores[generator.integers(num_runs, size=(num_runs, num_tasks)), np.arange(num_tasks)]
    return drawn


def _scores(scores: Any) -> NDArray:
    array = np.asarray(scores, float)
    if array.ndim < 2 or not array.size:
        raise ValueError(f"scores must have the shape [num_runs, num_tasks], got {list(array.shape)}; add an axis")
    return array

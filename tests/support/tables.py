"""Gymnasium's tables of transitions as arrays, exact values computed from them, and statistics of samples."""

from typing import Any, NamedTuple

import numpy as np
import scipy.stats

import funcenv
from funcenv.struct import NDArray

Array = NDArray


class Reference(NamedTuple):
    """Gymnasium's `env.P` in arrays `[num_states, num_actions, num_outcomes]`, and where an outcome is listed."""

    probability: Array
    next_state: Array
    reward: Array
    terminated: Array
    listed: Array
    initial: Array  # [num_states], the probability to begin there

    def action_values(self, values: Array, discount: float = 1.0) -> Array:
        """Compute one Bellman backup, `[num_states, num_actions]`."""
        return (self.probability * (self.reward + discount * ~self.terminated * values[self.next_state])).sum(-1)

    def optimal_values(self, discount: float) -> Array:
        """Iterate values until nothing changes any more."""
        values = np.zeros(len(self.initial))
        while True:
            better = self.action_values(values, discount).max(1)
            if np.abs(better - values).max() < 1e-12:
                return better
            values = better

    def random_return(self, num_steps: int) -> float:
        """Compute the exact mean return of uniformly random actions within `num_steps` steps."""
        values = np.zeros(len(self.initial))
        for _ in range(num_steps):
            values = self.action_values(values).mean(1)
        return float(self.initial @ values)


def reference(env: Any) -> Reference:
    """Return the table of a Gymnasium environment."""
    num_states, num_actions = len(env.P), len(env.P[0])
    num_outcomes = max(len(outcomes) for actions in env.P.values() for outcomes in actions.values())
    shape = num_states, num_actions, num_outcomes
    table = Reference(
        probability=np.zeros(shape),
        next_state=np.zeros(shape, int),
        reward=np.zeros(shape),
        terminated=np.zeros(shape, bool),
        listed=np.zeros(shape, bool),
        initial=np.asarray(env.initial_state_distrib),
    )
    for state, actions in env.P.items():
        for action, outcomes in actions.items():
            for index, outcome in enumerate(outcomes):
                for array, value in zip(table, (*outcome, True), strict=False):
                    array[state, action, index] = value
    return table


def chi_square(counts: Array, expected: Array) -> float:
    """Return the p-value of counts, given expected counts or probabilities; what is impossible must not occur."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    assert (counts[expected == 0] == 0).all(), "something impossible was drawn"
    possible = expected > 0
    return float(scipy.stats.chisquare(counts[possible], expected[possible] / expected.sum() * counts.sum()).pvalue)


def check_mean(evaluation: funcenv.Evaluation, exact: float, standard_errors: float) -> None:
    """Assert that all episodes of an evaluation ended, with a mean return near an exact value."""
    assert bool(evaluation.finished.all())
    returns = np.asarray(evaluation.episode_return, np.float64)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - exact) <= standard_errors * error + 1e-4 * abs(exact)

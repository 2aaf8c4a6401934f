"""What the tests of the two mountain cars share: states at walls, limits and goals, and how a car starts."""

import itertools
import math

import numpy as np

from tests.support.parity import around, assert_uniform, initial_rows, with_constants

LEFT, RIGHT, SPEED = -1.2, 0.6, 0.07


def cases(rng, goal, starts, actions, pushes):
    """Return 10,000 random rows; and rows with actions for every wall, limit and goal with its neighbours.

    Args:
        rng: the generator of the random rows.
        goal: the position of the goal.
        starts: places from which one step leads to the goal.
        actions: actions to take at walls, limits and goal.
        pushes: the acceleration of each action by which the car lands on them from elsewhere.
    """
    random = rng.uniform(0, 1, (10_000, 2)) * [RIGHT - LEFT, 2 * SPEED] + [LEFT, -SPEED]
    places = [*around(LEFT), *around(RIGHT), *around(goal), -math.pi / 6, -5.0, 5.0]
    speeds = [0.0, 1.0, -1.0, 1e-3, -1e-3, *around(SPEED), *around(-SPEED)]
    landings = [
        (*reaching(place, push, start), action)
        for target, starts_of_it in ((LEFT, (-1.17, -1.15)), (RIGHT, (0.57, 0.59)), (goal, starts))
        for place, start, (action, push) in itertools.product(around(target), starts_of_it, pushes.items())
    ]
    edges = np.array([*itertools.product(places, speeds, actions), *landings])
    return random, edges[:, :2], edges[:, 2]


def reaching(position, push, start):
    """Return a row that the default dynamics move to `position`, from near `start`."""
    for _ in range(60):
        velocity = position - start - push + math.cos(3 * start) * 0.0025
        start = position - (velocity + (push - math.cos(3 * start) * 0.0025))
    return start, velocity


def reference(env_class, **parameters):
    """Return Gymnasium's environment with other constants."""
    return with_constants(env_class(goal_velocity=parameters.pop("goal_velocity", 0)), **parameters)


def assert_lands_on_walls_and_goal(steps, goal):
    """Assert that steps from the edges lead to both walls, and to the goal and its neighbours."""
    position, velocity = steps.state.T
    for target in (LEFT, RIGHT, *around(goal)):
        assert (position == target).sum() > 3
    assert ((position == LEFT) & (velocity == 0)).any()
    assert ((position == RIGHT) & (velocity > 0)).any()


def assert_reaches_both_walls(trajectory):
    """Assert that some car of a trajectory was at either wall."""
    assert trajectory[..., 0].min() == LEFT
    assert trajectory[..., 0].max() == RIGHT


def assert_starts_at_rest(env_class, bounds):
    """Assert that cars start anywhere in their range, and at rest."""
    rows = initial_rows(env_class(**bounds))
    assert_uniform(rows[:, 0], bounds.get("low", -0.6), bounds.get("high", -0.4))
    assert not rows[:, 1].any()

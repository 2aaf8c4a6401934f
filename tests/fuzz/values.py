"""Values: those that users give by mistake, and arguments that are right, wrong or missing."""

import math

import numpy as np
from hypothesis import strategies as st

from funcenv.spaces import Box, Discrete

MAX_SIZE = 1000  # of what a test lets the package allocate

SIZES = {
    *("n", "max_length", "max_nodes", "max_edges", "num_envs", "num_steps", "num_episodes", "max_steps"),
    *("delay", "stack_size", "skip", "frame_skip", "num_repeats", "bins", "size", "height", "width", "supersample"),
    *("obstruction_width", "screen_size", "noop_max"),
}
"""Parameters for which memory is allocated; the wrong values of other parameters are unbounded."""

ODD = [
    *(None, True, False, 0, -1, 1, 3, 2**31, -(2**40), 10**30, 0.0, 0.5, -1.5, 1e300),
    *(math.nan, math.inf, -math.inf, 1 + 2j, "", "x", "1", "None", b"x"),
    *((), (1,), (2, 3), (0, -1), [], [1.5], [None], ["a"], [[1], [2, 3]], {}, {"a": 1}, {1: None}, set(), range(3)),
    *(np.float32(2.5), np.float64(math.nan), np.int64(2**40), np.uint8(3), np.bool_(True), np.array([])),
    *(np.zeros((2, 2)), np.array(["a"]), np.array([math.nan]), np.array([1, 2]), np.array(None), np.zeros(3, complex)),
    *(int, np.float32, len, object(), slice(1), ..., Box(0, 1), Discrete(2), np.datetime64("2000-01-01")),
]
"""Values of every kind, most of which are wrong for most parameters."""


def odd():
    """Draw a value that is wrong for most parameters."""
    return st.one_of(st.sampled_from(ODD), st.integers(), st.floats(), st.text(max_size=3))


def odd_sizes():
    """Draw an odd value for a number of things: none that asks for more memory than there is."""
    return odd().filter(lambda value: not isinstance(value, (int, np.integer)) or value <= MAX_SIZE)


def mostly(valid, invalid=None):
    """Draw a valid value, or an odd one in a tenth of the cases."""
    wrong = odd() if invalid is None else invalid
    return st.integers(0, 9).flatmap(lambda number: wrong if number == 9 else valid)


@st.composite
def keywords(draw, required=None, optional=None):
    """Draw keyword arguments, of which few are odd; the arguments are strategies of valid values by name."""
    given = {**(required or {}), **{name: valid for name, valid in (optional or {}).items() if draw(st.booleans())}}
    return {name: draw(mostly(valid, odd_sizes() if name in SIZES else odd())) for name, valid in given.items()}

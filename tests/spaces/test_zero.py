"""The zero of a space against Gymnasium's."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers.utils import create_zero_array

from funcenv import spaces

PAIRS = [
    (kinds.Box(-1, 1, (2,)), kinds.Box(np.float32([2, -5]), np.float32([3, -4])), kinds.Discrete(3, start=-1))
    + (kinds.MultiDiscrete([2, 3], start=[-4, 5]), kinds.MultiBinary(3))
    for kinds in (spaces, gymnasium.spaces)
]


@pytest.mark.parametrize(("ours", "theirs"), list(zip(*PAIRS, strict=True)), ids=repr)
def test_as_gymnasium(ours, theirs):
    np.testing.assert_array_equal(ours.zero(), create_zero_array(theirs))
    assert ours.zero().dtype == ours.dtype
    assert bool(ours.contains(ours.zero()))


def test_of_parts():
    number, pair = PAIRS[0][2], PAIRS[0][0]
    nothing = spaces.Dict(both=spaces.Tuple([number, pair])).zero()
    assert nothing["both"][0] == -1
    np.testing.assert_array_equal(nothing["both"][1], [0, 0])

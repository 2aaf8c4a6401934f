"""The common space of several: what it is, and that members go there and back."""

import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, Text
from funcenv.spaces.common import CommonSpace

ALIKE = [
    ([Box(-1, 1, (2,)), Box(0, 3, (2,))], Box(-1, 3, (2,))),
    ([Discrete(3, start=-1), Discrete(4)], Discrete(5, start=-1)),
    ([MultiDiscrete([2, 3]), MultiDiscrete([4, 2])], MultiDiscrete([4, 3])),
    ([Dict(a=Box(0, 1, (2,)), b=Discrete(2)), Dict(a=Box(-1, 0, (2,)), b=Discrete(3))], None),
    ([Text(5), Text(5)], Text(5)),
]


@pytest.mark.parametrize(("spaces", "expected"), ALIKE)
def test_spaces_of_one_kind_and_shape_keep_their_members(spaces, expected):
    common = CommonSpace("observation space", spaces, flattens=False)
    assert expected is None or common.space == expected
    for index, space in enumerate(spaces):
        member = space.sample(funcenv.key(index))
        assert common.embed(index, member) is member
        assert common.space.contains(member)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int32, bool])
def test_boxes_are_padded_with_zeros(dtype):
    spaces = [Box(0, 1, (2, 3), dtype), Box(0, 1, (4, 1), dtype)]
    common = CommonSpace("observation space", spaces, flattens=False)
    assert common.space.shape == (4, 3) and common.space.dtype == dtype
    for index, space in enumerate(spaces):
        member = space.sample(funcenv.key(index))
        padded = common.embed(index, member)
        assert common.space.contains(padded) and padded.dtype == member.dtype
        rows, columns = space.shape
        np.testing.assert_array_equal(padded[:rows, :columns], member)
        assert padded.astype(float).sum() == member.astype(float).sum()
        np.testing.assert_array_equal(common.project(index, padded), member)


def test_open_sides_stay_open():
    common = CommonSpace("observation space", [Box(-np.inf, 5, (1,)), Box(2, 3, (2,))], flattens=False)
    assert common.space == Box([-np.inf, 0], [5, 3])


def test_other_spaces_become_vectors():
    spaces = [Box(-1, 1, (2, 2)), Discrete(3), MultiBinary(5), Dict(a=Box(0, 2, (3,)), b=Discrete(2))]
    common = CommonSpace("observation space", spaces, flattens=True)
    assert common.space.shape == (5,) and common.space.dtype == np.float32
    for index, space in enumerate(spaces):
        member = space.sample(funcenv.key(index))
        vector = common.embed(index, member)
        assert common.space.contains(vector)
        np.testing.assert_array_equal(vector[: space.flattened.shape[0]], space.flatten(member))


def test_a_member_is_clipped_to_a_narrower_space():
    common = CommonSpace("action space", [Box(-1, 1, (1,)), Box(-3, 3, (2,)), Box(-3, 3, (1,))], flattens=False)
    member = jnp.array([2.5, -2.5])
    assert [common.project(index, member).tolist() for index in range(3)] == [[1.0], [2.5, -2.5], [2.5]]
    common = CommonSpace("action space", [Discrete(2), Discrete(4, start=-1)], flattens=False)
    assert [int(common.project(0, action)) for action in (-1, 0, 1, 2)] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("spaces", "flattens", "message"),
    [
        ([Discrete(2), Box(0, 1, (2,))], False, r"action spaces of one kind.*got Discrete\(2\) and Box.*; wrap some"),
        ([Box(0, 1, (2,)), Box(0, 1, (2, 2))], False, "number of axes"),
        ([Box(0, 1, (2,)), Box(0, 1, (2,), np.uint8)], False, "the same dtype"),
        ([MultiDiscrete([2]), MultiDiscrete([2, 2])], False, "of one kind"),
        ([Graph(Box(0, 1, (2,)), None, 3, 3), Discrete(2)], True, "flatten to vectors, got Graph"),
    ],
)
def test_spaces_without_one_in_common_are_refused(spaces, flattens, message):
    with pytest.raises(TypeError, match=message):
        CommonSpace("action space", spaces, flattens)

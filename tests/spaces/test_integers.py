"""What is special about integer spaces: ranges, dtypes, one-hot vectors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box, Discrete, MultiBinary, MultiDiscrete, batch_space
from funcenv.spaces._dtypes import integers_within
from funcenv.spaces.space import in_declared_dtype


def test_a_small_discrete_space_draws_one_word():
    """And takes its remainder: the cheapest draw there is, which environments rely on."""
    key = funcenv.key(7)
    word = int(jax.random.bits(jax.random.clone(key), (), np.uint32))
    assert int(Discrete(10, start=-3).sample(key)) == word % 10 - 3


def test_a_small_box_of_integers_and_a_bounded_one_of_floats_draw_one_word_an_element():
    key = funcenv.key(7)
    words = np.asarray(jax.random.bits(jax.random.clone(key), (5,), np.uint32))
    np.testing.assert_array_equal(Box(0, 99, (5,), np.uint8).sample(jax.random.clone(key)), words % 100)
    floats = jax.random.uniform(jax.random.clone(key), (5,), np.float32, -1, 2)
    np.testing.assert_array_equal(Box(-1, 2, (5,)).sample(key), floats)


@pytest.mark.parametrize("n", [2**16, 2**16 + 1])
@pytest.mark.parametrize("low", [-7, 11])
def test_a_box_draws_as_a_discrete_space_does(n, low):
    """The largest number of members that is drawn by one word, and the next one, which takes two."""
    key = funcenv.key(3)
    expected = Discrete(n, start=low).sample(jax.random.clone(key))
    assert Box(low, low + n - 1, (), np.int32).sample(key) == expected
    word = jax.random.bits(jax.random.clone(key), (), np.uint32)
    assert (int(expected) == int(word) % n + low) == (n == 2**16)
    keys = jax.random.split(jax.random.clone(key), 64)
    half_open = Box(np.array([low, -np.inf]), np.array([low + n - 1, 0]), dtype=np.int32)
    drawn = jax.vmap(half_open.sample)(keys)[:, 0] - low
    assert drawn.min() >= 0 and drawn.max() < n and drawn.max() > n // 2


def test_a_small_discrete_space_draws_the_same_in_64_bits():
    keys = jax.random.split(funcenv.key(1), 8)
    space = Discrete(2**16, dtype=np.int64)
    narrow = jax.vmap(space.sample)(jax.random.clone(keys))
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jax.vmap(space.sample)(keys), narrow)


def test_a_box_of_one_integer_beyond_32_bits_is_refused():
    with pytest.raises(ValueError, match="jax_enable_x64"):
        Box(0, 2**40, (1,), np.int64).sample(funcenv.key(0))


def test_one_bound_holds_in_the_declared_dtype():
    """1.1 in 32 bits is above 1.1."""
    space = Box(-np.inf, 1.1, (1,), np.float64)
    assert not space.is_open and in_declared_dtype(space, np.float32([1.1])) == np.float64(1.1)


@pytest.mark.parametrize(
    "x", [np.int64(2**32), np.uint64(2**63), 2**70, -(2**70), jnp.uint32(2**32 - 1), np.uint8(255)]
)
def test_large_numbers_do_not_wrap_around(x):
    assert x not in Discrete(3, start=-1)
    assert isinstance(x, int) or x[None] not in MultiDiscrete([3], start=[-1])


def test_all_dtypes_are_compared_exactly():
    for dtype in (np.int8, np.uint8, np.int16, np.uint32):
        for low, high in [(-300, 300), (-1, 1), (0, 70_000), (200, 300), (-(2**40), -(2**35))]:
            numbers = np.array([np.iinfo(dtype).min, 0, 1, np.iinfo(dtype).max], dtype)
            for number in numbers:
                expected = low <= int(number) <= high
                assert integers_within(number, low, high) == expected
                assert integers_within(jnp.asarray(number), low, high) == expected


def test_the_widest_range_of_a_dtype():
    space = Discrete(256, dtype=np.uint8)
    assert batch_space(space, 2) == MultiDiscrete([256, 256], dtype=np.uint8)
    assert {int(space.sample(funcenv.key(seed))) > 127 for seed in range(9)} == {True, False}
    whole = Discrete(2**32, start=-(2**31))
    assert int(whole.sample(funcenv.key(0))) in whole
    with jax.enable_x64(True):
        wide = Discrete(2**40, start=-(2**39), dtype=np.int64)
        drawn = np.asarray(jax.vmap(wide.sample)(jax.random.split(funcenv.key(0), 99)))
        assert ((drawn >= -(2**39)) & (drawn < 2**39)).all()
        assert (np.abs(drawn) > 2**33).any()


def test_unions_span_both():
    assert Discrete(3).union(Discrete(2, start=5)) == Discrete(7)
    one, other = MultiDiscrete([3, 2], start=[0, 1]), MultiDiscrete([1, 5], start=[-2, 1])
    assert one.union(other) == MultiDiscrete([5, 5], start=[-2, 1])


def test_batches_hold_as_many_members():
    assert batch_space(Discrete(3, start=1), 2) == MultiDiscrete([3, 3], start=[1, 1])
    assert batch_space(MultiDiscrete([3, 2], start=[1, 0]), 2) == Box([[1, 0]] * 2, [[3, 1]] * 2, dtype=np.int32)
    assert batch_space(MultiBinary(2), 3) == Box(0, 1, (3, 2), np.int8)


def test_parts_of_a_multi_discrete_space():
    space = MultiDiscrete([[3, 2], [4, 5]], start=[[0, 1], [0, 0]])
    assert space[0, 1] == Discrete(2, start=1)
    assert space[1] == MultiDiscrete([4, 5])
    assert len(space) == 2
    with pytest.raises(ValueError, match="read-only"):
        space.nvec[0, 0] = 9


def test_vectors_that_are_no_member_are_read_by_their_first_entry():
    assert Discrete(4, start=2).unflatten([0, 3, 1, 0]) == 3
    assert Discrete(4, start=2).unflatten(np.zeros(4)) == 2
    assert Discrete(4, start=2).flatten(99).tolist() == [0, 0, 0, 0]
    space = MultiDiscrete([3, 2], start=[1, 0])
    assert space.unflatten([0, 1, 1, 0, 0]).tolist() == [2, 0]
    assert space.flatten(np.array([9, 1])).tolist() == [0, 0, 0, 0, 1]


def test_masks_by_array_where_all_counts_are_the_same():
    mask = jnp.array([[0, 1, 0], [1, 0, 0]])
    assert jax.jit(MultiDiscrete([3, 3]).sample)(funcenv.key(0), mask=mask).tolist() == [1, 0]

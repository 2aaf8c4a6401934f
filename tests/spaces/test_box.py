"""What is special about boxes: traced bounds, open sides, 64 bits, equality."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box, Dict, OneOf, Tuple, batch_space, flatten_space
from funcenv.spaces.box import pad_box


def test_default_shape_is_gymnasiums():
    assert Box(0, 1).shape == Box(np.float32(0), jnp.float32(1)).shape == (1,)
    assert Box(np.zeros(()), np.ones(())).shape == ()
    assert Box([0, 0], 1).shape == Box(0, [[1, 1]][0]).shape == (2,)


def test_bounds_cannot_be_changed_behind_its_back():
    low = np.zeros(2)
    space = Box(low, 1)
    low[0] = 5
    assert space.low[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        space.low[0] = 5


def test_equality_is_exact():
    assert Box(0, 1) != Box(0, 1 + 1e-6)
    assert Box(0, 1) != Box(0, 1, dtype=np.float64)
    assert Box(0.0, 1) != Box(1e-20, 1)
    assert Box(-0.0, 1) == Box(0.0, 1)
    assert hash(Box(-0.0, 1)) == hash(Box(0.0, 1))
    limits = np.iinfo(np.int32)
    open_box, closed_box = Box(-np.inf, np.inf, (2,), np.int32), Box(limits.min, limits.max, (2,), np.int32)
    assert open_box != closed_box  # they are drawn from differently
    np.testing.assert_array_equal(open_box.low, closed_box.low)


def test_union_takes_the_loosest_bounds_and_keeps_sides_open():
    assert Box([0, -1], [1, np.inf]).union(Box([-2, 0], [0, 5])) == Box([-2, -1], [1, np.inf])
    assert Box(-np.inf, 0, (2,), np.int8).union(Box(-3, 5, (2,), np.int8)) == Box(-np.inf, 5, (2,), np.int8)
    assert batch_space(Box(-np.inf, 0, (2,), np.int8), 3) == Box(-np.inf, 0, (3, 2), np.int8)
    assert flatten_space(Box(-np.inf, 0, (2, 2), np.int8)) == Box(-np.inf, 0, (4,), np.int8)


def test_traced_bounds_work_everywhere_but_in_comparisons():
    def program(limit, key):
        space = Box(-limit, [limit, jnp.inf], (2,))
        assert (space.shape, space.dtype, space.concrete) == ((2,), np.float32, False)
        assert repr(space) == "Box(traced, traced, (2,), float32)"
        assert space == space
        assert space != Box(-limit, [limit, jnp.inf], (2,))
        with pytest.raises(TypeError, match="cannot be hashed; read the space outside"):
            hash(space)
        one, two, three, four = jax.random.split(key, 4)
        member = space.sample(one)
        inside = [space.contains(member), space.union(Box(-1, 1, (2,))).contains(member)]
        for product, value in [
            (Dict(a=space), {"a": space.sample(two)}),
            (Tuple([space, Box(0, 1)]), (space.sample(three), jnp.ones(1, np.float32))),
            (OneOf([space, Box(-9, 9)]), (0, space.sample(four))),
        ]:
            inside += [product.contains(value), product.flattened.contains(product.flatten(value))]
        batched = batch_space(space, 3)
        inside.append(batched.contains(jnp.broadcast_to(member, (3, 2))))
        return member, jnp.stack(inside), space.contains(jnp.float32([2 * limit, 0]))

    keys = jax.random.split(funcenv.key(0), 50)
    limits = jnp.linspace(0.5, 8.0, 50, dtype=np.float32)
    members, inside, outside = jax.jit(jax.vmap(program))(limits, keys)
    assert inside.all()
    assert not outside.any()
    assert (jnp.abs(members[:, 0]) <= limits).all()


def test_traced_integer_bounds():
    def program(high, key):
        space = Box(-2, high, (50,), np.int8)
        member = space.sample(key)
        return member, space.contains(member) & ~space.contains(member + jnp.int8(10))

    members, right = jax.jit(program)(3, funcenv.key(0))
    assert right
    assert set(members.tolist()) == set(range(-2, 4))


def test_scalar_parameters_have_the_same_shape_traced_or_not():
    assert jax.eval_shape(lambda high: Box(-high, high).sample(funcenv.key(0)), 1.0).shape == Box(-1.0, 1.0).shape


@jax.enable_x64(False)
def test_64_bits_without_x64():
    """Members are drawn in 32 bits, which cast safely; values on the host are compared in all of theirs."""
    for dtype in (np.int64, np.float64):
        space = Box(-3, 3, (2,), dtype)
        assert space.dtype == dtype
        assert space.sample(funcenv.key(0)).dtype.itemsize == 4
        assert space.sample(funcenv.key(1)) in space
    assert Box(-np.inf, np.inf, (9,), np.int64).sample(funcenv.key(2)) in Box(-np.inf, np.inf, (9,), np.int64)
    wide = Box(-(2**40), 2**40, (1,), np.int64)
    assert np.array([2**40]) in wide
    assert np.array([2**40 + 1]) not in wide
    assert np.array([2**32]) not in Box(0, 1, (1,), np.int64)
    with jax.enable_x64(True):
        drawn = wide.sample(funcenv.key(3))
        assert drawn.dtype == np.int64
        assert drawn in wide
        assert jnp.array([2**40 + 1]) not in wide


def test_bounds_are_included_and_nan_is_not():
    space = Box([0.0, -1.0], [1.0, 1.0])
    for x, inside in [([0, -1], True), ([1, 1], True), ([1.0000001, 1], False), ([np.nan, 0], False)]:
        for array in (np.array(x, np.float32), jnp.array(x, jnp.float32)):
            assert (array in space) == inside
        assert (x in space) == inside
    assert np.array([0.0, 0.0]) not in space  # float64 does not cast safely
    assert np.array([0, 0], np.int8) in space
    assert np.array([False, True]) in space


def test_lists_of_traced_numbers():
    space = Box(0, 1, (2,))
    flags = jax.jit(lambda x: (space.contains([x, 0.5]), space.contains([x + 1, 0.5])))(0.5)
    assert flags == (True, False)
    assert jax.jit(lambda x: Box(0, 9, (2,), np.int32).contains([x, x]))(np.int32(1))
    assert not jax.jit(lambda x: Box(0, 9, (2,), np.int32).contains([x, x]))(1.0)


def test_bounded_integers_beside_unbounded_ones_take_every_value():
    space = Box(np.array([-1.0, -np.inf]), np.array([2.0, np.inf]), dtype=np.int32)
    drawn = jax.vmap(space.sample)(jax.random.split(funcenv.key(0), 200))
    assert set(drawn[:, 0].tolist()) == {-1, 0, 1, 2}


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_a_union_is_bounded_where_both_are(swap, dtype):
    boxes = Box(0, 1, (2,), dtype), Box(np.array([0.0, -np.inf]), np.array([np.inf, 1.0]), dtype=dtype)
    both = boxes[swap].union(boxes[not swap])
    assert both == Box(np.array([0.0, -np.inf]), np.array([np.inf, 1.0]), dtype=dtype)
    assert both.bounded_above.tolist() == [False, True] and both.bounded_below.tolist() == [True, False]


def test_padding_is_bounded():
    """It is 0, also where the box has no bounds."""
    padded = pad_box(Box(-np.inf, np.inf, (1,), np.int32), (3,), np.dtype("int32"))
    np.testing.assert_array_equal(padded.bounded_below, [False, True, True])
    np.testing.assert_array_equal(padded.bounded_above, [False, True, True])
    assert (padded.sample(funcenv.key(0))[1:] == 0).all()

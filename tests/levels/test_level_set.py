"""Sets of levels: making, dividing, saving, and what keeps training and test levels apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, LakeMaze
from funcenv.levels import LevelSet, draw_levels


def gravities(*values):
    return LevelSet.from_parameters(CartPole(), {"gravity": list(values)})


def test_a_split_has_no_level_on_both_sides_even_if_levels_repeat():
    levels = gravities(*np.repeat(np.arange(1.0, 11.0), 3))
    train, test = levels.split(0.3, seed=1)
    assert (len(train), len(test)) == (21, 9)
    assert not set(train.digests()) & set(test.digests())
    train.require_disjoint(test)


def test_another_seed_divides_otherwise_and_the_same_seed_alike():
    levels = gravities(*np.arange(1.0, 31.0))
    first, again, other = (levels.split(0.5, seed)[1].ids.tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_a_test_level_that_is_also_a_training_level_is_named():
    with pytest.raises(ValueError, match="level 0 of the test levels is also a training level, number 1"):
        gravities(1.0, 2.0).require_disjoint(gravities(2.0, 3.0))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, float("nan")])
def test_fractions_that_divide_nothing_are_refused(fraction):
    with pytest.raises(ValueError, match="between 0 and 1"):
        gravities(1.0, 2.0).split(fraction)
    with pytest.raises(ValueError, match="1 different levels cannot be divided"):
        gravities(1.0, 1.0).split(0.5)


def test_files_hold_parameters_keys_and_ids(tmp_path):
    env = LakeMaze()
    keys = jax.random.split(funcenv.key(1), 4)
    tiles = draw_levels(env, 4, funcenv.key(0)).parameters["tiles"]
    levels = LevelSet.from_parameters(env, {"tiles": tiles}, keys)[[3, 1]]
    levels.save(tmp_path / "levels.safetensors")
    loaded = LevelSet.load(tmp_path / "levels.safetensors", env)
    assert loaded.digests() == levels.digests()
    assert loaded.ids.tolist() == [3, 1]
    assert jnp.array_equal(jax.random.key_data(loaded.first_key(0, None)), jax.random.key_data(keys[3]))


def test_files_that_are_no_levels_of_the_environment_are_refused(tmp_path):
    path = tmp_path / "levels.safetensors"
    gravities(1.0, 2.0).save(path)
    with pytest.raises(ValueError, match="levels of CartPole, not of LakeMaze"):
        LevelSet.load(path, LakeMaze())
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(ValueError, match="cannot be read"):
        LevelSet.load(path, CartPole())
    path.write_bytes(whole[:-4] + b"\x00\x00\x00\x00")
    with pytest.raises(ValueError, match="damaged"):
        LevelSet.load(path, CartPole())


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="one value for each level"):
        LevelSet.from_parameters(CartPole(), {"gravity": [1.0, 2.0], "length": [0.5]})
    with pytest.raises(ValueError, match="got a scalar"):
        LevelSet.from_parameters(CartPole(), {"gravity": 1.0})
    with pytest.raises(ValueError, match="got none"):
        LevelSet.from_parameters(CartPole(), {})
    with pytest.raises(ValueError, match="got 2 for 1 levels"):
        LevelSet.from_parameters(CartPole(), {"gravity": [1.0]}, jax.random.split(funcenv.key(0), 2))


def test_parts_need_levels_that_exist():
    levels = gravities(1.0, 2.0, 3.0)
    assert levels[1:].ids.tolist() == levels[np.array([False, True, True])].ids.tolist() == [1, 2]
    for wrong in (3, [0, -1], [], slice(5, 9)):
        with pytest.raises(IndexError, match="a part of 3 levels"):
            levels[wrong]


def test_environments_that_draw_no_levels_are_named():
    with pytest.raises(TypeError, match="draws levels, got CartPole"):
        draw_levels(funcenv.make("CartPole-v1"), 3, funcenv.key(0))

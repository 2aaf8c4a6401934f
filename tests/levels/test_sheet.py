"""A contact sheet: one tile for each level, with its caption above it."""

import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, LakeMaze
from funcenv.levels import LevelSet, contact_sheet


def lakes(*maps):
    tiles = jnp.stack([LakeMaze.from_rows(rows).tiles for rows in maps])
    return LevelSet.from_parameters(LakeMaze(), {"tiles": tiles})


def test_every_tile_shows_its_own_level():
    levels = lakes(["SFF", "FFF", "FFG"], ["SFF", "FHF", "FFG"], ["SFF", "FFF", "FFG"])
    sheet = np.asarray(contact_sheet(LakeMaze(), levels, 60, 184, columns=3, captions=["a", "a", "b"]))
    first, second, third = (sheet[:, 62 * i : 62 * i + 60].astype(int) for i in range(3))
    middle = slice(28, 44), slice(22, 38)
    assert np.abs(first - second)[middle].mean() > 50
    assert (first[12:] == third[12:]).all() and (first != third).any()


def test_scores_are_captions_and_there_is_one_for_each_level():
    levels = lakes(["SG"], ["GS"])
    assert contact_sheet(LakeMaze(), levels, 40, 80, captions=[0.25, 1.0]).shape == (40, 80, 3)
    with pytest.raises(ValueError, match="one caption for each of 2 levels, got 1"):
        contact_sheet(LakeMaze(), levels, 40, 80, captions=["one"])
    with pytest.raises(ValueError, match="levels of LakeMaze, not of CartPole"):
        contact_sheet(CartPole(), levels, 40, 80)


def test_keys_determine_the_first_states():
    env = CartPole()
    keys = LevelSet.from_keys(env, jnp.stack([funcenv.key(0), funcenv.key(0), funcenv.key(5)]))
    sheet = np.asarray(contact_sheet(env, keys, 30, 184, columns=3, captions=["", "", ""]))
    tiles = [sheet[:, 62 * i : 62 * i + 60] for i in range(3)]
    assert (tiles[0] == tiles[1]).all() and (tiles[0] != tiles[2]).any()

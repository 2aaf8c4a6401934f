"""Lake Maze: the rules of Frozen Lake, with a map that is a parameter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import FrozenLake, LakeMaze
from funcenv.envs.toy_text import generate_random_map
from funcenv.envs.toy_text.frozen_lake_maps import has_path
from funcenv.envs.toy_text.lake_maze import GOAL, LETTERS, START, LakeMazeState, tiles_of_rows


@pytest.mark.parametrize("seed", [0, 1])
def test_steps_reach_the_tiles_and_rewards_of_frozen_lake(seed):
    rows = generate_random_map(5, 0.7, seed)
    maze, lake = LakeMaze.from_rows(rows), FrozenLake(desc=rows, is_slippery=False)
    numbers, actions = (grid.ravel() for grid in jnp.meshgrid(jnp.arange(25), jnp.arange(4)))

    def both(number, action):
        state = lake.decode(number)
        expected, wanted = lake.step(state, action, funcenv.key(0))
        found, timestep = maze.step(LakeMazeState(state.row, state.column), action, funcenv.key(0))
        same_place = (found.row == expected.row) & (found.column == expected.column)
        return same_place & (timestep.reward == wanted.reward) & (timestep.terminated == wanted.terminated)

    assert jax.jit(jax.vmap(both))(numbers, actions).all()


def test_observation_of_a_corner_by_hand():
    env = LakeMaze.from_rows(["SH", "FG"], view=1)
    observation = env.observation(env.initial(funcenv.key(0)), funcenv.key(0))
    holes, border, way = observation[:9], observation[9:18], observation[18:]
    assert holes.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert border.tolist() == [1, 1, 1, 1, 0, 0, 1, 0, 0]
    assert way.tolist() == [0.5, 0.5]


def test_slips_are_as_likely_as_on_frozen_lake():
    env = LakeMaze.from_rows(["FFF", "FSF", "FFG"], success_rate=0.5)
    keys = jax.random.split(funcenv.key(0), 4000)
    states = jax.vmap(lambda key: env.transition(env.initial(key), 2, key))(keys)
    shares = [
        np.mean(np.asarray((states.row == row) & (states.column == column))) for row, column in [(1, 2), (0, 1), (2, 1)]
    ]
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.03)


def test_path_lengths_of_random_levels():
    env = LakeMaze()
    levels = jax.vmap(env.draw_level)(jax.random.split(funcenv.key(0), 40))["tiles"]
    lengths = jax.jit(jax.vmap(lambda tiles: env.replace(tiles=tiles).path_length()))(levels)
    for tiles, length in zip(np.asarray(levels), lengths, strict=True):
        rows = ["".join(LETTERS[kind] for kind in row) for row in tiles]
        assert (length >= 0) == has_path(rows)
        (start,), (goal,) = np.argwhere(tiles == START), np.argwhere(tiles == GOAL)
        assert length == -1 or length >= np.abs(start - goal).sum()
    assert {True, False} == set((np.asarray(lengths) >= 0).tolist())
    assert LakeMaze.from_rows(["SFF", "HHF", "GFF"]).path_length() == 6


def test_mutations_are_small_and_keep_one_start_and_one_goal():
    env = LakeMaze()
    keys = jax.random.split(funcenv.key(0), 200)
    tiles = np.asarray(jax.jit(jax.vmap(lambda key: env.mutate_level({"tiles": env.tiles}, key)))(keys)["tiles"])
    changed = (tiles != np.asarray(env.tiles)).sum((1, 2))
    assert changed.min() >= 0 and changed.max() <= 5 and changed.mean() > 1
    assert ((tiles == START).sum((1, 2)) == 1).all() and ((tiles == GOAL).sum((1, 2)) == 1).all()
    assert (np.argmax(tiles.reshape(200, -1) == GOAL, -1) != 63).mean() == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize(
    ("tiles", "message"),
    [
        ([[3, 0], [1, 5]], "integers .* from 0 to 3"),
        ([[3.0, 2.0]], "integers"),
        ([[3, 3], [1, 2]], "exactly one start"),
        ([[3, 0], [1, 0]], "exactly one goal"),
    ],
)
def test_maps_of_another_kind_are_refused(tiles, message):
    with pytest.raises(ValueError, match=message):
        LakeMaze(tiles=np.array(tiles))


def test_letters_and_numbers_agree():
    assert np.array_equal(LakeMaze().tiles, tiles_of_rows(funcenv.make("FrozenLake8x8-v1").tiles))

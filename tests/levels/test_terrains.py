"""Terrains and tracks as levels: an episode in a level has the ground that its parameters describe."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import BipedalWalker, CarRacing, LunarLander
from funcenv.envs.box2d.car_track import draw_closed_track, lay_track, make_track
from funcenv.envs.box2d.walker_terrain import build_terrain, draw_terrain
from funcenv.levels import LevelSet
from funcenv.parameters import parameter_axes


def test_a_lander_in_a_level_starts_as_one_that_drew_these_heights():
    env, key = LunarLander(), funcenv.key(3)
    drawn = jax.jit(env.initial)(key)
    level = env.draw_level(jax.random.split(key, 4)[0])
    given = jax.jit(lambda level, key: env.replace(**level).initial(key))(level, key)
    assert jnp.array_equal(given.terrain, drawn.terrain)
    other = jax.jit(lambda level, key: env.replace(**level).initial(key))(level, funcenv.key(4))
    assert jnp.array_equal(other.terrain, drawn.terrain)


@pytest.mark.dear
def test_a_walker_in_a_level_stands_on_its_ground():
    env = BipedalWalker(hardcore=True)
    draws = draw_terrain(funcenv.key(5))
    expected = build_terrain(draws, hardcore=True)
    state = jax.jit(lambda draws: env.replace(terrain=draws).initial(funcenv.key(0)))(draws)
    assert jnp.array_equal(state.terrain, expected.heights)
    assert jnp.array_equal(state.boxes, expected.boxes)


def test_a_track_is_laid_through_the_checkpoints_of_a_level():
    checkpoints, track = jax.jit(draw_closed_track)(funcenv.key(6))
    again, is_usable = jax.jit(lay_track)(checkpoints)
    assert is_usable
    for expected in (make_track(funcenv.key(6)), again):
        assert all(map(np.allclose, jax.tree.leaves(track), jax.tree.leaves(expected)))
    state = jax.jit(CarRacing(checkpoints=checkpoints).initial)(funcenv.key(0))
    assert np.allclose(state.track.x, track.x)


@pytest.mark.parametrize(
    ("env", "changed"),
    [
        (LunarLander(), lambda old, new: np.sum(old["heights"] != new["heights"])),
        (BipedalWalker(), lambda old, new: np.sum(old["terrain"].bump != new["terrain"].bump) / 20),
        (CarRacing(), lambda old, new: np.sum((old["checkpoints"] != new["checkpoints"]).any(-1))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_mutation_changes_one_place(env, changed):
    mutate = jax.jit(env.mutate_level)
    level = jax.jit(env.draw_level)(funcenv.key(0))
    numbers = [int(changed(level, mutate(level, funcenv.key(seed)))) for seed in range(8)]
    assert set(numbers) <= {0, 1} and 1 in numbers


def test_every_track_of_a_mutation_closes():
    env = CarRacing()
    keys = jax.random.split(funcenv.key(1), 8)
    levels = jax.jit(jax.vmap(lambda key: env.mutate_level(env.draw_level(key), key)))(keys)
    assert jax.jit(jax.vmap(lay_track))(levels["checkpoints"])[1].all()


def test_levels_of_records_are_saved_and_batched(tmp_path):
    env = BipedalWalker()
    levels = funcenv.levels.draw_levels(env, 3, funcenv.key(0))
    levels.save(tmp_path / "grounds.safetensors")
    loaded = LevelSet.load(tmp_path / "grounds.safetensors", env)
    assert jax.tree.structure(loaded) == jax.tree.structure(levels)
    assert loaded.digests() == levels.digests()
    batch = env.replace(**loaded.parameters)
    axes = parameter_axes(batch, 3)
    assert axes.terrain.bump == 0 and axes.gravity is None

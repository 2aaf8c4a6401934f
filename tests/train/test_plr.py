"""Curricula of levels: which levels an update takes place in, what is scored, and from what is learned."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.levels import HasLevels, LevelSet
from funcenv.train import plr
from funcenv.train.loop import Learner
from funcenv.wrappers import FiniteLevels
from tests.support.tiny_envs import Tiny

CONFIG = plr.Config(
    env_id="LakeMaze-v0",
    num_envs=4,
    num_steps=8,
    hidden_sizes=(8,),
    num_minibatches=1,
    num_epochs=1,
    total_timesteps=32 * 40,
    level_buffer=8,
    minimum_fill=0.5,
)
NEW, REPLAYED, MUTATED = range(3)


def history(config, num_updates=16):
    """Return the states before and after each update."""
    learner = Learner(plr, config)
    states = [learner.init(funcenv.key(0))]
    for _ in range(num_updates):
        states.append(learner.advance(states[-1], 1)[0])
    return [jax.tree.map(lambda leaf: leaf[0], state) for state in states]


def tiles_of(state):
    return np.asarray(state.levels["parameters"]["tiles"])


def held(state):
    return np.asarray(state.sampler.levels["parameters"]["tiles"])[: int(state.sampler.size)]


@pytest.fixture(scope="module")
def accel():
    return history(dataclasses.replace(CONFIG, curriculum="accel"))


def test_replayed_levels_come_from_the_buffer_and_mutants_from_the_replayed(accel):
    kinds = [int(state.kind) for state in accel]
    assert set(kinds) == {NEW, REPLAYED, MUTATED}
    for before, after in zip(accel, accel[1:], strict=False):
        if after.kind == REPLAYED:
            places = [(held(before) == tiles).all((1, 2)).any() for tiles in tiles_of(after)]
            assert all(places)
        assert (after.kind == MUTATED) == (before.kind == REPLAYED)
        if after.kind == MUTATED:
            assert ((tiles_of(after) != tiles_of(before)).sum((1, 2)) <= 5).all()


def test_accel_learns_from_replays_only(accel):
    for before, after in zip(accel, accel[1:], strict=False):
        learned = not all(
            map(jnp.array_equal, jax.tree.leaves(before.network.params), jax.tree.leaves(after.network.params))
        )
        assert learned == (after.kind == REPLAYED)


def test_nothing_is_replayed_before_the_buffer_is_filled_far_enough(accel):
    first = next(i for i, state in enumerate(accel) if state.kind == REPLAYED)
    assert int(accel[first - 1].sampler.size) >= 4
    assert all(state.kind == NEW for state in accel[:first])


def test_environments_play_their_levels_to_the_end_of_the_update(accel):
    """The walker of each environment stands on no hole of its own level, or has just fallen into one."""
    for state in accel[1:]:
        walker = state.collector.vstate.env_state.env_state
        tiles = tiles_of(state)[np.arange(4), walker.row, walker.column]
        assert ((tiles != 1) & (tiles != 2)).all()


def test_scores_are_means_of_positive_advantages():
    advantage = jnp.array([[1.0, 3.0], [-2.0, 4.0], [0.0, -1.0]])
    assert plr.positive_value_loss(advantage).tolist() == [2.0, 2.0, 0.0]


class Paying(HasLevels, Tiny):
    """Pays a number in every step, which a level determines; the observation says nothing of it."""

    pay: float = 0.0

    def initial(self, key):
        return jnp.zeros(())

    def transition(self, state, action, key):
        return state

    def reward(self, state, action, next_state):
        return self.pay

    def draw_level(self, key):
        return {"pay": jax.random.uniform(key, minval=1.0, maxval=9.0)}


def test_a_level_has_the_score_of_the_steps_in_it():
    """A new network without hidden layers values a zero observation at 0, so that advantages are the rewards."""
    funcenv.register("test/Paying-v0", Paying, max_episode_steps=5)
    config = dataclasses.replace(
        CONFIG, env_id="test/Paying-v0", curriculum="plr", hidden_sizes=(), gamma=0.0, normalize_reward=False
    )
    _, state = history(config, 1)
    pays = state.sampler.levels["parameters"]["pay"][:4]
    assert len(set(pays.tolist())) == 4
    np.testing.assert_allclose(state.sampler.scores[:4], pays, rtol=1e-5)


def test_levels_are_keys_where_an_environment_draws_none():
    states = history(dataclasses.replace(CONFIG, env_id="CartPole-v1", curriculum="plr"), 6)
    assert states[-1].levels["parameters"] == {}
    assert states[-1].levels["key_data"].shape == (4, 2)
    keys = jax.random.wrap_key_data(states[-1].sampler.levels["key_data"][0], impl="threefry2x32")
    assert keys.shape == ()


def test_new_levels_come_from_the_file_if_there_is_one(tmp_path):
    levels = LevelSet.from_parameters(CartPole(), {"gravity": [1.0, 2.0, 3.0]})
    levels.save(tmp_path / "three.safetensors")
    config = dataclasses.replace(
        CONFIG, env_id="CartPole-v1", curriculum="uniform", levels=str(tmp_path / "three.safetensors")
    )
    assert isinstance(Learner(plr, config).env, FiniteLevels)
    for state in history(config, 2):
        assert set(state.levels["parameters"]["gravity"].tolist()) <= {1.0, 2.0, 3.0}


def test_a_file_of_levels_is_not_hidden_from_the_curriculum(tmp_path):
    LevelSet.from_parameters(CartPole(), {"gravity": [1.0, 2.0]}).save(tmp_path / "two.safetensors")
    settings = {"env_id": "CartPole-v1", "levels": str(tmp_path / "two.safetensors"), "critic_observation": "state"}
    config = dataclasses.replace(CONFIG, curriculum="plr", **settings)
    with pytest.raises(ValueError, match="needs FiniteLevels outside of CriticObservation; leave the levels out"):
        config.make_env()


def test_accel_needs_an_environment_that_mutates_levels():
    with pytest.raises(TypeError, match="curriculum accel needs an environment that draws levels, got CartPole"):
        Learner(plr, dataclasses.replace(CONFIG, env_id="CartPole-v1", curriculum="accel"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"curriculum": "pair"}, "curriculum must be one of"),
        ({"level_buffer": 0}, "level_buffer must be at least 1"),
        ({"replay_probability": 1.5}, "replay_probability must lie in"),
        ({"minimum_fill": 0.0}, "minimum_fill must be a finite number above 0"),
        ({"level_temperature": 0.0}, "level_temperature must be a finite number above 0"),
        ({"levels": "nowhere.safetensors"}, "there is no file of levels nowhere.safetensors"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        Learner(plr, dataclasses.replace(CONFIG, **settings))

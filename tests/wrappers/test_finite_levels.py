"""Episodes in a finite set of levels: which level, what it changes, and what a trainer may change."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import funcenv
from funcenv.envs import CartPole, FrozenLake
from funcenv.levels import LevelSet
from funcenv.wrappers import FiniteLevels, TimeLimit

GRAVITIES = jnp.array([1.6, 3.7, 9.8])


def chosen(env, num_episodes=2000):
    """Return the level of many first states."""
    keys = jax.random.split(funcenv.key(0), num_episodes)
    return np.asarray(jax.jit(jax.vmap(lambda key: env.reset(key)[1].info["level"]))(keys))


def test_steps_as_the_environment_with_the_parameters_of_the_level():
    env = FiniteLevels(TimeLimit(CartPole(), 500), {"gravity": GRAVITIES})
    state, timestep = env.reset(funcenv.key(3))
    plain = TimeLimit(CartPole(gravity=GRAVITIES[timestep.info["level"]]), 500)
    inside = state.env_state
    for count in range(3):
        state, timestep = env.step(state, 1, funcenv.key(count))
        inside, expected = plain.step(inside, 1, funcenv.key(count))
        assert jnp.array_equal(timestep.observation, expected.observation)


def test_a_key_starts_every_episode_of_its_level_alike():
    keys = jax.random.split(funcenv.key(7), 5)
    env = FiniteLevels(CartPole(), keys)
    for seed in range(4):
        state, timestep = env.reset(funcenv.key(seed))
        expected = CartPole().initial(keys[timestep.info["level"]])
        assert all(map(jnp.array_equal, jax.tree.leaves(state.env_state), jax.tree.leaves(expected)))


def test_all_levels_are_equally_likely():
    counts = np.bincount(chosen(FiniteLevels(CartPole(), {"gravity": GRAVITIES})), minlength=3)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_levels_are_as_likely_as_their_weights_and_one_without_weight_never_comes():
    weights = np.array([0.0, 3.0, 0.0, 1.0, 0.0])
    env = FiniteLevels(CartPole(), {"gravity": jnp.arange(1.0, 6.0)}, jnp.asarray(weights))
    counts = np.bincount(chosen(env), minlength=5)
    assert counts[weights == 0].sum() == 0
    assert stats.chisquare(counts[[1, 3]], 2000 * np.array([0.75, 0.25])).pvalue > 1e-3


def test_a_trainer_changes_weights_and_levels_without_another_compilation():
    env = FiniteLevels(CartPole(), {"gravity": GRAVITIES}, jnp.ones(3))
    compiled = 0

    @jax.jit
    def level_and_gravity(env, key):
        nonlocal compiled
        compiled += 1
        state = env.initial(key)
        return state.level, state.parameters["gravity"]

    levels = LevelSet.from_parameters(CartPole(), {"gravity": 2 * GRAVITIES})
    assert level_and_gravity(env.replace(weights=jnp.array([0.0, 1.0, 0.0])), funcenv.key(0))[0] == 1
    level, gravity = level_and_gravity(env.replace(weights=jnp.array([0.0, 0.0, 1.0]), levels=levels), funcenv.key(0))
    assert (level, gravity, compiled) == (2, jnp.float32(19.6), 1)


def test_a_batch_stays_in_the_levels_that_it_is_given():
    env = FiniteLevels(CartPole(), {"gravity": GRAVITIES}).in_level(jnp.array([2, 0, 1, 1]))
    venv = funcenv.FuncVectorEnv(env, 4)
    vstate, timestep = venv.reset(funcenv.key(0))
    for _ in range(60):  # constant pushes end every episode several times
        vstate, timestep = venv.step(vstate, jnp.ones(4, jnp.int32))
    assert timestep.info["level"].tolist() == [2, 0, 1, 1]


def test_batches_are_as_large_as_the_set_without_confusion():
    """Levels `[3]` are not taken for a batch of three environments."""
    venv = funcenv.FuncVectorEnv(FiniteLevels(CartPole(), {"gravity": GRAVITIES}, jnp.ones(3)), 3)
    _, timestep = venv.reset(funcenv.key(0))
    assert timestep.info["level"].shape == (3,)


def test_parts_of_a_set_report_the_numbers_of_the_set():
    levels = LevelSet.from_parameters(CartPole(), {"gravity": GRAVITIES})
    assert set(chosen(FiniteLevels(CartPole(), levels[[0, 2]]), 50)) == {0, 2}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -0.5, 1.0], "finite and at least 0, got -0.5 for level 1"),
        ([1.0, float("nan"), 1.0], "finite and at least 0, got nan for level 1"),
        ([1.0, 1.0, float("inf")], "got inf for level 2"),
        ([0.0, 0.0, 0.0], "at least one weight must be above 0"),
        ([1.0, 1.0], r"one weight for each of 3 levels, got the shape \(2,\)"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        FiniteLevels(CartPole(), {"gravity": GRAVITIES}, jnp.array(weights))


def test_levels_of_another_environment_are_refused():
    levels = LevelSet.from_keys(FrozenLake(), jax.random.split(funcenv.key(0), 3))
    with pytest.raises(ValueError, match="levels of FrozenLake, not of CartPole"):
        FiniteLevels(CartPole(), levels)


def test_what_is_no_set_of_levels_is_refused():
    with pytest.raises(TypeError, match="LevelSet, a dict of parameters or an array of typed keys, got int"):
        FiniteLevels(CartPole(), 3)
    with pytest.raises(TypeError, match="no field 'gravty'"):
        FiniteLevels(CartPole(), {"gravty": GRAVITIES})
    with pytest.raises(ValueError, match="one key each"):
        FiniteLevels(CartPole(), funcenv.key(0))

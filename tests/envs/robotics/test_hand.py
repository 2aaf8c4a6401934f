"""The hand against Gymnasium-Robotics': the same state and the same actions give the same numbers."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import funcenv
from funcenv.envs import HandReach
from funcenv.host import from_words
from tests.support.robotics import (
    ids,
    ours,
    play_ours,
    play_reference,
    prepared,
    random_actions,
    readable_joints,
    reference,
    row,
)

IDS = ids("Hand")
FIRST = "robotics/HandReach-v3"
CASES = [
    pytest.param(id, seed, marks=() if (id, seed) == (FIRST, 0) else pytest.mark.exhaustive)
    for id in IDS
    for seed in range(3)
]


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == np.float64
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("id, seed", CASES)
def test_whole_episodes_are_bit_equal(id, seed):
    """Physics, goals and observations are equal in every bit, also where fingers touch, and beyond the action space."""
    with jax.enable_x64(True):
        env, theirs, first, state = prepared(id, seed)
        assert_same(jax.jit(env.observation)(state, jax.random.key(0)), first)
        actions = 1.2 * random_actions(env, funcenv.spec(id).max_episode_steps, seed)
        actions[:10] = np.where(np.arange(20) < 15, 0.9, actions[:10])  # the fingers close
        expected, played = play_reference(theirs, actions), play_ours(env, state, actions)
        np.testing.assert_array_equal(played.physics, expected.physics)
        assert_same(played.observation, expected.observation)
        exactly = env.reward_type == "sparse"
        np.testing.assert_allclose(played.reward, expected.reward, rtol=0 if exactly else 1e-14)
        np.testing.assert_array_equal(played.info["is_success"], expected.info["is_success"])
        assert not played.terminated.any() and not expected.terminated.any()
        assert theirs.data.ncon > 0


@pytest.mark.parametrize("id", [FIRST])
def test_a_reset_is_the_packages(id):
    with jax.enable_x64(True):
        env, theirs, _, _ = prepared(id, 5)
        start = env.start(funcenv.key(0))
        np.testing.assert_array_equal(start.qpos, theirs.initial_qpos)
        physics = from_words(np.asarray(jax.jit(env.state_at)(start).physics))
        np.testing.assert_array_equal(physics, row(theirs.data))


def test_goals_are_distributed_as_the_packages():
    """Kolmogorov and Smirnov's test of every number, and the choice of the finger, at a level of 1e-3 for all."""
    env, theirs = ours(FIRST), reference(FIRST)
    with readable_joints():
        theirs.reset(seed=3)
    expected = np.stack([theirs._sample_goal() for _ in range(2000)])
    draw = jax.jit(jax.vmap(lambda key: env.start(key).variables))
    found = np.asarray(draw(jax.random.split(funcenv.key(5), 4000)))
    moved = [np.abs(goals - theirs.initial_goal).reshape(-1, 5, 3).max(2) > 1e-6 for goals in (found, expected)]
    for of in moved:
        assert set(of.sum(1)) == {0, 2} and (of[:, 4] == of.any(1)).all()  # the thumb and one finger, or none
        np.testing.assert_allclose(of[:, :4].mean(0), 0.9 / 4, atol=0.04)
        np.testing.assert_allclose((~of.any(1)).mean(), 0.1, atol=0.03)
    for one, other in zip(found.astype(np.float64).T.round(6), expected.T.round(6), strict=True):
        assert scipy.stats.ks_2samp(one, other).pvalue > 1e-3 / found.shape[1]


def test_episodes_without_x64_are_close():
    env, theirs, _, state = prepared(FIRST, 0)
    actions = random_actions(env, 5)
    expected, played = play_reference(theirs, actions), play_ours(env, state, actions)
    for name, values in expected.observation.items():
        assert played.observation[name].dtype == np.float32
        np.testing.assert_allclose(played.observation[name], values, atol=1e-4)


def test_the_model_and_spaces_are_the_packages():
    env, theirs, first, _ = prepared(FIRST, 0)
    for name in ("actuator_ctrlrange", "actuator_gainprm", "body_mass", "body_inertia", "body_pos", "dof_damping",
                 "geom_friction", "geom_pos", "geom_size", "jnt_range", "mesh_vert", "qpos0", "site_pos"):  # fmt: skip
        np.testing.assert_array_equal(getattr(env.model.mjmodel, name), getattr(theirs.model, name), name)
    assert env.dt == pytest.approx(theirs.dt) and env.render_fps == 25
    assert env.action_space.shape == theirs.action_space.shape and len(env.action_names) == 20
    np.testing.assert_array_equal(env.action_space.low, theirs.action_space.low)
    assert env.observation_space.keys() == theirs.observation_space.spaces.keys() == first.keys()
    for name, space in theirs.observation_space.spaces.items():
        assert (env.observation_space[name].shape, env.observation_space[name].dtype) == (space.shape, space.dtype)


def test_ids_are_the_packages():
    known = {id for id in gymnasium.registry if id.startswith("HandReach") and id.endswith("-v3")}
    assert {id.partition("/")[2] for id in IDS} == known
    assert [id for id in IDS if id in funcenv.registry] == [FIRST]


@pytest.mark.parametrize(
    "kwargs, match",
    [
        ({"distance_threshold": 0.0}, "distance_threshold must be"),
        ({"reward_type": "none"}, "reward_type must be one of sparse, dense, got .none."),
        ({"backend": "mjx"}, 'does not run with backend="mjx": MJX has no margins .*; use backend="c"'),
    ],
)
def test_bad_input_is_named(kwargs, match):
    with pytest.raises(ValueError, match=match):
        HandReach(**kwargs)


def test_scenes_show_the_goals_where_they_are():
    env = ours(FIRST)
    state = jax.jit(env.initial)(funcenv.key(0))
    draw = jax.jit(lambda state: funcenv.scene.rasterize(env.scene(state), 90, 120))
    higher = state.replace(variables=state.variables + jnp.tile(jnp.array([0.0, 0.0, 0.05]), 5))
    rows = []
    for one in (state, higher):
        red, green, blue = np.moveaxis(np.asarray(draw(one), int), -1, 0)
        rows.append(np.argwhere((green > red + 30) & (green > blue + 20))[:, 0])
    assert rows[1].min() < rows[0].min()
    mjmodel = env.model.mjmodel
    for number, goal in enumerate(state.variables.reshape(5, 3)):
        place = env.drawn_changes(state)["site_pos"][mjmodel.site(f"target{number}").id] + mjmodel.body("floor0").pos
        np.testing.assert_allclose(place, goal, rtol=1e-5)

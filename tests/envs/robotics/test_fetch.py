"""The Fetch tasks against Gymnasium-Robotics': the same state and the same actions give the same numbers."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial.transform
import scipy.stats

import funcenv
from funcenv.envs import FetchPush, FetchReach, Start
from funcenv.envs.robotics import fetch_task
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

IDS = ids("Fetch")
SPARSE = [id for id in IDS if "Dense" not in id]
# Observed numbers that are products with a Jacobian, or angles by `arctan2`: NumPy's differ from XLA's in the last bit.
TOLERANCE = 2e-15


def rotating(*first):
    """Return the ids with sparse rewards, of which all but the named ones rotate."""
    return [pytest.param(id, marks=() if id in first else pytest.mark.exhaustive) for id in SPARSE]


def handling_actions(id, seed):
    """Return actions that bring the gripper to the object and handle it; the package's simulation says where it is."""
    theirs, actions, random = reference(id), [], np.random.default_rng(seed)
    picks = "Pick" in id
    with readable_joints():
        seen, _ = theirs.reset(seed=seed)
        for number in range(50):
            way = seen["observation"][6:9] if theirs.has_object else seen["desired_goal"] - seen["achieved_goal"]
            is_down = not picks or number > 12
            height = 0.0 if is_down else 0.08  # from above the object, so that the fingers do not push it away
            move = np.append((way + [0.0, 0.0, height]) / 0.05, 1.0 if picks and number < 22 else -1.0)
            if picks and number > 28:
                move[:3] = 0.0, 0.0, 0.6
            action = np.clip(move + random.normal(0, 0.05, 4), -1, 1).astype(np.float32)
            actions.append(action)
            seen = theirs.step(action)[0]
    return np.array(actions)


CASES = [
    pytest.param(id, seed, marks=() if id in SPARSE and seed == 0 else pytest.mark.exhaustive)
    for id in IDS
    for seed in range(3)
]


@pytest.mark.parametrize("id, seed", CASES)
def test_whole_episodes_are_bit_equal(id, seed):
    """Physics and goals are equal in every bit, and other observations to 2e-15, while objects are touched."""
    with jax.enable_x64(True):
        env, theirs, first, state = prepared(id, seed)
        assert_same(jax.jit(env.observation)(state, jax.random.key(0)), first)
        actions = handling_actions(id, seed)
        expected, played = play_reference(theirs, actions), play_ours(env, state, actions)
        np.testing.assert_array_equal(played.physics, expected.physics)
        assert_same(played.observation, expected.observation)
        exactly = env.reward_type == "sparse"
        np.testing.assert_allclose(played.reward, expected.reward, rtol=0, atol=0 if exactly else TOLERANCE)
        np.testing.assert_array_equal(played.info["is_success"], expected.info["is_success"])
        assert not played.terminated.any() and not expected.terminated.any()
        assert len(actions) == funcenv.spec(id).max_episode_steps
        moved = np.abs(expected.observation["achieved_goal"] - first["achieved_goal"]).max(0)
        assert moved[2 if "Pick" in id else slice(2)].max() > 0.03  # the object was pushed, or lifted


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        found_values = np.asarray(found[name])
        assert found_values.dtype == np.float64 and found_values.shape == values.shape
        if name == "observation":
            np.testing.assert_allclose(found_values, values, rtol=0, atol=TOLERANCE)
        else:
            np.testing.assert_array_equal(found_values, values, err_msg=name)


@pytest.mark.parametrize("id", SPARSE)
def test_a_reset_is_the_packages(id):
    """The first pose and the physics after a reset are equal in every bit, but for the time, which begins at 0."""
    with jax.enable_x64(True):
        env, theirs, _, _ = prepared(id, 5)
        data, pose = theirs.data, env.first_pose
        np.testing.assert_array_equal(pose.qpos, theirs.initial_qpos)
        np.testing.assert_array_equal(pose.qvel, theirs.initial_qvel)
        np.testing.assert_array_equal(pose.grip, theirs.initial_gripper_xpos)
        assert pose.object_height == (theirs.height_offset if theirs.has_object else 0.0)
        begun = Start(qpos=data.qpos.copy(), qvel=data.qvel.copy(), variables=jnp.asarray(theirs.goal))
        physics = from_words(np.asarray(jax.jit(env.state_at)(begun).physics))
        np.testing.assert_array_equal(physics[1:], row(data)[1:])


@pytest.mark.parametrize("id", rotating("robotics/FetchPickAndPlace-v4"))
def test_first_states_are_distributed_as_the_packages(id):
    """Kolmogorov and Smirnov's test of every number, at a level of 1e-3 for all of them together."""
    env, theirs, expected = ours(id), reference(id), []
    with readable_joints():
        theirs.reset(seed=11)
        for _ in range(500):
            theirs.reset()
            expected.append(np.concatenate([theirs.data.qpos, theirs.goal]))
    starts = jax.jit(jax.vmap(env.start))(jax.random.split(funcenv.key(5), 2000))
    found = np.concatenate([starts.qpos, starts.variables], axis=1).astype(np.float64)
    for one, other in zip(found.T.round(6), np.transpose(expected).round(6), strict=True):
        if np.ptp(other) == 0:
            np.testing.assert_allclose(one, other[0], atol=1e-6)
        else:
            assert scipy.stats.ks_2samp(one, other).pvalue > 1e-3 / found.shape[1]
    if env.has_object:
        number = int(env.model.mjmodel.joint("object0:joint").qposadr[0])
        ways = found[:, number : number + 2] - env.first_pose.grip[:2]
        assert np.linalg.norm(ways, axis=1).min() > 0.1 - 1e-6


@pytest.mark.parametrize("id", rotating("robotics/FetchReach-v4"))
def test_episodes_without_x64_are_close(id):
    """The place of the mocap body is rounded to 32 bits, which sliding and rolling objects amplify."""
    env, theirs, _, state = prepared(id, 0)
    actions = handling_actions(id, 0)[: 8 if "Slide" in id else 25]
    expected, played = play_reference(theirs, actions), play_ours(env, state, actions)
    assert not np.array_equal(played.physics, expected.physics)
    for name, values in expected.observation.items():
        assert played.observation[name].dtype == np.float32
        np.testing.assert_allclose(played.observation[name], values, atol=1e-4)


def test_actions_beyond_the_space_are_clipped():
    with jax.enable_x64(True):
        env, theirs, _, state = prepared("robotics/FetchPickAndPlace-v4", 1)
        actions = 3 * random_actions(env, 10)
        expected, played = play_reference(theirs, actions), play_ours(env, state, actions)
        assert np.abs(actions).max() > 1
        np.testing.assert_array_equal(played.physics, expected.physics)


@pytest.mark.parametrize("id", IDS)
def test_models_and_spaces_are_the_packages(id):
    env, theirs, first, _ = prepared(id, 0)
    for name in ("actuator_gainprm", "body_mass", "body_inertia", "body_pos", "dof_damping", "eq_data", "eq_solref",
                 "geom_friction", "geom_pos", "geom_size", "jnt_range", "mesh_vert", "qpos0", "site_pos"):  # fmt: skip
        np.testing.assert_array_equal(getattr(env.model.mjmodel, name), getattr(theirs.model, name), name)
    assert env.dt == pytest.approx(theirs.dt) and env.render_fps == 25
    np.testing.assert_array_equal(env.action_space.low, theirs.action_space.low)
    assert env.action_space.shape == theirs.action_space.shape and len(env.action_names) == 4
    assert env.observation_space.keys() == theirs.observation_space.spaces.keys() == first.keys()
    for name, space in theirs.observation_space.spaces.items():
        assert (env.observation_space[name].shape, env.observation_space[name].dtype) == (space.shape, space.dtype)


def test_ids_are_the_packages():
    known = {id for id in gymnasium.registry if id.startswith("Fetch") and id.endswith("-v4")}
    assert {id.partition("/")[2] for id in IDS} == known
    assert [id for id in IDS if id in funcenv.registry] == SPARSE


@pytest.mark.parametrize("reward_type", ["sparse", "dense"])
def test_rewards_of_many_goals_are_the_packages(reward_type):
    achieved, desired = np.random.default_rng(0).uniform(-0.04, 0.04, (2, 60, 3))
    with jax.enable_x64(True):
        env, theirs = FetchReach(reward_type=reward_type), reference("robotics/FetchReach-v4", reward_type=reward_type)
        found, expected = env.compute_reward(achieved, desired, {}), theirs.compute_reward(achieved, desired, {})
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert found.shape == (60,) and not env.compute_terminated(achieved, desired, {}).any()
        success = env.is_success(achieved, desired)
        np.testing.assert_array_equal(success, theirs._is_success(achieved, desired))
        assert success.any() and not success.all()


def test_the_stateful_interface_has_the_functions_of_goals():
    """They are called as replay buffers of other libraries call them, with a list of what `step` told."""
    env = funcenv.adapters.make("robotics/FetchReach-v4")
    observation, _ = env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(env.action_space.sample())
    goals = observation["achieved_goal"], observation["desired_goal"]
    assert env.unwrapped.compute_reward(*goals, info) == reward
    assert env.unwrapped.compute_terminated(*goals, info) == terminated
    both = [np.stack([goal, goals[0]]) for goal in goals]
    infos = np.array([info, info])
    np.testing.assert_array_equal(env.unwrapped.compute_reward(*both, infos), [reward, 0.0])
    assert not env.unwrapped.compute_terminated(*both, infos).any()


def test_at_the_threshold_a_goal_pays_but_is_no_success():
    env = FetchReach(distance_threshold=0.25)
    goal = jnp.array([0.25, 0.0, 0.0])
    assert float(env.compute_reward(goal, jnp.zeros(3), {})) == 0.0 and not env.is_success(goal, jnp.zeros(3))


def test_angles_are_the_packages():
    from gymnasium_robotics.utils.rotations import mat2euler

    turns = scipy.spatial.transform.Rotation.random(100, random_state=0).as_matrix()
    upright = np.array([[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]])  # a quarter turn: two angles coincide
    with jax.enable_x64(True):
        for turn in np.concatenate([turns, upright, np.eye(3)[None]]):
            found = fetch_task._euler_angles(jnp.asarray(turn))
            np.testing.assert_allclose(found, mat2euler(turn), atol=1e-14)


@pytest.mark.dear
def test_a_batch_lives_as_each_environment_alone():
    env = funcenv.make("robotics/FetchPush-v4")
    together, alone = (funcenv.FuncVectorEnv(env, num_envs=num) for num in (5, 1))
    keys = jax.random.split(funcenv.key(3), 5)
    actions = random_actions(env, 6)

    def play(venv, keys):
        vstate, _ = jax.jit(venv.reset)(keys)
        for action in actions:
            vstate, timestep = jax.jit(venv.step)(vstate, jnp.tile(action, (len(keys), 1)))
        return timestep.observation

    whole = play(together, keys)
    for number in (0, 4):
        for name, values in play(alone, keys[number : number + 1]).items():
            np.testing.assert_array_equal(values[0], whole[name][number])


@pytest.mark.parametrize(
    "kwargs, match",
    [
        ({"distance_threshold": 0.0}, "distance_threshold must be"),
        ({"reward_type": "none"}, "reward_type must be one of sparse, dense, got .none."),
        ({"backend": "mjx"}, 'does not run with backend="mjx": MJX has no margins .*; use backend="c"'),
    ],
)
def test_bad_input_is_named(kwargs, match):
    for kind in (FetchReach, FetchPush):
        with pytest.raises(ValueError, match=match):
            kind(**kwargs)


def test_mjx_lacks_what_the_message_says():
    from funcenv.envs.mujoco import mjx

    with pytest.raises(ValueError, match=r"mjGEOM_PLANE.*mjGEOM_MESH.*margin"):
        mjx.require_simulable(FetchReach().source)


@pytest.mark.parametrize("id", rotating("robotics/FetchPush-v4"))
def test_scenes_show_the_goal_where_it_is(id):
    env = ours(id)
    state = jax.jit(env.initial)(funcenv.key(0))
    draw = jax.jit(lambda state: funcenv.scene.rasterize(env.scene(state), 90, 120))
    image = draw(state)
    higher = draw(state.replace(variables=state.variables + jnp.array([0.0, 0.0, 0.2])))
    assert image.shape == (90, 120, 3) and len(np.unique(image.reshape(-1, 3), axis=0)) > 20
    is_green = []
    for one in (image, higher):
        red, green, blue = np.moveaxis(np.asarray(one, int), -1, 0)
        is_green.append(np.argwhere((green > red + 30) & (green > blue + 20)))
    assert is_green[1][:, 0].min() < is_green[0][:, 0].min()
    target = env.model.mjmodel.site("target0").id
    place = env.drawn_changes(state)["site_pos"][target] + env.model.mjmodel.body("floor0").pos
    np.testing.assert_allclose(place, state.variables, rtol=1e-6)

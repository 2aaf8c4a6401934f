"""Mazes against Gymnasium-Robotics': the same state and the same actions give the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import funcenv
from funcenv.envs import AntMaze, PointMaze
from funcenv.envs.robotics import assets
from funcenv.envs.robotics.maze_task import MazeGoal
from tests.support.frames import center_of, find_color
from tests.support.robotics import (
    ids,
    ours,
    play_ours,
    play_reference,
    random_actions,
    reference,
    robotics,
    state_of,
)

IDS = ids("PointMaze", "AntMaze")
FIRST = "robotics/PointMaze_UMaze-v3", "robotics/AntMaze_UMazeDense-v5", "robotics/PointMaze_LargeDense-v3"
CASES = [pytest.param(id, marks=() if id in FIRST else pytest.mark.exhaustive) for id in IDS]
TERMS = ("distance_from_origin", "reward_ctrl", "reward_contact")  # sums, in another order


def variables(env, place):
    return MazeGoal(place=jnp.asarray(place), is_passed=jnp.zeros((), bool))


def assert_same(found, expected, env):
    np.testing.assert_array_equal(found.physics, expected.physics)
    assert found.observation.keys() == expected.observation.keys()
    for name, values in expected.observation.items():
        assert found.observation[name].dtype == np.float64
        np.testing.assert_array_equal(found.observation[name], values, err_msg=name)
    exactly = env.reward_type == "sparse"
    np.testing.assert_allclose(found.reward, expected.reward, rtol=0 if exactly else 1e-12, atol=0)
    np.testing.assert_array_equal(found.terminated, expected.terminated)
    assert found.info.keys() == expected.info.keys() | {"is_success"}
    np.testing.assert_array_equal(found.info["is_success"], expected.info["success"])
    for name, values in expected.info.items():
        tolerance = {"rtol": 1e-6, "atol": 1e-15} if name in TERMS else {"rtol": 0, "atol": 0}
        np.testing.assert_allclose(found.info[name], values, **tolerance, err_msg=name)


@pytest.mark.parametrize("id", CASES)
def test_whole_episodes_are_bit_equal(id):
    """Physics and observations are equal in every bit, rewards and flags too; success is seen and lost."""
    with jax.enable_x64(True):
        env, theirs = ours(id), reference(id)
        first, info = theirs.reset(seed=3)
        side = env.cell_side
        theirs.goal = first["achieved_goal"] + np.array([0.3, 0.1]) * side
        first["desired_goal"] = theirs.goal.copy()
        if isinstance(env, PointMaze):
            first["observation"][2:] = 6.0, -5.5  # the first step clips the velocity
            theirs.point_env.set_state(theirs.data.qpos, first["observation"][2:])
        state = state_of(env, theirs, variables(env, theirs.goal))
        seen = jax.jit(env.observation)(state, jax.random.key(0))
        for name, values in first.items():
            np.testing.assert_array_equal(seen[name], values, err_msg=name)
        actions = random_actions(env, funcenv.spec(id).max_episode_steps)
        expected = play_reference(theirs, actions)
        assert_same(play_ours(env, state, actions), expected, env)
        if isinstance(env, PointMaze):
            assert 0 < expected.info["success"].sum() < len(actions)
        else:
            assert np.abs(expected.observation["observation"][:, 27:]).max() == 1  # contact forces, clipped


def test_an_episode_ends_at_the_goal_if_the_task_does():
    with jax.enable_x64(True):
        for continuing in (True, False):
            id = "robotics/PointMaze_Open-v3"
            env, theirs = ours(id, continuing_task=continuing), reference(id, continuing_task=continuing)
            theirs.reset(seed=1, options={"reset_cell": np.array([2, 3]), "goal_cell": np.array([2, 5])})
            state = state_of(env, theirs, variables(env, theirs.goal))
            actions = np.tile(np.array([1.0, 0.0], np.float32), (100, 1))
            expected = play_reference(theirs, actions)
            assert_same(play_ours(env, state, actions), expected, env)
            assert expected.info["success"].any() and expected.terminated.any() != continuing


def test_physics_is_as_exact_without_x64():
    env, theirs = ours(FIRST[0]), reference(FIRST[0])
    theirs.reset(seed=0)
    state, actions = state_of(env, theirs, variables(env, theirs.goal)), random_actions(env, 100)
    expected, played = play_reference(theirs, actions), play_ours(env, state, actions)
    np.testing.assert_array_equal(played.physics, expected.physics)
    for name, values in expected.observation.items():
        assert played.observation[name].dtype == np.float32
        np.testing.assert_allclose(played.observation[name], values, rtol=1e-6)


def test_the_goal_moves_on_after_a_success():
    """Rewards and observations of a success have the old goal; the next step begins with a new one, away from the ball.

    Whether the first state is a success does not count, as in the package, whose `reset` does not ask.
    """
    id = "robotics/PointMaze_Medium_Diverse_G-v3"
    env = ours(id, reset_target=True)
    starts = jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(0), 300))
    starts = starts.replace(variables=MazeGoal(place=starts.qpos[:, :2] + 0.1, is_passed=jnp.zeros(300, bool)))
    step = jax.jit(jax.vmap(lambda state, key: env.step(state, jnp.zeros(2), key)))
    states, first = step(starts, jax.random.split(funcenv.key(1), 300))
    assert (first.reward == 1).all() and not first.terminated.any()
    np.testing.assert_array_equal(first.observation["desired_goal"], starts.variables.place)
    states, second = step(states, jax.random.split(funcenv.key(2), 300))
    goals = second.observation["desired_goal"]
    assert (np.linalg.norm(goals - second.observation["achieved_goal"], axis=1) > 0.45).all()
    assert (second.reward == 0).all()
    theirs, expected = reference(id, reset_target=True), []
    theirs.reset(seed=0)
    for _ in range(300):
        theirs.goal = theirs.reset_pos + 0.1
        theirs.update_goal(theirs.reset_pos)
        expected.append(theirs.goal.copy())
    assert_same_law(goals, np.array(expected))
    _, third = step(states, jax.random.split(funcenv.key(3), 300))
    np.testing.assert_array_equal(third.observation["desired_goal"], goals)  # no success, no other goal


def assert_same_law(found, expected):
    """Kolmogorov and Smirnov's test of every column, at a level of 1e-3 for all of them together."""
    for one, other in zip(np.transpose(found), np.transpose(expected), strict=True):
        assert scipy.stats.ks_2samp(one, other).pvalue > 1e-3 / found.shape[1]


@pytest.mark.parametrize(
    "id, cells",
    [
        ("robotics/PointMaze_UMaze-v3", {}),
        ("robotics/PointMaze_Large_Diverse_G-v3", {}),
        ("robotics/AntMaze_Medium_Diverse_GR-v5", {}),
        ("robotics/PointMaze_Medium-v3", {"goal_cell": [1, 2]}),
        ("robotics/PointMaze_Medium-v3", {"goal_cell": [1, 2], "reset_cell": [1, 2]}),
    ],
)
def test_first_states_are_distributed_as_the_packages(id, cells):
    env, theirs, expected = ours(id, **cells), reference(id), []
    theirs.reset(seed=7)
    for _ in range(600):
        theirs.reset(options={name: np.array(cell) for name, cell in cells.items()} or None)
        expected.append(np.concatenate([theirs.reset_pos, theirs.goal, theirs.reset_pos - theirs.goal]))
    starts = jax.jit(jax.vmap(env.start))(jax.random.split(funcenv.key(5), 2000))
    place, goal = np.asarray(starts.qpos)[:, :2], np.asarray(starts.variables.place)
    assert_same_law(np.concatenate([place, goal, place - goal], axis=1), np.array(expected))


@pytest.mark.parametrize("id", IDS)
def test_mazes_models_and_spaces_are_the_packages(id):
    env, theirs = ours(id), reference(id)
    theirs.reset(seed=0)
    for name in ("actuator_gainprm", "actuator_ctrlrange", "body_inertia", "body_mass", "dof_damping", "geom_rgba",
                 "geom_contype", "geom_conaffinity", "geom_friction", "geom_margin", "geom_pos", "geom_size",
                 "geom_type", "jnt_range", "qpos0", "site_size"):  # fmt: skip
        np.testing.assert_array_equal(getattr(env.model.mjmodel, name), getattr(theirs.model, name), name)
    cells = {1: "#", 0: "."}
    assert env.maze_map == tuple("".join(cells.get(cell, str(cell)) for cell in row) for row in theirs.maze.maze_map)
    for found, expected in zip(
        env.places, (theirs.maze.unique_goal_locations, theirs.maze.unique_reset_locations), strict=True
    ):
        assert {tuple(place) for place in found} == {tuple(place) for place in expected}
    np.testing.assert_array_equal(env.action_space.low, theirs.action_space.low)
    assert env.action_space.shape == theirs.action_space.shape and len(env.action_names) == theirs.model.nu
    assert env.observation_space.keys() == theirs.observation_space.spaces.keys()
    for name, space in theirs.observation_space.spaces.items():
        assert (env.observation_space[name].shape, env.observation_space[name].dtype) == (space.shape, space.dtype)


def test_ids_and_limits_are_the_packages():
    import gymnasium

    known = {id: spec.max_episode_steps for id, spec in gymnasium.registry.items() if id.startswith(("Point", "AntM"))}
    newest = {id: limit for id, limit in known.items() if id.endswith("v5" if id.startswith("Ant") else "v3")}
    assert robotics.__version__ >= "1.4.2"
    assert {id.partition("/")[2]: funcenv.spec(id).max_episode_steps for id in IDS} == newest and len(IDS) == 40
    assert [id for id in IDS if id in funcenv.registry] == [
        "robotics/PointMaze_UMaze-v3",
        "robotics/AntMaze_UMaze-v5",
    ]


@pytest.mark.parametrize("reward_type", ["sparse", "dense"])
def test_rewards_of_many_goals_are_the_packages(reward_type):
    achieved, desired = np.random.default_rng(0).uniform(-1, 1, (2, 50, 2))
    with jax.enable_x64(True):
        env, theirs = PointMaze(reward_type=reward_type), reference(FIRST[0], reward_type=reward_type)
        found, expected = env.compute_reward(achieved, desired, {}), theirs.compute_reward(achieved, desired, {})
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert found.shape == (50,) and not env.compute_terminated(achieved, desired, {}).any()
        ends = env.replace(continuing_task=False).compute_terminated(achieved, desired, {})
        np.testing.assert_array_equal(ends, np.linalg.norm(achieved - desired, axis=1) <= 0.45)


def test_maps_of_ones_own_have_the_packages_places():
    rows = [[1, 1, 1, 1], [1, "g", 0, 1], [1, "r", "c", 1], [1, 1, 1, 1]]
    env, theirs = PointMaze(maze_map=rows), reference(FIRST[0], maze_map=rows)
    assert {tuple(place) for place in env.places.goals} == {tuple(place) for place in theirs.maze.unique_goal_locations}
    assert {tuple(one) for one in env.places.starts} == {tuple(one) for one in theirs.maze.unique_reset_locations}
    assert env == PointMaze(maze_map=["####", "#g.#", "#rc#", "####"])
    assert hash(jax.tree.structure(env)) == hash(jax.tree.structure(PointMaze(maze_map=tuple(map(tuple, rows)))))


@pytest.mark.parametrize(
    "kwargs, match",
    [
        ({"maze_map": "Umaze"}, "maze_map must be rows of cells, or one of UMaze, Open"),
        ({"maze_map": ["###", "#.", "###"]}, r"the rows of maze_map must have one length, got \[3, 2, 3\]"),
        ({"maze_map": [[1, 2], [0, 0]]}, 'a cell of maze_map must be 1 or "#".*got 2'),
        ({"maze_map": ["###", "#.#", "###"]}, "must have a place for a goal and another one for a start"),
        ({"maze_map": ["####", "#gc#", "####"]}, "must not be one for goals"),
        ({"goal_cell": (0, 0)}, r"goal_cell must be a cell of the maze without a wall, got \(0, 0\)"),
        ({"reset_cell": (9, 1)}, r"reset_cell must be a cell of the maze without a wall, got \(9, 1\)"),
        ({"reset_cell": 1.5}, "reset_cell must be a row and a column, two integers, got 1.5"),
        ({"reward_type": "spars"}, "reward_type must be"),
        ({"continuing_task": 2}, "continuing_task of .* must be True or False, got 2"),
    ],
)
def test_bad_input_is_named(kwargs, match):
    for kind in (PointMaze, AntMaze):
        with pytest.raises((ValueError, TypeError), match=match):
            kind(**kwargs)


def test_missing_models_name_the_extra(monkeypatch):
    monkeypatch.setattr(assets.importlib.util, "find_spec", lambda name: None)
    assets.assets_folder.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r'pip install "funcenv\[robotics\]"'):
        PointMaze(maze_map=["#####", "#r.g#", "#####"])
    assets.assets_folder.cache_clear()


def test_a_diverged_simulation_ends_the_episode():
    env = ours(FIRST[0])
    state, timestep = env.reset(funcenv.key(0))
    assert not timestep.info["unstable"]
    state = state.replace(unstable=jnp.ones((), bool))
    assert env.terminal(state) and env.compute_terminated(*2 * [state.qpos[:2]], env.state_info(state))


@pytest.mark.parametrize("id", FIRST[:2])
def test_scenes_show_the_maze_and_the_goal(id):
    env = ours(id)
    state = jax.jit(env.initial)(funcenv.key(0))
    scene = jax.jit(env.scene)(state)
    assert scene.camera.width == 5 * env.cell_side
    image = funcenv.scene.rasterize(scene, 100, 100)
    assert image.shape == (100, 100, 3) and len(np.unique(image.reshape(-1, 3), axis=0)) > 4
    target = env.model.mjmodel.site("target").id
    np.testing.assert_allclose(env.drawn_changes(state)["site_pos"][target, :2], state.variables.place, rtol=1e-6)


def test_the_ball_is_drawn_where_it_is():
    """The geom of the ball is transparent; its site shows it."""
    env = PointMaze()
    state = jax.jit(env.initial)(funcenv.key(0))
    frame = np.asarray(funcenv.scene.rasterize(jax.jit(env.scene)(state), 200, 200))
    place = center_of(find_color(frame, funcenv.scene.palette.ORANGE), env, state)
    np.testing.assert_allclose(place, state.qpos, atol=0.02)

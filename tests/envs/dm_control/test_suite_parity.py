"""The tasks against dm_control's: the same state and the same actions give the same numbers."""

import inspect

import jax
import mujoco
import numpy as np
import pytest
import scipy.stats

import funcenv
from tests.support.dm_control import (
    first_of_each_domain,
    ids,
    names,
    ours,
    play_ours,
    play_reference,
    random_actions,
    reference,
    start_of,
    state_of,
    suite,
    timesteps,
    variables,
)

# Entries of observations that are computed from MuJoCo's numbers, rather than copied or subtracted: NumPy's logarithms,
# roots and products of matrices differ from XLA's in the last bit.
COMPUTED = ("touch", "dist_to_target", "force_torque", "extremities", "target", "to_target", "ball_state")
COMPUTED += ("target_position", "arm_pos", "torso_com_velocity", "origin", "rangefinder")
MODEL_FIELDS = (
    "actuator_gainprm",
    "body_inertia",
    "body_mass",
    "body_pos",
    "dof_armature",
    "dof_damping",
    "geom_friction",
)
MODEL_FIELDS += ("geom_rbound", "geom_size", "jnt_range", "jnt_stiffness", "sensor_type", "site_size")
FIRST = first_of_each_domain()
CASES = [
    pytest.param(id, seed, marks=() if id in FIRST and seed == 0 else pytest.mark.exhaustive)
    for id in ids()
    for seed in range(3)
]


@pytest.mark.parametrize("id, seed", CASES)
def test_whole_episodes_are_bit_equal(id, seed):
    """Physics is equal in every bit, observations in every float64, and rewards to 1e-12, in all of 1,000 steps."""
    with jax.enable_x64(True):
        env, theirs = ours(id, seed), reference(id, seed)
        first = theirs.reset()
        state = state_of(id, env, theirs.physics)
        if not env.num_settling:  # what is observed first follows from the start
            seen = jax.jit(env.observation)(state, jax.random.key(0))
            assert_same(seen, first.observation)
        actions = random_actions(env, 1000, seed)
        expected = play_reference(theirs, actions)
        assert len(expected.reward) == 1000
        assert funcenv.spec(id).max_episode_steps == (None if names(id)[0] == "lqr" else 1000)
        played = play_ours(env, state, actions)
        np.testing.assert_array_equal(played.physics, expected.physics)
        assert_same(played.observation, expected.observation)
        np.testing.assert_allclose(played.reward, expected.reward, rtol=1e-12, atol=1e-12)


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        found_values = np.asarray(found[name])
        assert found_values.dtype == np.float64 and found_values.shape == np.shape(values)
        if name in COMPUTED:
            np.testing.assert_allclose(found_values, values, rtol=2e-15, atol=2e-15, err_msg=name)
        else:
            np.testing.assert_array_equal(found_values, values, err_msg=name)


NARROW = ["walker-run", "reacher-hard", "dog-stand", "stacker-stack_2"]


@pytest.mark.parametrize("id", [f"dm_control/{name}-v0" for name in NARROW])
def test_physics_is_as_exact_without_x64(id):
    env, theirs = ours(id), reference(id)
    theirs.reset()
    state, actions = state_of(id, env, theirs.physics), random_actions(env, 100)
    expected, played = play_reference(theirs, actions), play_ours(env, state, actions)
    np.testing.assert_array_equal(played.physics, expected.physics)
    for name, values in expected.observation.items():
        assert played.observation[name].dtype == np.float32
        np.testing.assert_allclose(played.observation[name], values, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(played.reward, expected.reward, rtol=1e-5, atol=1e-5)


def test_a_cheetah_settles_as_dm_control_lets_it():
    """The first of 200 steps has the inertias of the model's own pose, as in `initialize_episode`."""
    with jax.enable_x64(True):
        env, theirs = ours("dm_control/cheetah-run-v0"), reference("dm_control/cheetah-run-v0", 3)
        random = np.random.RandomState(3)
        limited = theirs.physics.model.jnt_limited == 1
        qpos = env.model.init_qpos.copy()
        qpos[limited] = random.uniform(*theirs.physics.model.jnt_range[limited].T)
        first = theirs.reset()
        state = jax.jit(env.state_at)(start_of("dm_control/cheetah-run-v0", env, theirs.physics).replace(
            qpos=qpos, qvel=np.zeros(9)))  # fmt: skip
        np.testing.assert_array_equal(state.qpos, theirs.physics.data.qpos)
        np.testing.assert_array_equal(state.qvel, theirs.physics.data.qvel)
        assert_same(env.observation(state, jax.random.key(0)), first.observation)


@pytest.mark.parametrize("id", ids())
def test_models_and_spaces_are_dm_controls(id):
    env, theirs = ours(id), reference(id)
    first = theirs.reset()
    drawn = variables(id, theirs.physics)
    with jax.enable_x64(True):
        changes = {} if drawn is None else env.model_changes(drawn)
    for name in MODEL_FIELDS:
        values = changes.get(name, getattr(env.model.mjmodel, name))
        np.testing.assert_array_equal(values, getattr(theirs.physics.model, name), name)
    assert env.dt == pytest.approx(theirs.control_timestep(), rel=1e-12)
    bounds = theirs.action_spec()
    for found, bound in ((env.action_space.low, bounds.minimum), (env.action_space.high, bounds.maximum)):
        unbounded = np.abs(bound) >= mujoco.mjMAXVAL
        np.testing.assert_array_equal(found, np.where(unbounded, np.copysign(np.inf, bound), bound.astype(np.float32)))
    assert list(env.observation_space.keys()) == list(first.observation)
    for name, values in first.observation.items():
        assert env.observation_space[name].shape == np.shape(values), name
    flat = env.replace(flat_observation=True)
    assert flat.observation_space.shape == (sum(np.size(values) for values in first.observation.values()),)
    assert env.action_names and isinstance(theirs.physics.model.ptr, mujoco.MjModel)


@pytest.mark.parametrize("id", ["dm_control/finger-turn_easy-v0", "dm_control/walker-stand-v0"])
def test_the_flat_observation_has_the_entries_in_their_order(id):
    env = ours(id)
    state, timestep = funcenv.wrappers.FlattenObservation(env).reset(funcenv.key(0))
    entries, key = env.observation(state, jax.random.key(0)), jax.random.key(0)
    expected = np.concatenate([np.ravel(entries[name]) for name in env.observation_space])
    np.testing.assert_array_equal(env.replace(flat_observation=True).observation(state, key), expected)
    np.testing.assert_allclose(timestep.observation, expected, rtol=1e-6)


LAWS = [*FIRST, "dm_control/cartpole-swingup-v0", "dm_control/cartpole-two_poles-v0", "dm_control/point_mass-hard-v0"]
LAWS += ["dm_control/finger-turn_easy-v0", "dm_control/quadruped-fetch-v0", "dm_control/quadruped-escape-v0"]
LAWS += ["dm_control/dog-fetch-v0", "dm_control/manipulator-insert_peg-v0", "dm_control/stacker-stack_4-v0"]
DEAR = ("humanoid_CMU", "quadruped")


@pytest.mark.parametrize(
    "id",
    [
        pytest.param(id, marks=() if id in FIRST and names(id)[0] not in DEAR else pytest.mark.exhaustive)
        for id in dict.fromkeys(LAWS)
    ],
)
def test_first_states_are_distributed_as_dm_controls(id):
    """Kolmogorov and Smirnov's test of every number, at a level of 1e-3 for all of them together."""
    env, theirs = ours(id), reference(id, 5)
    expected = []
    is_dear = names(id)[0] in DEAR
    for _ in range(120 if is_dear else 400):
        theirs.reset()
        drawn = variables(id, theirs.physics)
        data = theirs.physics.data
        expected.append(np.concatenate([data.qpos, data.qvel, data.act, [] if drawn is None else np.ravel(drawn)]))
    states = jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(5), 250 if is_dear else 1000))
    drawn = [] if variables(id, theirs.physics) is None else [states.variables.reshape(len(states.qpos), -1)]
    acts = [states.outputs["act"]] if "act" in states.outputs else []
    found = np.concatenate([states.qpos, states.qvel, *acts, *drawn], axis=1)
    assert not states.unstable.any()
    rounded = (np.round(np.float64(numbers).T, 6) for numbers in (found, expected))  # choices are of 32 or 64 bits
    for one, other in zip(*rounded, strict=True):
        if np.ptp(other) == 0:
            np.testing.assert_allclose(one, other[0], atol=1e-6)
        else:
            assert scipy.stats.ks_2samp(one, other).pvalue > 1e-3 / found.shape[1]


FREE = ["ball_in_cup-catch", "humanoid-stand", "manipulator-insert_peg", "stacker-stack_4"]


@pytest.mark.parametrize("id", [f"dm_control/{name}-v0" for name in FREE])
def test_no_episode_begins_with_a_contact(id):
    env = ours(id)
    states = jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(2), 200))
    changes = jax.vmap(env.model_changes)(states.variables) if states.variables is not None else {}
    model, contacts = env.model.mjmodel.__copy__(), []
    data = mujoco.MjData(model)
    for number, qpos in enumerate(np.asarray(states.qpos, np.float64)):
        for name, values in changes.items():
            getattr(model, name)[:] = values[number]
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        contacts.append(data.ncon)
    assert sum(contacts) <= 1  # positions of 32 bits may touch where those of 64 bits do not


@pytest.mark.parametrize("size, is_over", [(0.9e-6, True), (1.1e-6, False)])
def test_an_lqr_episode_ends_at_rest(size, is_over):
    id = "dm_control/lqr-lqr_6_2-v0"
    env, theirs = ours(id), reference(id)
    theirs.reset()
    theirs.physics.data.qpos[:], theirs.physics.data.qvel[:] = size * 0.6 / np.sqrt(6), size * 0.8 / np.sqrt(6)
    assert theirs.task.get_termination(theirs.physics) == (0.0 if is_over else None)
    state = env.state_at(start_of(id, env, theirs.physics))
    assert env.terminal(state) == is_over and not state.unstable


@pytest.mark.parametrize("name", ["pendulum-swingup", pytest.param("acrobot-swingup", marks=pytest.mark.exhaustive)])
def test_mjx_simulates_models_that_ask_for_energies(name):
    """Both backends agree to 1e-9 for 10 steps in 64 bits."""
    with jax.enable_x64(True):
        library, mjx = (ours(f"dm_control/{name}-v0", backend=backend) for backend in ("c", "mjx"))
        start, actions = library.start(jax.random.key(1)), random_actions(library, 10)
        expected, found = (timesteps(env, jax.jit(env.state_at)(start), actions) for env in (library, mjx))
        for values in ((expected.observation, found.observation), (expected.reward, found.reward)):
            jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9), *values)


def test_registered_tasks_are_dm_controls():
    known = {f"dm_control/{domain}-{task}-v0" for domain, task in suite.ALL_TASKS}
    assert set(ids()) == known
    for name in funcenv.envs.dm_control.__all__:
        assert "Observation:" in (inspect.getdoc(getattr(funcenv.envs, name)) or "")

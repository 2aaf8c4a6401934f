"""The eleven environments against Gymnasium's: the same state and the same actions give the same numbers."""

import dataclasses
import inspect

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import funcenv
from tests.support.mujoco import (
    NAMES,
    assert_same,
    ours,
    play_ours,
    play_reference,
    random_actions,
    reference,
    state_of,
)
from tests.support.parity import assert_same_mean

# Arguments that differ from the defaults, all that an environment has between them.
ARGUMENTS = {
    "Ant": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.25, "contact_cost_weight": 1e-3, "healthy_reward": 0.5,
            "main_body": "aux_1", "terminate_when_unhealthy": False, "healthy_z_range": (0.5, 0.9),
            "contact_force_range": (-0.5, 0.7), "exclude_current_positions_from_observation": False,
            "include_cfrc_ext_in_observation": False, "frame_skip": 2},
    "HalfCheetah": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3, "frame_skip": 3,
                    "exclude_current_positions_from_observation": False},
    "Hopper": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3, "healthy_reward": 0.5, "frame_skip": 3,
               "terminate_when_unhealthy": True, "healthy_state_range": (-2.0, 2.0), "healthy_z_range": (1.0, 1.3),
               "healthy_angle_range": (-0.1, 0.1), "exclude_current_positions_from_observation": False},
    "Humanoid": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3, "contact_cost_weight": 1e-3,
                 "contact_cost_range": (0.5, 2.0), "healthy_reward": 0.5, "terminate_when_unhealthy": False,
                 "healthy_z_range": (1.2, 1.3), "exclude_current_positions_from_observation": False, "frame_skip": 3,
                 "include_cinert_in_observation": False, "include_qfrc_actuator_in_observation": False},
    "HumanoidStandup": {"uph_cost_weight": 2.0, "ctrl_cost_weight": 0.3, "impact_cost_weight": 1e-3, "frame_skip": 3,
                        "impact_cost_range": (0.5, 2.0), "exclude_current_positions_from_observation": False,
                        "include_cvel_in_observation": False, "include_cfrc_ext_in_observation": False},
    "InvertedDoublePendulum": {"healthy_reward": 2.0, "frame_skip": 3},
    "InvertedPendulum": {"frame_skip": 3},
    "Pusher": {"reward_near_weight": 2.0, "reward_dist_weight": 3.0, "reward_control_weight": 0.5, "frame_skip": 3},
    "Reacher": {"reward_dist_weight": 3.0, "reward_control_weight": 0.5, "frame_skip": 3},
    "Swimmer": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3, "frame_skip": 3,
                "exclude_current_positions_from_observation": False},
    "Walker2d": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3, "healthy_reward": 0.5, "frame_skip": 3,
                 "terminate_when_unhealthy": True, "healthy_z_range": (1.1, 1.3), "healthy_angle_range": (-0.1, 0.1),
                 "exclude_current_positions_from_observation": False},
}  # fmt: skip
TOLERANCE = 3e-7  # of rewards and infos: Gymnasium computes the squares of float32 actions in float32


@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_steps_are_bit_equal(name):
    """Physics and float64 observations are equal in every bit, from the reset on, also after falls."""
    with jax.enable_x64(True):
        env, theirs = ours(name), reference(name)
        first, info = theirs.reset(seed=1)
        state = state_of(env, theirs)
        np.testing.assert_array_equal(jax.jit(env.observation)(state, jax.random.key(0)), first)
        assert jax.jit(env.state_info)(state).keys() == info.keys() | {"unstable"}
        actions = random_actions(theirs, 1000)
        played, expected = play_ours(env, state, actions), play_reference(theirs, actions)
        np.testing.assert_array_equal(played.observation, expected.observation)
        assert played.observation.dtype == np.float64
        assert_same(played, expected, TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_physics_is_as_exact_without_x64(name):
    env, theirs = ours(name), reference(name)
    theirs.reset(seed=2)
    state, actions = state_of(env, theirs), random_actions(theirs, 100)
    played, expected = play_ours(env, state, actions), play_reference(theirs, actions)
    assert played.observation.dtype == np.float32
    np.testing.assert_allclose(played.observation, expected.observation, rtol=1e-6, atol=1e-6)
    assert_same(played, expected, 3e-6)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_have_the_effect_that_they_have_there(name):
    with jax.enable_x64(True):
        env, theirs = ours(name, **ARGUMENTS[name]), reference(name, **ARGUMENTS[name])
        assert env.observation_space.shape == theirs.observation_space.shape
        assert env.dt == theirs.dt
        theirs.reset(seed=3)
        state, actions = state_of(env, theirs), random_actions(theirs, 60)
        played, expected = play_ours(env, state, actions), play_reference(theirs, actions)
        np.testing.assert_array_equal(played.observation, expected.observation)
        assert_same(played, expected, TOLERANCE)
    if "terminate_when_unhealthy" not in ARGUMENTS[name] or not ARGUMENTS[name]["terminate_when_unhealthy"]:
        return
    assert 0 < expected.terminated.sum() < len(actions)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_and_their_defaults_are_gymnasiums(name):
    env, theirs = ours(name), reference(name)
    for parameter in inspect.signature(type(theirs).__init__).parameters.values():
        if parameter.name in ("self", "kwargs"):
            continue
        if parameter.name == "default_camera_config":
            config = {
                key: tuple(value) if np.ndim(value) else value for key, value in (parameter.default or {}).items()
            }
            assert dict(env.default_camera_config or ()) == config
            continue
        assert getattr(env, parameter.name) == parameter.default, parameter.name
    for name in ("width", "height", "camera_id", "camera_name", "max_geom", "visual_options"):
        assert name in {entry.name for entry in dataclasses.fields(env)}
    assert env.render_fps == theirs.metadata["render_fps"]


@pytest.mark.parametrize("name", NAMES)
def test_spec_and_spaces_are_gymnasiums(name):
    spec, expected = funcenv.spec(f"{name}-v5"), gymnasium.spec(f"{name}-v5")
    assert (spec.max_episode_steps, spec.reward_threshold) == (expected.max_episode_steps, expected.reward_threshold)
    env, theirs = ours(name), reference(name)
    for space, other in (env.observation_space, theirs.observation_space), (env.action_space, theirs.action_space):
        assert repr(space) == repr(other)
        np.testing.assert_array_equal(space.low, other.low)


@pytest.mark.parametrize("name", NAMES)
def test_first_states_are_distributed_as_gymnasiums(name):
    """Kolmogorov and Smirnov's test of every joint, at a level of 1e-3 for all of them together."""
    env, theirs = ours(name), reference(name)
    expected = []
    for seed in range(400):
        theirs.reset(seed=seed)
        expected.append(np.concatenate([theirs.data.qpos, theirs.data.qvel]))
    qpos, qvel = jax.jit(jax.vmap(env.start))(jax.random.split(funcenv.key(5), 2000))
    found = np.concatenate([qpos, qvel], axis=1)
    for one, other in zip(found.T, np.transpose(expected), strict=True):
        if np.ptp(other) == 0:
            np.testing.assert_allclose(one, other[0], atol=1e-7)
        else:
            assert scipy.stats.ks_2samp(one, other).pvalue > 1e-3 / found.shape[1]


@pytest.mark.parametrize("name", NAMES)
def test_random_policies_earn_the_same(name):
    """The returns of at most 40 steps have the same mean, within three standard errors."""
    num_episodes, num_steps = 60, 40
    env = funcenv.wrappers.TimeLimit(ours(name), num_steps)
    played = funcenv.evaluate(env, funcenv.random_policy(env), num_episodes, funcenv.key(3))
    theirs, returns = reference(name), []
    for seed in range(num_episodes):
        theirs.reset(seed=seed)
        total = 0.0
        for action in random_actions(theirs, num_steps, seed):
            _, reward, terminated, _, _ = theirs.step(action)
            total += reward
            if terminated:
                break
        returns.append(total)
    assert_same_mean(played.episode_return, np.array(returns))


def terminal_at(env, index, values):
    """Return `terminal` of states whose qpos has these values at an index."""
    state = jax.jit(env.initial)(funcenv.key(0))
    states = [state.replace(qpos=state.qpos.at[index].set(value)) for value in values]
    return [bool(env.terminal(state)) for state in states]


@pytest.mark.parametrize(
    "name, index, inside, outside",
    [
        ("Ant", 2, [0.2, 1.0], [np.nextafter(np.float32(0.2), 0), np.nextafter(np.float32(1), 2), np.nan]),
        ("Hopper", 1, [np.nextafter(np.float32(0.7), 1)], [0.7, np.inf]),
        ("Hopper", 2, [np.nextafter(np.float32(0.2), 0)], [0.2, -0.2]),
        ("Hopper", 5, [99.9], [100.0, -100.0, np.nan]),
        ("Humanoid", 2, [np.nextafter(np.float32(1), 2), np.nextafter(np.float32(2), 0)], [1.0, 2.0, np.nan]),
        ("InvertedPendulum", 1, [0.2, -0.2], [np.nextafter(np.float32(0.2), 1)]),
        ("Walker2d", 1, [np.nextafter(np.float32(0.8), 1)], [0.8, 2.0]),
        ("Walker2d", 2, [np.nextafter(np.float32(1), 0)], [1.0, -1.0]),
    ],
)
def test_both_sides_of_every_boundary(name, index, inside, outside):
    env = ours(name)
    assert terminal_at(env, index, inside) == [False] * len(inside)
    assert terminal_at(env, index, outside) == [True] * len(outside)


@pytest.mark.parametrize("height, ended", [(1.0, True), (np.nextafter(np.float32(1), 2), False)])
def test_the_double_pendulum_ends_at_a_height_of_one(height, ended):
    env = ours("InvertedDoublePendulum")
    state = jax.jit(env.initial)(funcenv.key(0))
    outputs = {**state.outputs, "site_xpos": jnp.array([[0.0, 0.0, height]], jnp.float32)}
    assert bool(env.terminal(state.replace(outputs=outputs))) is ended

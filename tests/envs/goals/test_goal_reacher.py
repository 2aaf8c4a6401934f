"""Goal Reacher: its motion by hand and by closed form, its goals, and the edge of its threshold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import GoalReacher
from funcenv.envs.goals.goal_reacher import DT, GoalReacherState


def state_at(shoulder=0.0, elbow=0.0, speeds=(0.0, 0.0), goal=(0.0, 0.0)):
    return GoalReacherState(*jnp.asarray([shoulder, elbow, *speeds], jnp.float32), jnp.asarray(goal, jnp.float32))


def test_speeds_follow_the_closed_form_of_constant_actions():
    env, state = GoalReacher(), state_at(speeds=(1.0, -2.0))
    for _ in range(7):
        state = env.transition(state, jnp.array([0.5, -3.0]), funcenv.key(0))
    decay, final = (1 - DT * 2.0) ** 7, np.array([0.5, -1.0]) * 8.0 / 2.0
    expected = final + decay * (np.array([1.0, -2.0]) - final)
    np.testing.assert_allclose([state.shoulder_speed, state.elbow_speed], expected, rtol=1e-5)


def test_the_tip_by_hand():
    env = GoalReacher()
    for shoulder, elbow, tip in [(0, 0, (1, 0)), (np.pi / 2, -np.pi / 2, (0.5, 0.5)), (1, np.pi, (0, 0))]:
        np.testing.assert_allclose(env.achieved_goal(state_at(shoulder, elbow)), tip, atol=1e-6)


def test_mirrored_arms_move_alike():
    env, key = GoalReacher(), funcenv.key(0)
    state, action = state_at(0.3, 1.1, (0.5, -1.0)), jnp.array([0.7, -0.2])
    mirrored = jax.tree.map(jnp.negative, state)
    tip = env.achieved_goal(env.transition(state, action, key))
    other = env.achieved_goal(env.transition(mirrored, -action, key))
    np.testing.assert_allclose(tip, np.asarray(other) * [1, -1], rtol=1e-5)


@pytest.mark.parametrize(("distance", "reward"), [(0.0, 0), (0.0999, 0), (0.1001, -1), (2.0, -1)])
def test_both_sides_of_the_threshold(distance, reward):
    env = GoalReacher(distance_threshold=0.1)
    goal = jnp.array([1.0 - distance, 0.0])
    _, timestep = env.step(state_at(goal=goal), jnp.zeros(2), funcenv.key(0))
    assert timestep.reward == reward and timestep.info["is_success"] == (reward == 0)
    _, timestep = env.replace(reward_type="dense").step(state_at(goal=goal), jnp.zeros(2), funcenv.key(0))
    assert timestep.reward == pytest.approx(-distance, abs=1e-5)


def test_dense_rewards_have_gradients_at_the_goal():
    env = GoalReacher(reward_type="dense")
    gradient = jax.grad(lambda goal: env.compute_reward(jnp.zeros(2), goal, {}))(jnp.zeros(2))
    assert np.isfinite(gradient).all()


def test_starts_and_goals_are_spread_evenly():
    states = jax.vmap(GoalReacher().initial)(jax.random.split(funcenv.key(0), 4000))
    radius = np.linalg.norm(states.goal, axis=1)
    assert radius.max() <= 0.9 + 1e-6
    np.testing.assert_allclose(np.quantile(radius, [0.25, 0.5, 0.75]), 0.9 * np.sqrt([0.25, 0.5, 0.75]), atol=0.02)
    np.testing.assert_allclose(np.mean(states.goal, axis=0), 0, atol=0.03)
    for angle in states.shoulder, states.elbow:
        np.testing.assert_allclose(np.quantile(angle, [0.25, 0.5, 0.75]), np.pi * np.array([-0.5, 0, 0.5]), atol=0.2)


def test_a_controller_reaches_nearly_all_goals_within_the_limit():
    """It takes the damped pseudoinverse of the Jacobian, which autodiff of the tip gives."""
    env = GoalReacher()

    def act(state):
        tip = lambda angles: env.achieved_goal(state.replace(shoulder=angles[0], elbow=angles[1]))  # noqa: E731
        angles, speeds = jnp.stack([state.shoulder, state.elbow]), jnp.stack([state.shoulder_speed, state.elbow_speed])
        jacobian = jax.jacobian(tip)(angles)
        way = jnp.linalg.solve(jacobian @ jacobian.T + 0.01 * jnp.eye(2), state.goal - tip(angles))
        return 4 * jacobian.T @ way - speeds

    def episode(key):
        step = lambda state, _: (env.transition(state, act(state), key), None)  # noqa: E731
        state, _ = jax.lax.scan(step, env.initial(key), length=50)
        return env.state_info(state)["is_success"]

    assert jax.jit(jax.vmap(episode))(jax.random.split(funcenv.key(0), 200)).mean() > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"damping": 21.0}, "damping must not exceed 1 / time step, got damping=21.0"),
        ({"damping": 0.0}, "damping must be a finite number above 0"),
        ({"acceleration": -1.0}, "acceleration must be a finite number above 0"),
        ({"distance_threshold": np.nan}, "distance_threshold must be a finite number above 0"),
        ({"reward_type": "dens"}, "reward_type must be .*sparse.*dense"),
    ],
)
def test_refuses_impossible_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        GoalReacher(**parameters)

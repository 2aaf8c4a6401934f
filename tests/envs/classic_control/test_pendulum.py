"""Pendulum against Gymnasium's `PendulumEnv`, and against the conservation of energy."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control.pendulum import PendulumEnv

import funcenv
from funcenv.envs import Pendulum, PendulumState
from tests.support import parity

VARIANT = {"g": 3.7, "m": 0.6, "l": 1.7, "dt": 0.02, "max_speed": 5.0, "max_torque": 3.0}


def around(value):
    return parity.around(value, signs=(1, -1))


def cases(seed=0):
    """10,000 random states, and every wrap, speed limit and torque limit with its neighbours; with actions."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (10_000, 2)) * [3 * np.pi, 8.5]
    actions = rng.uniform(-3, 3, (10_000, 1))
    angles = [0, 100.0, *(angle for turns in (1, 2, 3) for angle in around(turns * np.pi))]
    edges = np.array(list(itertools.product(angles, [0, *around(8.0)], [0, 1e3, -1e3, *around(2.0)])))
    return np.concatenate([rows, edges[:, :2]]), np.concatenate([actions, edges[:, 2:]])


def reference(**parameters):
    """Gymnasium's environment with other constants."""
    return parity.with_constants(PendulumEnv(), **parameters)


@pytest.mark.parametrize("parameters", [{}, VARIANT], ids=["default", "variant"])
def test_a_step_from_any_state_is_gymnasiums(parameters):
    parity.assert_steps_are_gymnasiums(Pendulum(**parameters), reference(**parameters), *cases())


def test_a_step_in_float32_is_gymnasiums():
    rows, actions = cases(1)
    parity.assert_steps_are_gymnasiums(Pendulum(), PendulumEnv(), rows[:10_000], actions[:10_000], x64=False)


def test_200_steps_are_gymnasiums():
    rng = np.random.default_rng(2)
    rows, actions = rng.uniform(-1, 1, (20, 2)) * [np.pi, 1], rng.uniform(-2, 2, (200, 20, 1))
    parity.assert_plays_are_gymnasiums(Pendulum(), PendulumEnv(), rows, actions)


def test_spaces_and_limits_are_gymnasiums():
    parity.assert_same_spec("Pendulum-v1", Pendulum(), PendulumEnv())
    assert isinstance(funcenv.make("Pendulum-v1").unwrapped, Pendulum)


@pytest.mark.parametrize("bounds", [{}, {"x_init": 0.3, "y_init": 2.5}, {"x_init": 1.0}], ids=str)
def test_initial_states_are_uniform(bounds):
    rows = parity.initial_rows(Pendulum(**bounds))
    angle, speed = bounds.get("x_init", np.pi), bounds.get("y_init", 1.0)
    parity.assert_uniform(rows[:, 0], -angle, angle)
    parity.assert_uniform(rows[:, 1], -speed, speed)
    parity.assert_independent(rows[:, :2])


def test_an_initial_range_may_be_empty():
    assert not parity.initial_rows(Pendulum(x_init=0.0, y_init=0.0), 5).any()


def test_random_play_earns_what_it_does_in_gymnasium():
    rng = np.random.default_rng(3)
    theirs = PendulumEnv()  # its step works on columns of states
    theirs.state = rng.uniform(-1, 1, (2, 10_000)) * np.array([[np.pi], [1.0]])
    returns = sum(theirs.step(rng.uniform(-2, 2, (1, 10_000)))[1] for _ in range(200))
    parity.assert_same_mean(parity.random_returns("Pendulum-v1"), returns)


def test_energy_of_the_free_pendulum_errs_in_proportion_to_the_time_step():
    # The semi-implicit Euler method is of first order, and symplectic: the error does not grow with time.
    def worst_errors(dt, duration=20.0):
        steps = round(duration / dt)
        states = parity.play(Pendulum(dt=dt), np.array([[1.0, 0.0], [2.5, -1.0]]), np.zeros((steps, 2, 1)))
        theta, theta_dot = np.moveaxis(states, -1, 0)
        assert np.abs(theta_dot).max() < 8  # never clipped
        energy = theta_dot**2 / 6 + 10.0 / 2 * np.cos(theta)  # m = l = 1: inertia 1/3, centre of mass at 1/2
        error = np.abs(energy - energy[0])
        return error[: steps // 2].max(axis=0), error.max(axis=0)

    early, ever = worst_errors(0.004)
    np.testing.assert_allclose(ever, early, rtol=0.02)
    np.testing.assert_allclose(ever / worst_errors(0.002)[1], 2.0, rtol=0.02)


def test_the_mirror_image_of_a_step_is_the_step_of_the_mirror_image():
    rows, actions = cases(4)
    steps, mirrored = parity.assert_mirrored(Pendulum(), rows, actions, -actions)
    parity.assert_close(steps.reward, mirrored.reward, 1e-12)


def test_the_worst_reward_is_the_documented_one():
    steps = parity.step(Pendulum(), np.array([[np.pi, 8.0], [0.0, 0.0]]), np.array([[9.0], [0.0]]))
    np.testing.assert_allclose(steps.reward, [-16.2736044, 0.0], atol=1e-7)


def test_a_torque_beyond_the_limits_acts_as_the_limit():
    rows = np.tile([0.4, -0.3], (2, 1))
    clipped = parity.step(Pendulum(), rows, np.array([[2.0], [-2.0]]))
    for excess in (2.5, np.inf):
        beyond = parity.step(Pendulum(), rows, np.array([[excess], [-excess]]))
        np.testing.assert_array_equal(beyond.state, clipped.state)
        np.testing.assert_array_equal(beyond.reward, clipped.reward)


@pytest.mark.parametrize("x64", [False, True])
def test_the_state_keeps_the_torque_that_acted(x64):
    env = Pendulum(max_torque=1.5)
    with parity.precision(x64):
        state = env.initial(funcenv.key(0))
        assert state.torque == 0
        for action, acted in ((1.0, 1.0), (-9.0, -1.5), (0.0, 0.0)):
            next_state = env.transition(state, jnp.array([action], jnp.float32), funcenv.key(0))
            assert next_state.torque == acted
            assert next_state.torque.dtype == state.torque.dtype == state.theta.dtype
        assert PendulumState(state.theta, state.theta_dot).torque == 0


def test_gradients_are_finite():
    rows, actions = map(parity.single, cases(5))
    parity.assert_gradients_finite(Pendulum(), rows[-1200:], actions[-1200:])


def test_parameters_batch():
    parity.assert_parameters_batch(Pendulum(), np.array([7.9, 0.3]), [1.9])


def test_observations_stay_inside_their_space():
    theta = np.linspace(-20, 20, 10_000)
    steps = parity.step(Pendulum(), np.stack([theta, 9 * np.sin(theta)], axis=1), np.zeros((10_000, 1)), x64=False)
    high = Pendulum().observation_space.high
    assert (np.abs(steps.observation) <= high).all()


@pytest.mark.parametrize("name", ["m", "l", "dt", "max_speed", "max_torque"])
def test_impossible_constants_are_refused(name):
    parity.assert_positive(Pendulum, name)


@pytest.mark.parametrize("name", ["x_init", "y_init"])
def test_negative_initial_ranges_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 0, got -0.1; it is the half-width of a range"):
        Pendulum(**{name: -0.1})

"""Acrobot against Gymnasium's `AcrobotEnv`, and against the conservation of energy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from gymnasium.envs.classic_control.acrobot import AcrobotEnv

import funcenv
from funcenv.envs import Acrobot, AcrobotState
from tests.support import parity

VARIANT = {
    "dt": 0.1,
    "link_length_1": 0.8,
    "link_mass_1": 1.5,
    "link_mass_2": 0.6,
    "link_com_pos_1": 0.3,
    "link_com_pos_2": 0.7,
    "link_moi": 0.4,
    "max_vel_1": 5.0,
    "max_vel_2": 7.0,
    "avail_torque": (-2.0, 0.5, 3.0),
}
SPEEDS = np.array([4 * np.pi, 9 * np.pi])


def around(value):
    return parity.around(value, signs=(1, -1))


def cases(seed=0, speeds=SPEEDS):
    """10,000 random states, and every wrap and speed limit with its neighbours; with actions."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (10_000, 4)) * [np.pi, np.pi, *speeds]
    angles = np.array(list(itertools.product([0, *around(np.pi)], [0, *around(np.pi)])))
    resting = np.concatenate([angles, np.zeros_like(angles)], axis=1)
    moving = list(itertools.product([0, np.pi], [0, -np.pi], [0, *around(SPEEDS[0])], [0, *around(SPEEDS[1])]))
    edges = np.concatenate([np.repeat(np.concatenate([resting, moving]), 3, axis=0)])
    return np.concatenate([rows, edges]), np.concatenate([rng.integers(0, 3, 10_000), np.arange(len(edges)) % 3])


def reference(**parameters):
    """Gymnasium's environment with other constants: there, their names are in capitals."""
    lower = ("dt", "book_or_nips", "torque_noise_max")
    return parity.with_constants(
        AcrobotEnv(), **{name if name in lower else name.upper(): value for name, value in parameters.items()}
    )


def vectorised_step(env, rows, torque):
    """Gymnasium's equations of motion for rows at once, with a Runge-Kutta method, wraps and limits around them."""

    def rates(rows):
        return np.array(env._dsdt([*rows.T, torque])[:4]).T

    k1 = rates(rows)
    k2 = rates(rows + env.dt / 2 * k1)
    k3 = rates(rows + env.dt / 2 * k2)
    k4 = rates(rows + env.dt * k3)
    rows = rows + env.dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    angles = np.arctan2(np.sin(rows[:, :2]), np.cos(rows[:, :2]))
    return np.concatenate([angles, np.clip(rows[:, 2:], -SPEEDS, SPEEDS)], axis=1)


@pytest.mark.parametrize("parameters", [{}, VARIANT, {"book_or_nips": "nips"}], ids=["default", "variant", "nips"])
def test_a_step_from_any_state_is_gymnasiums(parameters):
    expected = parity.assert_steps_are_gymnasiums(Acrobot(**parameters), reference(**parameters), *cases())
    assert 0.05 < expected.terminated.mean() < 0.5


def test_a_step_in_float32_is_gymnasiums():
    rows, actions = cases(1, speeds=[np.pi, 2 * np.pi])
    parity.assert_steps_are_gymnasiums(Acrobot(), AcrobotEnv(), rows[:10_000], actions[:10_000], x64=False)


def test_at_high_speed_a_step_in_float32_errs_as_much_as_the_rounding_of_its_start():
    # One step of 0.2 s turns the links by up to a whole turn, and magnifies any error a thousandfold.
    rows, actions = cases(1)
    rows, torque = parity.single(rows[:10_000]), actions[:10_000] - 1.0
    step = parity.step(Acrobot(), rows, actions[:10_000], x64=False).state
    env = AcrobotEnv()
    expected = vectorised_step(env, rows, torque)
    shifts = 2.0**-24 * np.maximum(1, np.abs(rows[:, None])) * np.eye(4)
    shaken = [vectorised_step(env, rows + shifts[:, i], torque) for i in range(4)]
    allowed = 2e-6 + 16 * sum(np.abs(turn(other - expected)) for other in shaken).max(axis=1)
    assert (np.abs(turn(step - expected)).max(axis=1) <= allowed * np.maximum(1, np.abs(expected).max(axis=1))).all()


def turn(difference):
    """Return a difference of states, with the angles modulo a whole turn."""
    angles = (difference[:, :2] + np.pi) % (2 * np.pi) - np.pi
    return np.concatenate([angles, difference[:, 2:]], axis=1)


def test_50_steps_are_gymnasiums():
    rng = np.random.default_rng(2)
    rows, actions = rng.uniform(-0.1, 0.1, (20, 4)), rng.integers(0, 3, (50, 20))
    parity.assert_plays_are_gymnasiums(Acrobot(), AcrobotEnv(), rows, actions)


def test_angles_wrap_however_often_and_speeds_are_clipped():
    env = Acrobot(dt=1e-9)  # so that a step does little else
    turns = np.arange(-5, 6) * 2 * np.pi
    rows = np.array([[0.3 + a, -0.4 + a, s, -s] for a in turns for s in (0.0, 100.0)])
    state = parity.step(env, rows, np.ones(len(rows), int)).state
    parity.assert_close(
        state, np.array([[0.3, -0.4, s1, s2] for _ in turns for s1, s2 in ((0, 0), SPEEDS * [1, -1])]), 1e-6
    )


def test_the_goal_is_higher_than_one_link():
    # Heights within a few roundings of 1: whatever differs from it by more than those of two cosines is decided alike.
    first = np.random.default_rng(3).uniform(np.pi / 2, 3 * np.pi / 2, 2000)
    second = np.arccos(-1 - np.cos(first)) - first
    second = second + np.tile(np.arange(-10, 10), 100) * 2e-16
    theirs, height = AcrobotEnv(), -np.cos(first) - np.cos(first + second)
    rows = np.stack([first, second, 0 * first, 0 * first], axis=1)
    expected = []
    for theirs.state in rows:
        expected.append(theirs._terminal())
    with parity.precision(True):
        states = AcrobotState(*(jnp.array(column) for column in (*rows.T, 0 * first)))
        ours = np.asarray(jax.vmap(Acrobot().terminal)(states))
    clear = np.abs(height - 1) > 5e-16
    assert 0.2 < clear.mean() < 1
    assert 0.2 < np.mean(expected) < 0.8
    np.testing.assert_array_equal(ours[clear], np.array(expected)[clear])


def test_spaces_and_limits_are_gymnasiums():
    parity.assert_same_spec("Acrobot-v1", Acrobot(), AcrobotEnv())
    assert isinstance(funcenv.make("Acrobot-v1").unwrapped, Acrobot)


@pytest.mark.parametrize("bounds", [{}, {"low": -0.2, "high": 0.7}], ids=["default", "options"])
def test_initial_states_are_uniform(bounds):
    rows = parity.initial_rows(Acrobot(**bounds))[:, :4]  # the torque is 0
    for column in rows.T:
        parity.assert_uniform(column, bounds.get("low", -0.1), bounds.get("high", 0.1))
    parity.assert_independent(rows)


@pytest.mark.dear
def test_random_play_earns_what_it_does_in_gymnasium():
    env, rng = AcrobotEnv(), np.random.default_rng(4)
    rows, returns = rng.uniform(-0.1, 0.1, (1500, 4)), np.full(1500, -500)
    alive = np.ones(1500, bool)
    for step in range(500):
        rows = vectorised_step(env, rows, rng.integers(-1, 2, 1500).astype(float))
        ended = alive & (-np.cos(rows[:, 0]) - np.cos(rows[:, 0] + rows[:, 1]) > 1)
        returns[ended] = -step  # the last step costs nothing
        alive &= ~ended
    parity.assert_same_mean(parity.random_returns("Acrobot-v1"), returns)


def test_the_vectorised_reference_is_gymnasium():
    rows, actions = cases(5)
    expected = parity.gymnasium_step(AcrobotEnv(), rows[:500], actions[:500]).state
    parity.assert_close(vectorised_step(AcrobotEnv(), rows[:500], actions[:500] - 1.0), expected, 1e-9)


def test_energy_of_the_free_acrobot_errs_with_the_fourth_power_of_the_time_step():
    start = np.array([[1.0, 0.5, 0.3, -0.2], [-2.0, 0.4, 0.0, 1.0]])

    def drift(dt, **parameters):
        env = Acrobot(dt=dt, link_mass_2=0.7, link_com_pos_2=0.6, gravity=5.0, link_moi=0.4, **parameters)
        states = parity.play(env, start, np.ones((round(4 / dt), 2), int))
        return np.abs([energy(env, rows) - energy(env, start) for rows in states]).max(axis=0)

    fine = drift(0.005)
    assert (fine < 1e-6).all()
    np.testing.assert_allclose(drift(0.01) / fine, 2.0**4, rtol=0.05)
    assert (drift(0.01, book_or_nips="nips") > 1e-2).all()  # the paper's equations lack a term


def energy(env, rows):
    """Kinetic and potential energy, from the positions of the two centres of mass."""
    theta1, theta2, theta1_dot, theta2_dot = rows.T
    m2, l1, c2 = env.link_mass_2, env.link_length_1, env.link_com_pos_2
    theta12, theta12_dot = theta1 + theta2, theta1_dot + theta2_dot
    x_dot = l1 * np.cos(theta1) * theta1_dot + c2 * np.cos(theta12) * theta12_dot
    y_dot = l1 * np.sin(theta1) * theta1_dot + c2 * np.sin(theta12) * theta12_dot
    spin = (env.link_mass_1 * env.link_com_pos_1**2 + env.link_moi) * theta1_dot**2 + env.link_moi * theta12_dot**2
    height1, height2 = -env.link_com_pos_1 * np.cos(theta1), -l1 * np.cos(theta1) - c2 * np.cos(theta12)
    weight = env.gravity * (env.link_mass_1 * height1 + m2 * height2)
    return (spin + m2 * (x_dot**2 + y_dot**2)) / 2 + weight


def test_the_mirror_image_of_a_step_is_the_step_of_the_mirror_image():
    rows, actions = cases(6)
    parity.assert_mirrored(Acrobot(), rows, actions, 2 - actions)


def test_torque_noise_is_uniform_and_has_the_transitions_key():
    # From rest, hanging down, the change of theta1_dot is proportional to the torque.
    rows, actions = np.zeros((10_000, 4)), np.ones(10_000, int)
    unit = parity.step(Acrobot(dt=1e-3), rows[:1], np.array([2])).state[0, 2]
    noise = parity.step(Acrobot(dt=1e-3, torque_noise_max=0.5), rows, actions).state[:, 2] / unit
    assert scipy.stats.kstest(noise, scipy.stats.uniform(-0.5, 1.0).cdf).pvalue > 0.01
    assert not parity.step(Acrobot(dt=1e-3), rows, actions).state.any()


def test_other_actions_act_as_the_nearest():
    low, high = parity.assert_acts_as_nearest(Acrobot(), [0.1, 0.2, 0.3, 0.4])
    assert high[3] > low[3]


def test_gradients_are_finite():
    rows, actions = cases(7)
    parity.assert_gradients_finite(Acrobot(), rows[-700:], actions[-700:])


def test_parameters_batch():
    parity.assert_parameters_batch(Acrobot(torque_noise_max=0.1), np.array([0.1, 0.2, 12.0, -28.0]), 2)
    envs = jax.vmap(lambda torque: Acrobot(avail_torque=(-torque, 0.0, torque)))(jnp.array([1.0, 2.0]))
    state = AcrobotState(*jnp.zeros(4))
    push = jax.jit(jax.vmap(lambda env: env.transition(state, 2, funcenv.key(0)).theta2_dot))
    weak, strong = push(envs)
    assert strong > 1.5 * weak > 0


POSITIVE = ["dt", "link_mass_1", "link_mass_2", "link_length_1", "link_com_pos_1", "link_com_pos_2"]


@pytest.mark.parametrize("name", [*POSITIVE, "max_vel_1", "max_vel_2"])
def test_impossible_constants_are_refused(name):
    parity.assert_positive(Acrobot, name)


def test_other_impossible_choices_are_refused():
    with pytest.raises(ValueError, match="link_moi must be at least 0, got -1"):
        Acrobot(link_moi=-1.0)
    with pytest.raises(ValueError, match="torque_noise_max must be at least 0, got -0.1; leave it out for no noise"):
        Acrobot(torque_noise_max=-0.1)
    with pytest.raises(ValueError, match="low must not exceed high, got low=0.2 and high=0.1"):
        Acrobot(low=0.2)
    with pytest.raises(ValueError, match='book_or_nips must be "book" or "nips", got \'paper\''):
        Acrobot(book_or_nips="paper")
    with pytest.raises(ValueError, match="avail_torque must hold three torques"):
        Acrobot(avail_torque=(-1.0, 1.0))
    with pytest.raises(TypeError, match="avail_torque must be a tuple of three torques, got"):
        Acrobot(avail_torque=[-1.0, 0.0, 1.0])

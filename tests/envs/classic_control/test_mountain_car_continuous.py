"""MountainCarContinuous against Gymnasium's `Continuous_MountainCarEnv`.

Gymnasium rounds the state to float32 after every step. The tests in float64 lift that: they run Gymnasium's own code
with float64 in the place of float32.
"""

import types

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control import continuous_mountain_car
from gymnasium.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv

import funcenv
from funcenv.envs import MountainCar, MountainCarContinuous
from tests.support import mountain_car, parity
from tests.support.mountain_car import LEFT, SPEED
from tests.support.parity import around

VARIANT = {
    "min_action": -0.5,
    "max_action": 1.5,
    "min_position": -1.5,
    "max_position": 0.9,
    "max_speed": 0.1,
    "goal_position": 0.4,
    "goal_velocity": 0.03,
    "power": 0.003,
}
GOAL = 0.45
PUSHES = {action: action * 0.0015 for action in (-1.0, 0.0, 1.0)}


@pytest.fixture
def unrounded(monkeypatch):
    """Gymnasium's code, in float64."""
    numpy = types.SimpleNamespace(array=np.array, float32=np.float64)
    monkeypatch.setattr(continuous_mountain_car, "np", numpy)


def cases(seed=0):
    """10,000 random states, and every wall, limit, goal and throttle with its neighbours; with actions."""
    rng = np.random.default_rng(seed)
    throttles = [0.0, 100.0, -100.0, *around(1.0), *around(-1.0)]
    random, edges, actions = mountain_car.cases(rng, GOAL, (0.41, 0.44), throttles, PUSHES)
    drawn = rng.uniform(-1.5, 1.5, (len(random), 1))
    return np.concatenate([random, edges]), np.concatenate([drawn, actions[:, None]])


def reference(**parameters):
    return mountain_car.reference(Continuous_MountainCarEnv, **parameters)


@pytest.mark.parametrize("parameters", [{}, VARIANT, {"goal_velocity": SPEED}], ids=["default", "variant", "fast"])
def test_a_step_from_any_state_is_gymnasiums(parameters, request):
    theirs = reference(**parameters)
    rows, actions = cases()
    rounded = parity.gymnasium_step(theirs, rows, actions)
    request.getfixturevalue("unrounded")
    expected = parity.gymnasium_step(theirs, rows, actions)
    steps = parity.step(MountainCarContinuous(**parameters), rows, actions)
    assert expected.terminated.any()
    parity.assert_same_steps(steps, expected._replace(observation=rounded.observation), 1e-9)
    np.testing.assert_array_equal(steps.terminated, rounded.terminated)


@pytest.mark.usefixtures("unrounded")
def test_the_cases_land_on_walls_and_goal():
    rows, actions = cases()
    steps = parity.gymnasium_step(reference(), rows[10_000:], actions[10_000:])
    mountain_car.assert_lands_on_walls_and_goal(steps, GOAL)


def test_a_step_in_float32_is_gymnasiums():
    rows, actions = cases(1)
    theirs = Continuous_MountainCarEnv()
    parity.assert_steps_are_gymnasiums(MountainCarContinuous(), theirs, rows[:10_000], actions[:10_000], x64=False)


def test_200_steps_are_gymnasiums(request):
    theirs = Continuous_MountainCarEnv()
    rng = np.random.default_rng(2)
    rows = np.stack([rng.uniform(-0.6, -0.4, 20), np.zeros(20)], axis=1)
    actions = rng.uniform(-1.5, 1.5, (10, 20, 1)).repeat(20, axis=0)  # long pushes, to reach both ends
    request.getfixturevalue("unrounded")
    expected = parity.assert_plays_are_gymnasiums(MountainCarContinuous(), theirs, rows, actions)
    mountain_car.assert_reaches_both_walls(expected)


def test_the_left_wall_does_not_hold_the_car():
    pushed = np.concatenate([np.full((30, 1, 1), -1.0), np.full((30, 1, 1), 1.0)])
    position, velocity = parity.play(MountainCarContinuous(), np.array([[-1.1, -0.05]]), pushed)[:, 0].T
    first = int(np.argmax(position == LEFT))
    assert velocity[first] == 0
    assert (np.diff(position[30:]) > 0).all()


def test_every_push_of_mountain_car_is_a_throttle():
    # Which says, among other things, what `gravity` means: Gymnasium writes the number into its code.
    rows, _ = cases(3)
    actions = np.random.default_rng(3).integers(0, 3, len(rows))
    shared = {"gravity": 0.004, "goal_position": 0.3, "hill_frequency": 2.0}
    pushes = parity.step(MountainCar(force=0.002, **shared), rows, actions)
    throttles = parity.step(MountainCarContinuous(power=0.002, **shared), rows, actions[:, None] - 1.0)
    parity.assert_close(throttles.state, pushes.state, 1e-15)
    np.testing.assert_array_equal(throttles.terminated, pushes.terminated)


def test_spaces_and_limits_are_gymnasiums():
    parity.assert_same_spec("MountainCarContinuous-v0", MountainCarContinuous(), Continuous_MountainCarEnv())
    assert isinstance(funcenv.make("MountainCarContinuous-v0").unwrapped, MountainCarContinuous)


@pytest.mark.parametrize("bounds", [{}, {"low": -0.7, "high": 0.5}], ids=["default", "options"])
def test_the_car_starts_anywhere_in_its_range_and_at_rest(bounds):
    mountain_car.assert_starts_at_rest(MountainCarContinuous, bounds)


@pytest.mark.dear
def test_random_play_earns_what_it_does_in_gymnasium():
    env, rng, returns = Continuous_MountainCarEnv(), np.random.default_rng(4), []
    for episode in range(300):
        env.reset(seed=episode)
        total = 0.0
        for action in rng.uniform(-1, 1, (999, 1)):
            _, reward, terminated, _, _ = env.step(action)
            total += reward
            if terminated:
                break
        returns.append(total)
    parity.assert_same_mean(parity.random_returns("MountainCarContinuous-v0"), returns)


def test_the_engine_clips_an_action_but_the_reward_does_not():
    row = np.array([[-0.5, 0.01]])
    full = parity.step(MountainCarContinuous(), row, np.array([[1.0]]))
    beyond = parity.step(MountainCarContinuous(), row, np.array([[3.0]]))
    np.testing.assert_array_equal(beyond.state, full.state)
    np.testing.assert_allclose([full.reward, beyond.reward], [[-0.1], [-0.9]])


def test_the_prize_is_paid_once_at_the_goal():
    arrived = parity.step(MountainCarContinuous(), np.array([[0.44, 0.06], [0.3, 0.06]]), np.zeros((2, 1)))
    assert arrived.reward.tolist() == [100.0, 0.0]
    assert arrived.terminated.tolist() == [True, False]


def test_gradients_are_finite():
    rows, actions = map(parity.single, cases(6))
    parity.assert_gradients_finite(MountainCarContinuous(), rows[-1200:], actions[-1200:])


def test_parameters_batch():
    parity.assert_parameters_batch(MountainCarContinuous(), np.array([0.41, 0.06]), [0.95])


@pytest.mark.parametrize("name", ["max_speed", "hill_frequency"])
def test_impossible_constants_are_refused(name):
    parity.assert_positive(MountainCarContinuous, name)


def test_empty_ranges_are_refused():
    with pytest.raises(ValueError, match="low must not exceed high, got low=0.1 and high=-0.4"):
        MountainCarContinuous(low=0.1)
    with pytest.raises(ValueError, match="min_action must not exceed max_action"):
        MountainCarContinuous(min_action=2.0)
    with pytest.raises(ValueError, match="min_position must not exceed max_position"):
        MountainCarContinuous().replace(max_position=jnp.array([0.6, -1.3]))

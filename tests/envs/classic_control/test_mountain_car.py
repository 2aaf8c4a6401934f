"""MountainCar against Gymnasium's `MountainCarEnv`, and against its own symmetries."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv

import funcenv
from funcenv.envs import MountainCar
from tests.support import mountain_car, parity
from tests.support.mountain_car import SPEED

VARIANT = {
    "min_position": -1.5,
    "max_position": 0.9,
    "max_speed": 0.1,
    "goal_position": 0.4,
    "goal_velocity": 0.03,
    "force": 0.003,
    "gravity": 0.001,
}
GOAL = 0.5
PUSHES = {action: (action - 1) * 0.001 for action in range(3)}


def cases(seed=0):
    """10,000 random states, and every wall, limit and goal exactly and one ulp to each side; with actions."""
    rng = np.random.default_rng(seed)
    random, edges, actions = mountain_car.cases(rng, GOAL, (0.46, 0.49), [0, 1, 2], PUSHES)
    return np.concatenate([random, edges]), np.concatenate([rng.integers(0, 3, len(random)), actions.astype(int)])


def reference(**parameters):
    return mountain_car.reference(MountainCarEnv, **parameters)


@pytest.mark.parametrize("parameters", [{}, VARIANT, {"goal_velocity": SPEED}], ids=["default", "variant", "fast"])
def test_a_step_from_any_state_is_gymnasiums(parameters):
    expected = parity.assert_steps_are_gymnasiums(MountainCar(**parameters), reference(**parameters), *cases())
    assert expected.terminated.any()


def test_the_cases_land_on_walls_and_goal():
    rows, actions = cases()
    steps = parity.gymnasium_step(MountainCarEnv(), rows[10_000:], actions[10_000:])
    mountain_car.assert_lands_on_walls_and_goal(steps, GOAL)


def test_the_least_goal_velocity_is_enough():
    # Powers of two: no product is rounded, so that a compiler that fuses multiply and add changes nothing.
    parameters = {"force": 2.0**-10, "gravity": 2.0**-9}
    places = np.linspace(0.53, 0.58, 20)
    standing = 2.0**-9 * np.cos(3 * places)  # the speed that one step on the slope brings to 0
    ulp = np.abs(standing) * 2.0**-50
    rows = np.stack([np.tile(places, 3), np.concatenate([standing, standing + ulp, standing - ulp])], axis=1)
    expected = parity.assert_steps_are_gymnasiums(
        MountainCar(**parameters), reference(**parameters), rows, np.ones(60, int)
    )
    assert expected.terminated.tolist() == [True] * 40 + [False] * 20


def test_a_step_in_float32_is_gymnasiums():
    rows, actions = cases(1)
    parity.assert_steps_are_gymnasiums(MountainCar(), MountainCarEnv(), rows[:10_000], actions[:10_000], x64=False)


def test_the_goal_itself_ends_an_episode_in_float32_too():
    # At the lower end of the speed range the clipped velocity is known exactly.
    env = MountainCar(goal_velocity=-SPEED)
    speed, goal = np.float32(SPEED), np.float32(GOAL)
    rows = np.array([[goal + speed, -1.0], [np.nextafter(goal, np.float32(0)) + speed - 3e-8, -1.0]])
    assert parity.step(env, rows, np.array([1, 1]), x64=False).terminated.tolist() == [True, False]


def test_200_steps_are_gymnasiums():
    rng = np.random.default_rng(2)
    rows = np.stack([rng.uniform(-0.6, -0.4, 20), np.zeros(20)], axis=1)
    actions = rng.integers(0, 3, (10, 20)).repeat(20, axis=0)  # long pushes, to reach both ends
    expected = parity.assert_plays_are_gymnasiums(MountainCar(), MountainCarEnv(), rows, actions)
    mountain_car.assert_reaches_both_walls(expected)


def test_spaces_and_limits_are_gymnasiums():
    parity.assert_same_spec("MountainCar-v0", MountainCar(), MountainCarEnv())
    assert isinstance(funcenv.make("MountainCar-v0").unwrapped, MountainCar)


@pytest.mark.parametrize("bounds", [{}, {"low": -0.7, "high": 0.5}], ids=["default", "options"])
def test_the_car_starts_anywhere_in_its_range_and_at_rest(bounds):
    mountain_car.assert_starts_at_rest(MountainCar, bounds)


def test_random_play_earns_what_it_does_in_gymnasium():
    returns = parity.random_returns("MountainCar-v0")
    theirs = play_gymnasium(lambda velocity, rng: rng.integers(3), episodes=100)
    parity.assert_same_mean(returns, theirs)


@pytest.mark.dear
def test_mostly_pushing_along_earns_what_it_does_in_gymnasium():
    def policy(observation, key):
        along = jnp.where(observation[1] >= 0, 2, 0)
        choice_key, push_key = jax.random.split(key)
        return jnp.where(jax.random.uniform(choice_key) < 0.7, along, jax.random.randint(push_key, (), 0, 3))

    def same_policy(velocity, rng):
        return 2 * (velocity >= 0) if rng.random() < 0.7 else rng.integers(3)

    returns = funcenv.evaluate(funcenv.make("MountainCar-v0"), policy, 10_000, funcenv.key(1)).episode_return
    theirs = play_gymnasium(same_policy, episodes=500)
    assert theirs.std() > 5
    parity.assert_same_mean(returns, theirs)


def play_gymnasium(policy, episodes):
    """Compute returns of `policy(velocity, rng)`, truncated after 200 steps."""
    env, rng, returns = MountainCarEnv(), np.random.default_rng(3), []
    for episode in range(episodes):
        (_, velocity), _ = env.reset(seed=episode)
        length, terminated = 0, False
        while length < 200 and not terminated:
            (_, velocity), _, terminated, _, _ = env.step(int(policy(velocity, rng)))
            length += 1
        returns.append(-length)
    return np.array(returns)


def test_the_valley_is_symmetric():
    rng = np.random.default_rng(4)
    rows = rng.uniform(0, 1, (1000, 2)) * [0.8, 0.1] + [-0.95, -0.05]  # away from the walls
    actions = rng.integers(0, 3, 1000)
    bottom = np.array([-math.pi / 3, 0])
    mirrored = parity.step(MountainCar(), bottom - rows, 2 - actions).state
    parity.assert_close(parity.step(MountainCar(), rows, actions).state, bottom - mirrored, 1e-12)


def test_a_hill_of_half_the_frequency_is_the_same_hill_twice_as_wide():
    names = ["min_position", "max_position", "max_speed", "goal_position", "force", "gravity"]
    wide = MountainCar(hill_frequency=1.5, **{name: 2 * getattr(MountainCar(), name) for name in names})
    rows, actions = cases(5)
    steps, scaled = parity.step(MountainCar(), rows, actions), parity.step(wide, 2 * rows, actions)
    np.testing.assert_array_equal(2 * steps.state, scaled.state)
    np.testing.assert_array_equal(steps.terminated, scaled.terminated)


def test_other_actions_act_as_the_nearest():
    left, right = parity.assert_acts_as_nearest(MountainCar(), [-0.5, 0.01])
    assert right[1] > left[1]


def test_gradients_are_finite():
    rows, actions = cases(6)
    parity.assert_gradients_finite(MountainCar(), rows[-500:], actions[-500:])


def test_parameters_batch():
    parity.assert_parameters_batch(MountainCar(), np.array([0.45, 0.06]), 2)


@pytest.mark.parametrize("name", ["max_speed", "hill_frequency"])
def test_impossible_constants_are_refused(name):
    parity.assert_positive(MountainCar, name)


def test_empty_ranges_are_refused():
    with pytest.raises(ValueError, match="low must not exceed high, got low=0.1 and high=-0.4"):
        MountainCar(low=0.1)
    with pytest.raises(ValueError, match="min_position must not exceed max_position"):
        MountainCar().replace(max_position=jnp.array([0.6, -1.3]))

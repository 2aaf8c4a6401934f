"""CartPole against Gymnasium's `CartPoleEnv`, and against its own symmetry."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

import funcenv
from funcenv.envs import CartPole, CartPoleState
from tests.support import parity

ANGLE, TRACK = 12 * 2 * np.pi / 360, 2.4
VARIANT = {
    "gravity": 1.6,
    "masscart": 0.7,
    "masspole": 0.3,
    "length": 0.8,
    "force_mag": 4.0,
    "tau": 0.05,
    "theta_threshold_radians": 0.5,
    "x_threshold": 1.1,
}


def around(value):
    return parity.around(value, signs=(1, -1))


def cases(seed=0):
    """10,000 random states, and every threshold exactly and one ulp to each side; with actions."""
    rng = np.random.default_rng(seed)
    random = rng.uniform(-1, 1, (10_000, 4)) * [1.2 * TRACK, 4, 1.2 * ANGLE, 4]
    resting = [(x, 0, theta, 0) for x, theta in itertools.product([0, *around(TRACK)], [0, *around(ANGLE)])]
    turned = [(0, v, theta, w) for v, theta, w in itertools.product([-9, 0, 9], [-np.pi, np.pi / 2, 3], [-9, 0, 9])]
    rows = np.concatenate([random, np.repeat(resting + turned, 2, axis=0)])
    return rows, np.concatenate([rng.integers(0, 2, 10_000), np.tile([0, 1], len(resting + turned))])


def reference(**parameters):
    """Gymnasium's environment with other constants, the derived ones among them."""
    env = CartPoleEnv(sutton_barto_reward=parameters.pop("sutton_barto_reward", False))
    parity.with_constants(env, **parameters)
    env.total_mass = env.masspole + env.masscart
    env.polemass_length = env.masspole * env.length
    return env


def falls_anew(env):
    """Make every step from an injected state the first one that could end the episode."""
    return lambda: setattr(env, "steps_beyond_terminated", None)


@pytest.mark.parametrize(
    "parameters",
    [{}, VARIANT, {"kinematics_integrator": "semi-implicit", "sutton_barto_reward": True}],
    ids=["default", "variant", "semi-implicit"],
)
def test_a_step_from_any_state_is_gymnasiums(parameters):
    theirs = reference(**parameters)
    expected = parity.assert_steps_are_gymnasiums(CartPole(**parameters), theirs, *cases(), falls_anew(theirs))
    assert 0.1 < expected.terminated.mean() < 0.9


def test_a_step_in_float32_is_gymnasiums():
    theirs = CartPoleEnv()
    rows, actions = cases(1)
    parity.assert_steps_are_gymnasiums(
        CartPole(), theirs, rows[:10_000], actions[:10_000], falls_anew(theirs), x64=False
    )


def test_the_thresholds_themselves_do_not_end_an_episode_in_float32_either():
    x, theta = np.float32(TRACK), np.float32(ANGLE)
    up = np.float32(np.inf)
    rows = np.array(
        [(x, 0, 0, 0), (0, 0, theta, 0), (np.nextafter(x, up), 0, 0, 0), (0, 0, np.nextafter(theta, up), 0)]
    )
    for sign in (1, -1):
        assert parity.step(CartPole(), sign * rows, np.zeros(4, int), x64=False).terminated.tolist() == [0, 0, 1, 1]


def test_a_moving_cart_may_touch_its_threshold():
    # Powers of two: no product is rounded, so that a compiler that fuses multiply and add changes nothing.
    parameters = {"tau": 2.0**-6, "x_threshold": 2.5, "theta_threshold_radians": 0.25}
    theirs = reference(**parameters)
    rows = [(x - 2.0**-5, 2.0, theta - 2.0**-4, 4.0) for x in parity.around(2.5) for theta in parity.around(0.25)]
    rows = np.concatenate([rows, -np.array(rows)])
    actions = np.arange(len(rows)) % 2
    expected = parity.assert_steps_are_gymnasiums(CartPole(**parameters), theirs, rows, actions, falls_anew(theirs))
    assert 0 < expected.terminated.sum() < len(rows)


def test_200_steps_are_gymnasiums():
    theirs = CartPoleEnv()
    rng = np.random.default_rng(2)
    rows, actions = rng.uniform(-0.05, 0.05, (20, 4)), rng.integers(0, 2, (200, 20))
    parity.assert_plays_are_gymnasiums(CartPole(), theirs, rows, actions, falls_anew(theirs))


def test_spaces_and_limits_are_gymnasiums():
    parity.assert_same_spec("CartPole-v0", CartPole(), CartPoleEnv())
    parity.assert_same_spec("CartPole-v1", CartPole(), CartPoleEnv())
    assert isinstance(funcenv.make("CartPole-v1").unwrapped, CartPole)


@pytest.mark.parametrize("bounds", [{}, {"low": -0.2, "high": 0.7}], ids=["default", "options"])
def test_initial_states_are_uniform(bounds):
    rows = parity.initial_rows(CartPole(**bounds))
    for column in rows.T:
        parity.assert_uniform(column, bounds.get("low", -0.05), bounds.get("high", 0.05))
    parity.assert_independent(rows)


def test_random_play_earns_what_it_does_in_gymnasium():
    theirs = CartPoleEnv()
    rng = np.random.default_rng(3)
    returns = []
    for episode in range(10_000):
        theirs.reset(seed=episode if episode == 0 else None)
        total, terminated = 0.0, False
        while not terminated:  # never as long as 500 steps
            _, reward, terminated, _, _ = theirs.step(int(rng.random() < 0.5))
            total += reward
        returns.append(total)
    parity.assert_same_mean(parity.random_returns("CartPole-v1"), returns)


def test_the_mirror_image_of_a_step_is_the_step_of_the_mirror_image():
    rows, actions = cases(4)
    parity.assert_mirrored(CartPole(), rows, actions, 1 - actions)


def test_other_actions_push_left():
    row = np.array([0.1, 0.2, 0.03, -0.4])
    left = parity.step(CartPole(), row[None], np.array([0])).state
    for action in (-1, 2, 100):
        np.testing.assert_array_equal(parity.step(CartPole(), row[None], np.array([action])).state, left)


def test_gradients_are_finite():
    rows, actions = cases(5)
    parity.assert_gradients_finite(CartPole(), rows[-300:], actions[-300:])
    parity.assert_gradients_finite(CartPole(sutton_barto_reward=True), rows[-300:], actions[-300:])


def test_parameters_batch():
    parity.assert_parameters_batch(CartPole(), np.array([0.1, 0.2, 0.03, -0.4]), 1)


def test_derived_values_follow_their_parameters():
    env = CartPole().replace(masspole=0.3, length=2.0)
    assert (env.total_mass, env.polemass_length) == (1.3, 0.6)
    assert env.replace(x_threshold=3.0).observation_space.high[0] == 6.0


@pytest.mark.parametrize("name", ["masscart", "masspole", "length", "tau", "theta_threshold_radians", "x_threshold"])
def test_impossible_constants_are_refused(name):
    parity.assert_positive(CartPole, name)


def test_other_impossible_choices_are_refused():
    with pytest.raises(ValueError, match="low must not exceed high, got low=0.1 and high=0.05"):
        CartPole(low=0.1)
    with pytest.raises(ValueError, match='kinematics_integrator must be "euler" or "semi-implicit", got \'rk4\''):
        CartPole(kinematics_integrator="rk4")


def test_a_state_keeps_its_precision_and_the_observation_is_float32():
    for x64, dtype in ((False, "float32"), (True, "float64")):
        with jax.enable_x64(x64):
            state, timestep = CartPole().reset(funcenv.key(0))
            state, timestep = CartPole().step(state, 1, funcenv.key(1))
            assert isinstance(state, CartPoleState)
            assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {jnp.dtype(dtype)}
            assert timestep.observation.dtype == jnp.float32

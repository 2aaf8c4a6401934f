"""LunarLander against Gymnasium's: whole episodes, bit for bit, and the rules at their boundaries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import LunarLander
from tests.support.box2d import assert_replays, in_kernels_and_plainly, placed


@pytest.mark.dear  # compiles the solver
@pytest.mark.parametrize(("kind", "in_kernels"), in_kernels_and_plainly("discrete", "continuous"))
def test_whole_episodes_equal_gymnasiums_bit_for_bit(kind, in_kernels):
    assert_replays("play_lunar_lander.py", kind, "equal", in_kernels)


@pytest.fixture(scope="module")
def first():
    """Return a state at the beginning of an episode."""
    env = LunarLander()
    return jax.jit(env.initial)(funcenv.key(0))


def test_the_episode_ends_where_the_lander_leaves_the_view_crashes_or_rests(first):
    env = LunarLander()
    upright = placed(first, angle=0.0)
    for x, ends in ((19.99, False), (20.01, True), (0.01, False), (-0.01, True)):
        state = placed(upright, x=x)
        assert bool(env.terminal(state)) == ends
        assert float(env.reward(first, 0, state)) == -100 if ends else True
    crashed = first.replace(has_crashed=jnp.array(True))
    assert bool(env.terminal(crashed))
    assert float(env.reward(first, 0, crashed)) == -100
    resting = placed(first, is_awake=False)
    assert float(env.reward(first, 0, resting)) == 100
    assert float(env.reward(first, 0, resting.replace(has_crashed=jnp.array(True)))) == 100  # as in Gymnasium


def test_fuel_costs_and_legs_pay(first):
    env = LunarLander()
    idle = float(env.reward(first, 0, first))
    assert idle == 0
    assert float(env.reward(first, 2, first)) == pytest.approx(-0.3)
    assert float(env.reward(first, 1, first)) == pytest.approx(-0.03)
    assert float(env.reward(first, 0, first.replace(touches=jnp.array([True, False])))) == pytest.approx(10)


@pytest.mark.parametrize(
    ("action", "main", "side", "direction"),
    [
        ((0.0, 0.5), 0.0, 0.0, 1),
        ((1e-6, 0.51), 0.5, 0.51, 1),
        ((1.0, -1.0), 1.0, 1.0, -1),
        ((9.0, -0.7), 1.0, 0.7, -1),
        ((-0.5, -9.0), 0.0, 1.0, -1),
        ((np.nan, np.nan), 0.0, 0.0, 1),
    ],
)
def test_throttles(action, main, side, direction):
    engines = LunarLander(continuous=True).engines(np.array(action, np.float32))
    assert float(engines.main) == pytest.approx(main, abs=1e-6)
    assert float(engines.side) == pytest.approx(side, abs=1e-6)
    assert not engines.side or float(engines.direction) == direction


@pytest.mark.parametrize("action", [-1, 4, 100])
def test_unknown_actions_do_nothing(action):
    engines = LunarLander().engines(action)
    assert float(engines.main) == float(engines.side) == 0


def test_terrain_has_a_flat_pad_and_is_smoothed(first):
    heights = np.asarray(first.terrain)
    np.testing.assert_allclose(heights[4:7], 10 / 3 * 0.99, rtol=1e-5)
    many = jax.jit(jax.vmap(lambda key: LunarLander().replace(fidelity="fast").initial(key).terrain))(
        jax.random.split(funcenv.key(1), 500)
    )
    assert many.min() >= 0
    assert many.max() <= 0.99 * 20 / 3
    assert np.asarray(many[:, 1]).mean() == pytest.approx(0.99 * 10 / 3, abs=0.2)


def test_limits_are_gymnasiums():
    for gravity in (0.0, 1.0, -12.0, np.array([-10.0, 0.0])):
        with pytest.raises(ValueError, match="gravity must be between -12 and 0"):
            LunarLander(gravity=gravity)
    LunarLander(gravity=-11.99)
    with pytest.warns(UserWarning, match="wind_power should be between 0 and 20"):
        LunarLander(wind_power=20.5)
    with pytest.warns(UserWarning, match="turbulence_power should be between 0 and 2"):
        LunarLander(turbulence_power=-0.1)
    with pytest.raises(ValueError, match="fidelity must be one of exact, fast"):
        LunarLander(fidelity="slow")


def test_the_heuristic_does_what_gymnasiums_does():
    env, throttled = LunarLander(), LunarLander(continuous=True)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 8)) * [0.5, 0.7, 0.5, 0.5, 0.3, 0.3, 0, 0]
    rows[:, 6:] = rng.integers(0, 2, (300, 2)) * rng.integers(0, 2, (300, 1))
    rows = rows.astype(np.float32)
    actions = np.asarray(jax.jit(jax.vmap(env.heuristic))(rows))
    throttles = np.asarray(jax.jit(jax.vmap(throttled.heuristic))(rows))
    assert len(set(actions.tolist())) == 4
    for row, action, throttle in zip(rows.astype(np.float64), actions, throttles, strict=True):
        target = np.clip(row[0] * 0.5 + row[2], -0.4, 0.4)
        tilt, climb = (target - row[4]) * 0.5 - row[5], (0.55 * abs(row[0]) - row[1]) * 0.5 - row[3] * 0.5
        if row[6] or row[7]:
            tilt, climb = 0, -row[3] * 0.5
        expected = 2 if climb > abs(tilt) and climb > 0.05 else 3 if tilt < -0.05 else 1 if tilt > 0.05 else 0
        assert action == expected
        np.testing.assert_allclose(throttle, np.clip([climb * 20 - 1, -tilt * 20], -1, 1), atol=1e-5)


def test_lower_bounds_of_0_print_as_gymnasiums():
    space = LunarLander().observation_space
    assert np.signbit(space.low).all() and " -0. " in repr(space)

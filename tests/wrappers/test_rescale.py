"""Stretched bounds against Gymnasium's: open sides, rounding, traced and drawn bounds, and wrong arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcenv
from funcenv.envs import CartPole, MountainCarContinuous, Pendulum
from funcenv.spaces import Box
from funcenv.wrappers import ClipAction, DtypeObservation, RandomizeParameters, RescaleAction, RescaleObservation
from funcenv.wrappers.rescale import rescale

UNIT = np.random.default_rng(0).uniform(-1, 1, (30, 1)).astype(np.float32)


@pytest.mark.parametrize("bounds", [(np.float32(-1), np.float32(1)), (0, 1), (np.float32([-1]), np.float32([3]))])
def test_rescale_action_as_gymnasium(compare_alike, bounds):
    compare_alike(
        "Pendulum",
        lambda wrappers, env: wrappers.RescaleAction(env, *bounds),
        2 * UNIT,  # beyond the bounds, too
    )


def test_rescale_action_passes_on_what_lies_beyond(compare_alike):
    """MountainCarContinuous pays for the action that it is given, not for the one it clips."""
    compare_alike("MountainCarContinuous", lambda wrappers, env: wrappers.RescaleAction(env, 0, 1), 3 * UNIT)


@pytest.mark.parametrize("bounds", [(-1, 1), (np.float32([0, -3]), np.float32([10, -2]))])
def test_rescale_observation_as_gymnasium(compare_alike, bounds):
    compare_alike("MountainCarContinuous", lambda wrappers, env: wrappers.RescaleObservation(env, *bounds), UNIT)


def test_open_sides_pass(compare_alike):
    low, high = np.float32([-1, -np.inf, 0, -np.inf]), np.float32([1, np.inf, 1, np.inf])
    steps = compare_alike(
        "CartPole", lambda wrappers, env: wrappers.RescaleObservation(env, low, high), np.arange(30) % 2
    )
    assert steps == 30


def test_one_open_side_is_a_shift():
    half, other = Box(jnp.array([2.0, -jnp.inf]), jnp.array([jnp.inf, 5.0])), Box([0, -jnp.inf], [jnp.inf, 1])
    np.testing.assert_array_equal(rescale(jnp.array([3.0, 3.0]), half, other), [1.0, -1.0])


numbers = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)


@settings(max_examples=60, deadline=None)
@given(bounds=st.tuples(numbers, numbers), target=st.tuples(numbers, numbers), part=st.floats(0, 1))
def test_what_lies_inside_stays_inside(bounds, target, part):
    low, high = np.float32(min(bounds)), np.float32(max(bounds))
    source, onto = Box(low, high, (3,)), Box(min(target), max(target), (3,))
    inside = np.clip(np.float32(low + part * (high - low)), low, high)
    image = np.asarray(rescale(jnp.array([low, inside, high]), source, onto))
    assert np.isfinite(image).all()
    assert (image >= onto.low).all()
    assert (image <= onto.high).all()
    if low < high:
        assert image[0] == onto.low[0]
        assert image[2] == onto.high[0]


def test_bounds_that_depend_on_a_batched_parameter():
    torques = jnp.array([1.0, 2.0, 4.0])
    for batch in (
        jax.vmap(lambda torque: RescaleAction(Pendulum(max_torque=torque), -1.0, 1.0))(torques),
        RescaleAction(Pendulum(max_torque=torques), -1.0, 1.0),
    ):
        venv = funcenv.FuncVectorEnv(batch, num_envs=3)
        assert venv.single_action_space == Box(-1.0, 1.0, (1,))
        vstate, _ = venv.reset(funcenv.key(0))
        _, timestep = venv.step(vstate, jnp.full((3, 1), 0.5))
        state, theta_dot = vstate.env_state, vstate.env_state.theta_dot
        angle = (state.theta + np.pi) % (2 * np.pi) - np.pi
        np.testing.assert_allclose(
            timestep.reward, -(angle**2 + 0.1 * theta_dot**2 + 0.001 * (torques / 2) ** 2), rtol=1e-5
        )


def test_bounds_that_follow_a_drawn_parameter():
    """Outside, `RandomizeParameters` is followed; inside, the declared bounds count."""

    def sampler(key, env):
        del key
        return {"max_torque": jnp.float32(1.0)}

    def cost_of_full_torque(env):
        state, _ = env.reset(funcenv.key(0))
        inner = state.env_state
        _, timestep = env.step(state, jnp.array([1.0]), funcenv.key(1))
        angle = (inner.theta + np.pi) % (2 * np.pi) - np.pi
        return float(-timestep.reward - (angle**2 + 0.1 * inner.theta_dot**2)) / 0.001

    pendulum = Pendulum(max_torque=2.0)
    follows = RandomizeParameters(RescaleAction(pendulum, 0.0, 2.0), sampler)
    assert cost_of_full_torque(follows) == pytest.approx(0.0, abs=2e-3)  # half of [0, 2] is no torque
    ignores = RescaleAction(RandomizeParameters(pendulum, sampler), 0.0, 4.0)
    assert cost_of_full_torque(ignores) == pytest.approx(1.0, abs=2e-3)  # a quarter of [-2, 2], clipped to -1


def test_replacing_the_environment_keeps_the_bounds():
    env = RescaleAction(Pendulum(), -1.0, 1.0).replace(env=Pendulum(max_torque=4.0))
    np.testing.assert_array_equal(env.inner_action(jnp.array([1.0])), [4.0])


class Pixels(funcenv.Wrapper):
    """Shows four grey pixels."""

    @property
    def observation_space(self):
        return Box(0, 255, (4,), np.uint8)

    def observation(self, state, key):
        del key
        return jnp.full(4, 51, jnp.uint8)


def test_integers_are_cast_first():
    with pytest.raises(TypeError, match=r'of floats, got Box\(0, 255.*; put DtypeObservation\(env, "float32"\) inside'):
        RescaleObservation(Pixels(CartPole()), 0.0, 1.0)
    env = RescaleObservation(DtypeObservation(Pixels(CartPole()), np.float32), 0.0, 1.0)
    np.testing.assert_allclose(env.reset(funcenv.key(0))[1].observation, 0.2, rtol=1e-6)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: RescaleAction(CartPole(), -1, 1), TypeError, r"RescaleAction needs .* is a Box, got Discrete\(2\)"),
        (lambda: RescaleAction(Pendulum(), 1.0, 1.0), ValueError, r"min_action must be below max_action"),
        (lambda: RescaleAction(Pendulum(), 1.0, 0.0), ValueError, r"min_action must not exceed max_action"),
        (lambda: RescaleAction(Pendulum(), np.zeros(2), 1.0), ValueError, r"must be a number or have the shape \(1,\)"),
        (lambda: RescaleAction(ClipAction(Pendulum()), -1, 1), ValueError, r"ClipAction goes outside RescaleAction"),
        (lambda: RescaleAction(Pendulum(), -np.inf, 1), ValueError, r"min_action must be infinite where"),
        (lambda: RescaleObservation(CartPole(), -1, 1), ValueError, r"min_obs must be infinite where"),
        (lambda: RescaleObservation(MountainCarContinuous(), 1, -1), ValueError, r"min_obs must not exceed max_obs"),
    ],
)
def test_wrong_arguments_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()

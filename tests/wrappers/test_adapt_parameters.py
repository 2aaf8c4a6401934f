"""Parameters that follow from the outcome of the last episode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.wrappers import AdaptParameters, TimeLimit


def longer(parameters, outcome, key):
    """Let the pole grow by the number of steps that the last one stood, in centimetres."""
    return {"length": parameters["length"] + 0.01 * outcome.episode_return}


def test_each_environment_of_a_batch_follows_its_own_episodes():
    venv = funcenv.FuncVectorEnv(AdaptParameters(TimeLimit(CartPole(), 30), longer, ("length",)), 3)
    vstate, timestep = venv.reset(funcenv.key(0))
    expected, ended = np.full(3, 0.5, np.float32), 0
    step = jax.jit(venv.step)
    for count in range(60):
        np.testing.assert_allclose(timestep.info["parameters"]["length"], expected, rtol=1e-5)
        vstate, timestep = step(vstate, jnp.array([0, 1, count % 2]))
        expected = expected + np.where(timestep.done, 0.01 * np.asarray(timestep.episode_length), 0)
        ended += int(timestep.done.sum())
    assert ended > 6


def test_steps_are_those_of_the_environment_with_these_parameters():
    env = AdaptParameters(CartPole(length=0.9), longer, ("length",))
    state, _ = env.reset(funcenv.key(0))
    after, timestep = env.step(state, 1, funcenv.key(1))
    _, expected = CartPole(length=jnp.float32(0.9)).step(state.env_state, 1, funcenv.key(1))
    assert jnp.array_equal(timestep.observation, expected.observation)
    assert (after.episode_return, after.episode_length) == (1.0, 1)


def test_the_outcome_tells_how_the_episode_ended_and_the_key_is_new():
    seen = []

    def keep(parameters, outcome, key):
        seen.append((outcome, jax.random.key_data(key).tolist()))
        return parameters

    env = AdaptParameters(TimeLimit(CartPole(), 1), keep, ("length",))
    state, _ = env.step(env.reset(funcenv.key(0))[0], 1, funcenv.key(1))
    env.reset(funcenv.key(2), after=state)
    env.reset(funcenv.key(3), after=state)
    (first, key), (_, other) = seen
    assert (first.terminated, first.truncated, first.episode_return) == (False, True, 1.0)
    assert key != other


@pytest.mark.parametrize(
    ("adapt", "message"),
    [
        (lambda parameters, outcome, key: {"gravity": 1.0}, r"names \['length'\], got \['gravity'\]"),
        (lambda parameters, outcome, key: {"length": jnp.ones(2)}, r"length with shape \(\), got \(2,\)"),
        (lambda parameters, outcome, key: 1.0, r"names \['length'\], got 1.0"),
    ],
)
def test_what_is_no_value_for_each_parameter_is_refused(adapt, message):
    env = AdaptParameters(CartPole(), adapt, ("length",))
    state, _ = env.reset(funcenv.key(0))
    with pytest.raises(ValueError, match=message):
        env.reset(funcenv.key(0), after=state)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="at least one field"):
        AdaptParameters(CartPole(), longer, ())
    with pytest.raises(TypeError, match="no field 'lenght'"):
        AdaptParameters(CartPole(), longer, ("lenght",))
    with pytest.raises(TypeError, match="adapt must be a function"):
        AdaptParameters(CartPole(), 0.5, ("length",))

"""The latest observations and actions."""

import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import DelayAction, FlattenObservation, FrameStackObservation, HistoryObservation
from tests.support.tiny_envs import Counter

ACTIONS = jnp.array([1, 2, 0, 2, 1], jnp.int32)


@pytest.mark.parametrize("length", [1, 3])
def test_observations_are_stacked_and_actions_are_those_that_led_to_them(play, length):
    _, timesteps = play(HistoryObservation(Counter(goal=99, noise=1.0), length), ACTIONS, funcenv.key(0))
    _, stacked = play(FrameStackObservation(Counter(goal=99), length), ACTIONS, funcenv.key(0))
    queue = np.concatenate([np.zeros(length, int), ACTIONS])
    for step in range(6):
        np.testing.assert_array_equal(timesteps.observation["action"][step], queue[step : step + length])
    assert timesteps.observation["observation"].shape == stacked.observation.shape
    _, quiet = play(HistoryObservation(Counter(goal=99), length), ACTIONS, funcenv.key(0))
    np.testing.assert_array_equal(quiet.observation["observation"], stacked.observation)


def test_a_history_holds_the_actions_that_are_on_their_way(play):
    env = HistoryObservation(DelayAction(Counter(goal=99), 2), 2)
    state, timesteps = play(env, ACTIONS, funcenv.key(0))
    np.testing.assert_array_equal(timesteps.observation["action"][-1], state.env_state.waiting)


def test_a_flat_history_is_a_vector():
    env = FlattenObservation(HistoryObservation(Pendulum(), 4))
    _, timestep = env.reset(funcenv.key(0))
    assert timestep.observation.shape == (4 * (3 + 1),)
    assert env.observation_space.contains(timestep.observation)


def test_actions_outside_their_space_are_shown_as_members():
    for env, action, shown in (CartPole(), jnp.int32(7), 0), (Pendulum(), jnp.array([9.0]), [2.0]):
        history = HistoryObservation(env, 1)
        _, timestep = history.step(history.reset(funcenv.key(0))[0], action, funcenv.key(1))
        assert timestep.observation["action"][0].tolist() == shown


def test_wrong_lengths_are_refused():
    with pytest.raises(ValueError, match="length must be at least 1"):
        HistoryObservation(CartPole(), 0)
    with pytest.raises(TypeError, match="length must be an integer"):
        HistoryObservation(CartPole(), 2.5)

"""Skipped frames against Gymnasium's, and what is shown where an episode ends between them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.wrappers import MaxAndSkipObservation, RepeatAction, TimeAwareObservation, TimeLimit
from tests.support.tiny_envs import Counter

TORQUES = np.random.default_rng(0).uniform(-2, 2, (15, 1)).astype(np.float32)


@pytest.mark.parametrize("skip", [2, 4])
def test_as_gymnasium(compare_alike, skip):
    compare_alike("Pendulum", lambda wrappers, env: wrappers.MaxAndSkipObservation(env, skip), TORQUES)


def test_a_time_limit_that_the_repeats_meet_as_gymnasium(compare_alike):
    steps = compare_alike(
        "Pendulum", lambda wrappers, env: wrappers.MaxAndSkipObservation(wrappers.TimeLimit(env, 12)), TORQUES
    )
    assert steps == 3


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_an_end_between_repeats_shows_the_last_two_frames(left):
    """Element 0 counts up, element 1 down: the maximum has the last frame in one and the frame before in the other."""
    env = MaxAndSkipObservation(Counter(goal=8 - left), skip=4)
    state, _ = env.reset(funcenv.key(0))
    state, timestep = env.step(state, 1, funcenv.key(1))
    np.testing.assert_array_equal(timestep.observation, [4, -3])
    state, timestep = env.step(state, 1, funcenv.key(2))
    last = 8 - left
    assert timestep.terminated
    np.testing.assert_array_equal(timestep.observation, [last, -(last - 1)])
    assert timestep.reward == sum(range(5, last + 1))
    assert timestep.info == {"came_from": last - 1, "action": 1, "number": last}


def test_lives_as_repeat_action_does(play):
    class Drift(Counter):
        def transition(self, state, action, key):
            return state + action * jax.random.randint(key, (), 0, 100)

    actions, key = jnp.ones(5, jnp.int32), funcenv.key(0)
    repeated, skipped = (
        play(wrap(Drift(goal=1000), 3), actions, key)[1] for wrap in (RepeatAction, MaxAndSkipObservation)
    )
    np.testing.assert_array_equal(repeated.reward, skipped.reward)
    np.testing.assert_array_equal(repeated.info["number"], skipped.info["number"])


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"skip must be at least 2, got 1"):
        MaxAndSkipObservation(CartPole(), 1)
    with pytest.raises(TypeError, match=r"skip must be an integer, got 2.5"):
        MaxAndSkipObservation(CartPole(), 2.5)
    with pytest.raises(TypeError, match=r"one array, got Dict.*put FlattenObservation inside"):
        MaxAndSkipObservation(TimeAwareObservation(TimeLimit(CartPole(), 5), flatten=False))

"""Late actions: which action is played when, and how it is paid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import DelayAction
from tests.support.tiny_envs import Counter

ACTIONS = jnp.array([1, 2, 0, 2, 1, 1, 0, 2], jnp.int32)


def played(env, play, key=0):
    """Return the actions that the environment inside received."""
    return np.asarray(play(env, ACTIONS, funcenv.key(key))[1].info["action"][1:])


@pytest.mark.parametrize("delay", [0, 1, 3, 20])
def test_every_action_is_played_after_the_delay(play, delay):
    expected = np.concatenate([np.zeros(delay, int), ACTIONS])[: len(ACTIONS)]
    np.testing.assert_array_equal(played(DelayAction(Counter(goal=99), delay), play), expected)


def test_the_reward_is_that_of_the_action_that_was_played(play):
    _, timesteps = play(DelayAction(Counter(goal=99), 2), ACTIONS, funcenv.key(0))
    np.testing.assert_array_equal(timesteps.reward[1:], np.cumsum([0, 0, 1, 2, 0, 2, 1, 1]))


def test_no_delay_is_the_environment_itself(play):
    (_, late), (_, plain) = (
        play(env, jnp.ones(8, jnp.int32), funcenv.key(0)) for env in (DelayAction(CartPole(), 0), CartPole())
    )
    np.testing.assert_array_equal(late.observation, plain.observation)


def test_a_random_delay_holds_for_an_episode(play):
    env = DelayAction(Counter(goal=99), (1, 3))
    delays = set()
    for key in range(12):
        found = played(env, play, key)
        fits = [d for d in (1, 2, 3) if (found == np.concatenate([np.zeros(d, int), ACTIONS])[:8]).all()]
        assert len(fits) == 1
        delays |= set(fits)
    assert delays == {1, 2, 3}


def test_a_delay_that_is_drawn_in_each_step_plays_one_of_the_latest_actions():
    env = DelayAction(Counter(goal=10**6), (0, 2), each_step=True)

    @jax.jit
    def ages(key):
        state, _ = env.reset(key)
        for step in range(2):  # fills the queue with 1, 2
            state, _ = env.step(state, step + 1, jax.random.fold_in(key, step))
        return env.step(state, 0, jax.random.fold_in(key, 9))[0].played

    shown = np.asarray(jax.vmap(ages)(jax.random.split(funcenv.key(0), 600)))
    np.testing.assert_allclose(np.bincount(shown, minlength=3) / 600, 1 / 3, atol=0.07)


def test_the_first_actions_are_zero_within_bounds():
    env = DelayAction(Pendulum(), 1)
    state, _ = env.step(env.reset(funcenv.key(0))[0], jnp.array([2.0]), funcenv.key(1))
    assert state.played.tolist() == [0.0] and state.waiting.tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("delay", "kind", "message"),
    [
        (-1, ValueError, "delay must be at least 0, got -1"),
        ((3, 1), ValueError, "least delay must not exceed the most"),
        (1.5, TypeError, "delay must be a number of steps or a pair"),
        ((1, 2, 3), TypeError, "delay must be a number of steps or a pair"),
    ],
)
def test_wrong_delays_are_refused(delay, kind, message):
    with pytest.raises(kind, match=message):
        DelayAction(CartPole(), delay)
    with pytest.raises(kind, match=message):
        funcenv.wrappers.RandomDelayObservation(CartPole(), delay)

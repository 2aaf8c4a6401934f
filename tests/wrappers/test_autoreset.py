"""Resets at the next step, against Gymnasium's around a twin of the same small environment."""

import gymnasium
import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.wrappers import Autoreset, FrameStackObservation, RepeatAction, TimeLimit, TransformObservation
from tests.support.tiny_envs import Counter

ACTIONS = np.random.default_rng(0).integers(0, 3, 60)


class Twin(gymnasium.Env):
    """Gymnasium's form of the counter."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gymnasium.spaces.Discrete(3)

    def seen(self):
        return np.float32([self.number, -self.number])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = 0
        return self.seen(), {}

    def step(self, action):
        self.number += int(action)
        return self.seen(), float(self.number), self.number >= 10, False, {}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Autoreset, reference.Autoreset),
        (lambda env: Autoreset(TimeLimit(env, 7)), lambda env: reference.Autoreset(reference.TimeLimit(env, 7))),
        (
            lambda env: Autoreset(FrameStackObservation(RepeatAction(env, 2), 3)),
            lambda env: reference.Autoreset(reference.FrameStackObservation(reference.RepeatAction(env, 2), 3)),
        ),
    ],
)
def test_many_episodes_as_gymnasium(ours, theirs, play):
    gym_env = theirs(Twin())
    observation, _ = gym_env.reset(seed=0)
    rows = [(observation, 0.0, False, False)] + [gym_env.step(action)[:4] for action in ACTIONS]
    _, timesteps = play(ours(Counter()), jnp.asarray(ACTIONS), funcenv.key(0))
    names = ("observation", "reward", "terminated", "truncated")
    for name, expected in zip(names, zip(*rows, strict=True), strict=True):
        np.testing.assert_array_equal(getattr(timesteps, name), np.stack(expected))
    assert timesteps.terminated.sum() + timesteps.truncated.sum() > 3


def test_info_of_a_reset_is_that_of_a_reset(play):
    _, timesteps = play(Autoreset(Counter(goal=2)), jnp.array([1, 2, 2, 1]), funcenv.key(0))
    np.testing.assert_array_equal(timesteps.info["number"], [0, 1, 3, 0, 1])
    np.testing.assert_array_equal(timesteps.info["came_from"], [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(timesteps.info["action"], [0, 1, 2, 0, 1])


def test_steps_use_the_key_that_is_passed_on_and_resets_an_extra_key():
    env, plain = Autoreset(TimeLimit(CartPole(), 2)), TimeLimit(CartPole(), 2)
    state, _ = env.reset(funcenv.key(0))
    for count, reset in enumerate([False, False, True, False, False, True]):
        key = funcenv.key(count)
        passed = jax.random.split(key)[0]
        expected = plain.initial(env.extra_key(passed)) if reset else plain.transition(state.env_state, 1, passed)
        state, timestep = env.step(state, 1, key)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), state.env_state, expected)
        assert bool(state.fresh) == reset
        assert (timestep.reward == 0) == reset


def test_a_terminal_first_state_is_not_reset_again(play):
    """The flags of a reset are False, as `FuncEnv.reset` has them, so the step after it is a step."""
    _, timesteps = play(Autoreset(Counter(goal=0)), jnp.array([1, 1, 1]), funcenv.key(0))
    np.testing.assert_array_equal(timesteps.terminated, [False, True, False, True])
    np.testing.assert_array_equal(timesteps.info["number"], [0, 1, 0, 1])


def test_wrappers_with_state_go_inside():
    message = r"put Autoreset outside of it: Autoreset\(TimeLimit\(env, ...\)\)"
    with pytest.raises(ValueError, match=message):
        TimeLimit(Autoreset(CartPole()), 5)
    with pytest.raises(ValueError, match=r"does not see where Autoreset begins a new one"):
        RepeatAction(TransformObservation(Autoreset(CartPole()), jnp.negative), 2)
    with pytest.raises(ValueError, match=r"Autoreset keeps a state for each episode"):
        Autoreset(Autoreset(CartPole()))
    assert TransformObservation(Autoreset(CartPole()), jnp.negative).unwrapped == CartPole()


def test_a_reset_pays_nothing():
    env = funcenv.make("CartPole-v1")
    assert env.reward_range == (1.0, 1.0)
    assert Autoreset(env).reward_range == (0.0, 1.0)

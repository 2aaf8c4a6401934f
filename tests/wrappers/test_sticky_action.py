"""Sticky actions against Gymnasium's: the same machine for the same luck, and the same luck on average."""

import gymnasium
import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import RepeatAction, StickyAction
from tests.support.tiny_envs import Counter


class Echo(gymnasium.Env):
    """Takes any action."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


class Luck:
    """Stands for Gymnasium's generator and gives the luck that ours had."""

    def __init__(self, stuck, durations):
        self.stuck, self.durations, self.time = stuck, durations, 0

    def uniform(self):
        return 0.0 if self.stuck[self.time] else 1.0

    def integers(self, low, high):
        duration = self.durations[self.time]
        assert low <= duration < high
        return duration


def played_and_stuck(play, num_steps, *args, seed=0):
    """Actions 1, 2, 3, ... as they were played; one that is not its own number was stuck."""
    env = StickyAction(Counter(goal=1 << 30), *args)
    chosen = jnp.arange(1, num_steps + 1, dtype=jnp.int32)
    played = np.asarray(play(env, chosen, funcenv.key(seed))[1].info["action"])[1:]
    return played, played != np.asarray(chosen)


@pytest.mark.parametrize("duration", [1, 3])
def test_the_machine_as_gymnasium(play, duration):
    played, stuck = played_and_stuck(play, 400, 0.3, duration)
    theirs = reference.StickyAction(Echo(), 0.3, duration)
    theirs.reset(seed=0)
    theirs.np_random = luck = Luck(stuck, [duration] * 400)
    for luck.time, action in enumerate(played):
        assert theirs.action(luck.time + 1) == action
    assert 50 < stuck.sum() < 350


def test_never_sticking_as_gymnasium(compare_alike):
    torques = np.random.default_rng(0).uniform(-2, 2, (15, 1)).astype(np.float32)
    compare_alike("Pendulum", lambda wrappers, env: wrappers.StickyAction(env, 0.0), torques)


def test_one_step_sticks_with_the_given_probability(play):
    _, stuck = played_and_stuck(play, 20_000, 0.25)
    assert not stuck[0]
    assert stats.binomtest(int(stuck[1:].sum()), len(stuck) - 1, 0.25).pvalue > 0.01
    after_stuck = stuck[2:][stuck[1:-1]]  # no memory
    assert stats.binomtest(int(after_stuck.sum()), len(after_stuck), 0.25).pvalue > 0.01


def test_runs_are_as_long_as_gymnasiums(play):
    played, _ = played_and_stuck(play, 20_000, 0.4, (1, 3))
    theirs = reference.StickyAction(Echo(), 0.4, (1, 3))
    theirs.reset(seed=0)
    others = [theirs.action(action) for action in range(1, 20_001)]
    runs = [np.bincount(np.minimum(np.unique(actions, return_counts=True)[1], 8))[1:] for actions in (played, others)]
    assert stats.chi2_contingency(runs).pvalue > 0.01


def test_the_reward_is_that_of_the_action_that_was_played():
    env, pendulum = StickyAction(Pendulum(), 0.99), Pendulum()
    state, _ = env.reset(funcenv.key(0))
    state, _ = env.step(state, jnp.array([2.0]), funcenv.key(1))
    after, timestep = env.step(state, jnp.array([-1.0]), funcenv.key(2))
    assert after.last_action == 2
    expected = pendulum.reward(state.env_state, jnp.array([2.0]), after.env_state)
    assert timestep.reward == expected
    assert env.reset(funcenv.key(3))[0].started == False  # noqa: E712  (an array)


def test_probability_is_a_parameter():
    env = jax.vmap(lambda probability: StickyAction(CartPole(), probability))(jnp.array([0.0, 0.999]))
    venv = funcenv.FuncVectorEnv(env, num_envs=2)
    vstate, _ = venv.reset(funcenv.key(0))
    for action in (0, 1):
        vstate, _ = venv.step(vstate, jnp.full(2, action))
    np.testing.assert_array_equal(vstate.env_state.last_action, [1, 0])


def test_inside_repeats_every_frame_may_stick():
    env = RepeatAction(StickyAction(Counter(goal=1000), 0.5), 40)
    state, _ = env.reset(funcenv.key(0))
    state, _ = env.step(state, 1, funcenv.key(1))
    first = int(state.env_state.env_state)
    state, _ = env.step(state, 0, funcenv.key(2))
    assert first == 40
    assert 40 <= int(state.env_state.env_state) < 60


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((1.0,), ValueError, r"repeat_action_probability must be at least 0 and below 1, got 1.0"),
        ((-0.1,), ValueError, r"must be at least 0 and below 1"),
        ((float("nan"),), ValueError, r"must be at least 0 and below 1"),
        ((0.5, 0), ValueError, r"repeat_action_duration must be at least 1, got 0"),
        ((0.5, (3, 2)), ValueError, r"the least repeat_action_duration must not exceed the most"),
        ((0.5, 1.5), TypeError, r"must be an integer or a pair of them, got 1.5"),
        ((0.5, (1, 2, 3)), TypeError, r"must be an integer or a pair of them"),
    ],
)
def test_wrong_arguments_are_refused(args, error, message):
    with pytest.raises(error, match=message):
        StickyAction(CartPole(), *args)

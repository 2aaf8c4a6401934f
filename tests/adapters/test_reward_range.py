"""Bounds of rewards: never exceeded, and tight."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import adapters, wrappers
from funcenv.envs import (
    Acrobot,
    Blackjack,
    CartPole,
    CliffWalking,
    FrozenLake,
    MountainCar,
    MountainCarContinuous,
    Pendulum,
    Taxi,
)
from funcenv.spaces import Box, Discrete
from tests.support.environments import is_heavy

INF = float("inf")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (CartPole(), (1.0, 1.0)),
        (CartPole(sutton_barto_reward=True), (-1.0, 0.0)),
        (Acrobot(), (-1.0, 0.0)),
        (MountainCar(), (-1.0, -1.0)),
        (MountainCarContinuous(), (-0.1, 100.0)),
        (MountainCarContinuous(min_action=1.0, max_action=2.0), (-0.4, 99.9)),
        (Pendulum(), (-16.2736044, 0.0)),  # the figure in Gymnasium's documentation
        (Pendulum(max_speed=1.0, y_init=8.0), (-16.2736044, 0.0)),
        (FrozenLake(), (0.0, 1.0)),
        (FrozenLake(reward_schedule=(5.0, -3.0, -1.0)), (-3.0, 5.0)),
        (FrozenLake(desc=["SFG"], reward_schedule=(5.0, -3.0, -1.0)), (-1.0, 5.0)),
        (CliffWalking(), (-100.0, -1.0)),
        (Taxi(), (-10.0, 20.0)),
        (Blackjack(natural=True), (-1.0, 1.5)),
        (Blackjack(natural=True, sab=True), (-1.0, 1.0)),
    ],
    ids=repr,
)
def test_bounds_follow_from_the_parameters(env, expected):
    assert env.reward_range == pytest.approx(expected, abs=1e-6)


@jax.jit
def rewards(env, actions, key):
    """Return the rewards of a sequence of actions, with a reset after each episode."""

    def step(carry, action):
        state, key = carry
        key, step_key, reset_key = jax.random.split(key, 3)
        state, timestep = env.step(state, action, step_key)
        fresh, _ = env.reset(reset_key)
        state = jax.tree.map(lambda new, old: jnp.where(timestep.done, new, old), fresh, state)
        return (state, key), timestep.reward

    first, _ = env.reset(key)
    return jax.lax.scan(step, (first, key), actions)[1]


@pytest.mark.parametrize("id", [id for id in funcenv.registry if "/" not in id])
def test_rewards_lie_in_the_range_of_every_shipped_environment(id):
    env = funcenv.make(id)
    if is_heavy(id):  # physics without bounds
        assert env.reward_range[0] < env.reward_range[1]
        return
    actions = jax.vmap(env.action_space.sample)(jax.random.split(funcenv.key(0), 4000))
    seen = np.asarray(rewards(env, actions, funcenv.key(1)))
    lowest, highest = env.reward_range
    assert lowest - 2e-6 * abs(lowest) <= seen.min() and seen.max() <= highest
    assert np.isfinite(env.reward_range).all()
    if isinstance(env.observation_space, Discrete) and "P" in dir(env.unwrapped):
        table = env.unwrapped.P
        possible = np.asarray(table.reward)[np.asarray(table.probability) > 0]
        assert lowest <= possible.min() and possible.max() <= highest


@pytest.mark.parametrize("env", [CliffWalking(), Taxi()], ids=["CliffWalking", "Taxi"])
def test_the_bounds_of_the_tables_are_reached(env):
    assert env.reward_range == (float(env.P.reward.min()), float(env.P.reward.max()))


def test_a_batch_of_environments_has_the_loosest_bounds():
    batch = jax.vmap(lambda torque: Pendulum(max_torque=torque))(jnp.array([1.0, 2.0]))
    assert batch.reward_range == pytest.approx(Pendulum().reward_range)
    schedules = FrozenLake().replace(reward_schedule=(jnp.array([1.0, 7.0]), jnp.zeros(2), jnp.array([0.0, -2.0])))
    assert schedules.reward_range == (-2.0, 7.0)


class Paid(funcenv.Wrapper):
    def reward(self, state, action, next_state):
        return jnp.float32(77)


class Bounded(wrappers.RewardWrapper):
    def outer_reward(self, reward):
        return jnp.tanh(reward)

    @property
    def reward_range(self):
        return -1.0, 1.0


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (wrappers.TimeLimit(CartPole(), 9), (1.0, 1.0)),
        (wrappers.ClipReward(Taxi(), -1.0, 5.0), (-1.0, 5.0)),
        (wrappers.ClipReward(Taxi(), max_reward=5.0), (-10.0, 5.0)),
        (wrappers.ClipReward(wrappers.TransformReward(Taxi(), abs), 0.0), (0.0, INF)),
        (wrappers.TransformReward(Taxi(), lambda reward: reward + 1), (-INF, INF)),
        (wrappers.RepeatAction(Taxi(), 3), (-30.0, 60.0)),
        (wrappers.RepeatAction(CartPole(), 3), (1.0, 3.0)),
        (wrappers.MaxAndSkipObservation(CartPole(), 2), (1.0, 2.0)),
        (wrappers.Autoreset(CartPole()), (0.0, 1.0)),
        (wrappers.RandomizeParameters(Pendulum(), lambda key, env: {"g": 1.0}), (-INF, INF)),
        (Paid(Taxi()), (-INF, INF)),
        (Bounded(Taxi()), (-1.0, 1.0)),
    ],
    ids=lambda value: str(value) if isinstance(value, tuple) else type(value).__name__,
)
def test_wrappers_pass_bounds_on_or_change_them(env, expected):
    assert env.reward_range == expected


def test_an_author_who_says_nothing_promises_nothing():
    class Bare(funcenv.FuncEnv):
        @property
        def action_space(self):
            return Box(0, 1)

    assert Bare().reward_range == (-INF, INF) == adapters.Env.reward_range


def test_the_stateful_environment_has_the_bounds_of_its_episode():
    env = adapters.make("Pendulum-v1")
    assert env.reward_range == pytest.approx((-16.2736044, 0.0))
    env.reset(seed=0, options={"max_torque": 10.0})
    assert env.reward_range == pytest.approx((-16.2736044 - 0.001 * 96, 0.0))
    env.reset()
    assert env.reward_range == pytest.approx((-16.2736044, 0.0))
    assert env.metadata["jax"] is False  # its observations are NumPy's

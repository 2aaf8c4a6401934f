"""Environments with few states remember the results of steps, and repeat them bit for bit."""

import copy

import jax
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.adapters import FunctionalEnv
from funcenv.adapters.engine.remembered import NUM_COMPUTED_STEPS
from funcenv.envs import CliffWalking, FrozenLake, Taxi
from funcenv.wrappers import TimeLimit
from tests.support.programs import programs_of

pytestmark = pytest.mark.fast_path

ENVS = {
    "FrozenLake": lambda: TimeLimit(FrozenLake(success_rate=0.8), 20),
    "FrozenLake, dry": lambda: FrozenLake(is_slippery=False, map_name="8x8"),
    "FrozenLake, two starts": lambda: FrozenLake(desc=["SFF", "FFG", "SHF"]),
    "CliffWalking": lambda: TimeLimit(CliffWalking(), 30),
    "CliffWalking, slippery": lambda: TimeLimit(CliffWalking(is_slippery=True), 30),
    "Taxi": lambda: TimeLimit(Taxi(), 50),
    "Taxi, rainy": lambda: TimeLimit(Taxi(is_rainy=True), 50),
}


class SubclassedLake(FrozenLake):
    """A subclass, which may use keys in another way."""


def remembers(env):
    return programs_of(env).remembered is not None


def plain(make, monkeypatch):
    """Return an environment that computes every step."""
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    env = FunctionalEnv(make())
    env.reset(seed=3)
    assert not remembers(env)
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "0")
    return env


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert jax.tree.map(type, one) == jax.tree.map(type, other)


@pytest.mark.parametrize("name", ENVS)
def test_remembered_steps_are_those_of_the_program(name, monkeypatch):
    """The keys go on as well, so that the whole states are equal, too."""
    env, computed = FunctionalEnv(ENVS[name]()), plain(ENVS[name], monkeypatch)
    env.reset(seed=3)
    assert remembers(env)
    actions = np.random.default_rng(0).integers(0, env.action_space.n, 3 * NUM_COMPUTED_STEPS).tolist()
    for number, action in enumerate(actions):
        stepped, expected = env.step(action), computed.step(action)
        assert_same(stepped, expected)
        if number % 100 == 0:
            assert_same(jax.device_get(env.state.env_state), jax.device_get(computed.state.env_state))
            assert (env.state.key, env.state.num_calls) == (computed.state.key, computed.state.num_calls)
        if stepped[2] or stepped[3]:
            seed = 5 if number > 2 * NUM_COMPUTED_STEPS and number % 3 == 0 else None
            assert_same(env.reset(seed=seed), computed.reset(seed=seed))


def walk(env, count):
    for _ in range(count):
        if any(env.step(1)[2:4]):
            env.reset()


def test_states_parameters_and_faces_are_followed():
    """A remembered step goes on from whatever state is there, with the parameters of the episode."""
    env = FunctionalEnv(TimeLimit(CliffWalking(), 1000))
    env.reset(seed=0)
    walk(env, NUM_COMPUTED_STEPS + 5)
    assert env.step(0)[0] == 24
    state = env.state
    assert env.step(0)[0] == 12 and env.unwrapped.step(0)[0] == 0 and env.step(2)[0] == 12
    env.state = state
    assert env.step(1)[:2] == (25, -1.0)
    env.step_reward = -2.0
    assert env.step(1)[:2] == (26, -2.0)
    env.reset(options={"step_reward": -3.0})
    assert env.step(0)[:2] == (24, -3.0)
    other = copy.deepcopy(env)
    assert other.step(1)[:2] == env.step(1)[:2] == (25, -3.0)


def test_a_transfer_guard_allows_remembered_steps():
    env = FunctionalEnv(TimeLimit(FrozenLake(success_rate=0.7), 10))
    env.reset(seed=0)
    with jax.transfer_guard("disallow"):
        walk(env, NUM_COMPUTED_STEPS + 50)
        env.unwrapped.step(0)
        env.reset(options={"success_rate": 0.5})
        env.step(0)


def test_a_time_limit_ends_a_remembered_episode():
    env = FunctionalEnv(TimeLimit(CliffWalking(), 4))
    env.reset(seed=0)
    walk(env, NUM_COMPUTED_STEPS + 50)
    env.reset()
    assert [env.step(0)[3] for _ in range(4)] == [False, False, False, True]


def test_results_that_a_user_changes_are_not_remembered():
    env = adapters.make("Taxi-v4")
    env.reset(seed=0)
    walk(env, NUM_COMPUTED_STEPS + 5)
    env.step(0)
    env.step(1)
    first = env.step(0)[4]["action_mask"]
    expected = first.copy()
    first[:] = 7
    env.step(1)
    np.testing.assert_array_equal(env.step(0)[4]["action_mask"], expected)


@pytest.mark.parametrize(
    "make",
    [
        SubclassedLake,
        lambda: Taxi(fickle_passenger=True),
        lambda: funcenv.wrappers.ClipReward(CliffWalking(), 0.0, 1.0),
        lambda: funcenv.make("CartPole-v1"),
    ],
)
def test_other_environments_are_computed(make):
    env = FunctionalEnv(make())
    env.reset(seed=0)
    assert not remembers(env)


def test_debugging_computes_every_step():
    with jax.debug_nans(True):
        env = FunctionalEnv(CliffWalking(step_reward=-4.0))
        env.reset(seed=0)
        assert not remembers(env)

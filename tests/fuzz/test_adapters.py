"""Stateful environments called in any way: a call that is refused changes nothing, and others act as Gymnasium's."""

import numpy as np
import pytest
from hypothesis import strategies as st

import funcenv
from funcenv import adapters
from tests.fuzz.cases import cases
from tests.fuzz.oracle import REFUSED, Ledger
from tests.fuzz.values import keywords, mostly, odd

LEDGER = Ledger("adapters")

NUM_ENVS = 2
IDS = ("CartPole-v1", "Pendulum-v1")
SEEDS = st.integers(0, 99)


@pytest.fixture(scope="module", autouse=True)
def environments():
    """Make two environments of each kind, which are stepped side by side, and compile them once."""
    for id in IDS:
        SINGLE[id] = [adapters.make(id, max_episode_steps=4) for _ in range(2)]
        BATCH[id] = [adapters.make_vec(id, num_envs=NUM_ENVS, max_episode_steps=4) for _ in range(2)]
    yield
    SINGLE.clear()
    BATCH.clear()


SINGLE, BATCH = {}, {}
ACTIONS = {
    "CartPole-v1": st.integers(0, 1),
    "Pendulum-v1": st.floats(-2, 2, width=32).map(lambda x: np.array([x], "f4")),
}


@cases(500, st.sampled_from(IDS), SEEDS, st.data())
def test_a_refused_action_changes_nothing(id, seed, data):
    env, twin = SINGLE[id]
    same(env.reset(seed=seed), twin.reset(seed=seed))
    for action in data.draw(st.lists(mostly(ACTIONS[id], odd()), min_size=1, max_size=5)):
        result = LEDGER.attempt(env.step, action=action, names=["actions"])
        if result is not REFUSED:
            same(result, twin.step(np.asarray(action, env.action_space.dtype)[()]))
            assert np.asarray(action, env.action_space.dtype) in env.action_space
            if result[2] or result[3]:
                assert LEDGER.attempt(env.step, action=action, names=["reset"]) is REFUSED
                return


@cases(400, st.sampled_from(IDS), SEEDS, st.data())
def test_a_refused_batch_of_actions_changes_nothing(id, seed, data):
    envs, twins = BATCH[id]
    same(envs.reset(seed=seed), twins.reset(seed=seed))
    right = st.lists(ACTIONS[id], min_size=NUM_ENVS, max_size=NUM_ENVS)
    short = st.lists(ACTIONS[id], max_size=NUM_ENVS + 1)
    mixed = st.lists(mostly(ACTIONS[id], odd()), min_size=NUM_ENVS, max_size=NUM_ENVS)
    for actions in data.draw(st.lists(st.one_of(right, right, short, mixed, odd()), min_size=1, max_size=3)):
        result = LEDGER.attempt(envs.step, actions=actions)
        if result is not REFUSED:
            same(result, twins.step(np.asarray(actions, envs.action_space.dtype)))


@cases(400, st.sampled_from(IDS), SEEDS, st.booleans(), keywords({}, {"seed": SEEDS, "options": st.just(None)}))
def test_a_refused_reset_changes_nothing(id, seed, is_batch, arguments):
    env, twin = (BATCH if is_batch else SINGLE)[id]
    same(env.reset(seed=seed), twin.reset(seed=seed))
    result = LEDGER.attempt(env.reset, **arguments)
    if result is not REFUSED:
        same(result, twin.reset(**arguments))
    same(env.reset(), twin.reset())


def same(result, expected):
    """Assert that two results of the same call are equal."""
    for one, other in zip(result, expected, strict=True):
        if isinstance(one, dict):
            assert one.keys() == other.keys()
        else:
            np.testing.assert_array_equal(one, other)


MAKE = {
    "render_mode": st.sampled_from([None, "rgb_array", "ansi", "rgb_array_list", "human"]),
    "max_episode_steps": st.one_of(st.none(), st.integers(1, 9), st.just(-1)),
    "render_height": st.integers(1, 9),
    "render_width": st.integers(1, 9),
    "disable_env_checker": st.booleans(),
}


@cases(240, keywords({"id": st.sampled_from(["CartPole-v1", "FrozenLake-v1", "CartPole", "Cartpole-v1"])}, MAKE))
def test_an_environment_is_refused_or_as_it_was_asked_for(arguments):
    env = LEDGER.attempt(adapters.make, **arguments)
    if env is not REFUSED:
        assert env.render_mode == arguments.get("render_mode")
        env.close()


MAKE_VEC = {
    "num_envs": st.integers(1, 3),
    "autoreset_mode": st.sampled_from([*funcenv.AutoresetMode, "NextStep", "Disabled"]),
    "output": st.sampled_from(["numpy", "jax"]),
    "render_mode": MAKE["render_mode"],
    "max_episode_steps": MAKE["max_episode_steps"],
    "vectorization_mode": st.sampled_from([None, "sync", "async", "vector_entry_point"]),
    "wrappers": st.just(None),
}


@cases(240, keywords({"id": st.sampled_from(["CartPole-v1", "FrozenLake-v1"])}, MAKE_VEC))
def test_a_batch_of_environments_is_refused_or_as_it_was_asked_for(arguments):
    envs = LEDGER.attempt(adapters.make_vec, **arguments)
    if envs is not REFUSED:
        assert envs.num_envs == arguments.get("num_envs", 1) and envs.action_space.shape == (envs.num_envs,)
        envs.close()

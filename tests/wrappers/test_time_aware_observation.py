"""The age of the episode against Gymnasium's."""

import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.spaces import Tuple
from funcenv.wrappers import (
    RepeatAction,
    TimeAwareObservation,
    TimeLimit,
    TransformObservation,
)

PUSHES = np.arange(12) % 2


@pytest.mark.parametrize("flatten", [True, False])
@pytest.mark.parametrize("normalize_time", [True, False])
def test_as_gymnasium(compare_alike, flatten, normalize_time):
    steps = compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 10), flatten, normalize_time),
        PUSHES,
    )
    assert steps == 10


def test_in_a_dict_as_gymnasium(compare_alike):
    def twice(time_aware, env):
        return time_aware(time_aware(env, flatten=False), flatten=False, dict_time_key="age", normalize_time=True)

    compare_alike(
        "CartPole", lambda wrappers, env: twice(wrappers.TimeAwareObservation, wrappers.TimeLimit(env, 10)), PUSHES
    )


def test_in_a_tuple():
    def halves(observation):
        return observation[:2], observation[2:]

    half = funcenv.spaces.Box(-jnp.inf, jnp.inf, (2,))
    env = TransformObservation(TimeLimit(CartPole(), 10), halves, Tuple([half, half]))
    env = TimeAwareObservation(env, flatten=False)
    assert [space.shape for space in env.observation_space] == [(2,), (2,), (1,)]
    assert env.reset(funcenv.key(0))[1].observation[2].dtype == jnp.int32


def test_counts_the_steps_that_it_sees():
    outside = TimeAwareObservation(RepeatAction(TimeLimit(CartPole(), 10), 3))
    inside = RepeatAction(TimeAwareObservation(TimeLimit(CartPole(), 10)), 3)
    for env, age in ((outside, 1), (inside, 3)):
        state, _ = env.reset(funcenv.key(0))
        assert env.step(state, 0, funcenv.key(1))[1].observation[4] == age


def test_stays_in_its_space_after_the_limit():
    env = TimeAwareObservation(TimeLimit(CartPole(), 2), normalize_time=True)
    state, timestep = env.reset(funcenv.key(0))
    for i in range(4):
        state, timestep = env.step(state, i % 2, funcenv.key(i))
    assert timestep.observation[4] == 1
    assert bool(env.observation_space.contains(timestep.observation))


def test_wrong_order_and_arguments_are_refused():
    with pytest.raises(ValueError, match=r"needs a TimeLimit inside: TimeAwareObservation\(TimeLimit\(env, 500\)\)"):
        TimeLimit(TimeAwareObservation(CartPole()), 5)
    inside = TimeAwareObservation(TimeLimit(CartPole(), 5), flatten=False)
    with pytest.raises(ValueError, match=r"dict_time_key='time' is a key of Dict\(.*; choose another"):
        TimeAwareObservation(inside)

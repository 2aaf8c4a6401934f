"""Stateful transformations, compared with Gymnasium's wrappers around the same environment."""

import gymnasium
import numpy as np
import pytest

from funcenv import adapters
from funcenv.adapters import wrappers as ours
from funcenv.adapters.gymnasium import HandwrittenGymnasiumEnv
from tests.support.documented_envs import GridWorldEnv, PointEnv

theirs = gymnasium.wrappers


def limited(wrappers, env):
    return wrappers.TimeLimit(env, 4)


PAIRS = {
    "ClipAction": (PointEnv, lambda wrappers, env: wrappers.ClipAction(env)),
    "RescaleAction": (PointEnv, lambda wrappers, env: wrappers.RescaleAction(env, np.float32(0), np.float32(1))),
    "TimeAwareObservation": (PointEnv, lambda wrappers, env: wrappers.TimeAwareObservation(limited(wrappers, env))),
    "TimeAwareObservation of a dict": (
        GridWorldEnv,
        lambda wrappers, env: wrappers.TimeAwareObservation(
            limited(wrappers, env), flatten=False, normalize_time=True, dict_time_key="clock"
        ),
    ),
    "FlattenObservation": (GridWorldEnv, lambda wrappers, env: wrappers.FlattenObservation(env)),
    "ClipReward": (PointEnv, lambda wrappers, env: wrappers.ClipReward(env, 0.0, 0.5)),
    "FrameStackObservation": (PointEnv, lambda wrappers, env: wrappers.FrameStackObservation(env, 3)),
    "FrameStackObservation of a dict": (
        GridWorldEnv,
        lambda wrappers, env: wrappers.FrameStackObservation(env, 2, padding_type="zero"),
    ),
    "NormalizeObservation": (PointEnv, lambda wrappers, env: wrappers.NormalizeObservation(env)),
    "NormalizeReward": (PointEnv, lambda wrappers, env: wrappers.NormalizeReward(env, gamma=0.9)),
    "TransformReward": (PointEnv, lambda wrappers, env: wrappers.TransformReward(env, lambda reward: 3 * reward)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_transformation_is_gymnasiums(name):
    make_env, wrap = PAIRS[name]
    env, reference = wrap(ours, make_env()), wrap(theirs, HandwrittenGymnasiumEnv(make_env()))
    assert repr(env.observation_space) == repr(reference.observation_space) or name.startswith("TimeAware")
    assert repr(env.action_space) == repr(reference.action_space)
    env.action_space.seed(0)
    observations = env.reset(seed=3)[0], reference.reset(seed=3)[0]
    for _ in range(4):
        assert_same(*observations)
        assert observations[0] in env.observation_space
        action = env.action_space.sample()
        step, expected = env.step(action), reference.step(action)
        np.testing.assert_allclose(step[1], expected[1], rtol=1e-6)
        assert step[2:4] == expected[2:4]
        observations = step[0], expected[0]


def assert_same(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    else:
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_a_time_limit_is_in_its_spec():
    env = ours.TimeLimit(adapters.make("CartPole-v1"), 10)
    assert env.spec.max_episode_steps == 10 and ours.TimeLimit(PointEnv(), 3).spec is None


def test_what_cannot_be_wrapped_is_named():
    with pytest.raises(ValueError, match="TimeAwareObservation needs a TimeLimit inside"):
        ours.TimeAwareObservation(PointEnv())

    class Own(adapters.Space):
        pass

    env = PointEnv()
    env.observation_space = Own()
    with pytest.raises(
        TypeError, match=r"FlattenObservation needs an observation_space made of those in funcenv\.adapt"
    ):
        ours.FlattenObservation(env)

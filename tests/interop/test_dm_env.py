"""Environments behind the interface of dm_env, with that package's own tests."""

import importlib
import sys
import unittest

import numpy as np
import pytest
from absl.testing import absltest
from dm_env import specs, test_utils

from funcenv import adapters, to_dm_env
from funcenv.interop.dm_env import DmEnv, spec_of
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from tests.support.environments import ids, sampled


def dm_env_failures(id, num_steps=30, **arguments):
    """Run the tests that dm_env offers to environments, and return what failed."""

    class MixinTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
        def make_object_under_test(self):
            return to_dm_env(id, seed=0, **arguments)

        def make_action_sequence(self):
            space = self.environment.env.action_space
            space.seed(0)
            return [space.sample() for _ in range(num_steps)]

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(MixinTest).run(result)
    assert result.testsRun > 3 and not result.skipped
    return result.failures + result.errors


@pytest.mark.parametrize("id", sampled(ids()))
def test_dm_env_accepts_every_id(id):
    assert dm_env_failures(id) == []


def test_dm_env_accepts_ends_by_time():
    assert dm_env_failures("Pendulum-v1", max_episode_steps=7) == []


def test_truncation_has_a_discount_of_1_and_termination_of_0():
    env = to_dm_env("CartPole-v1", seed=0, max_episode_steps=3)
    env.reset()
    steps = [env.step(0) for _ in range(3)]
    assert [step.discount for step in steps] == [1, 1, 1] and steps[-1].last()
    assert env.step(0).first()  # the action is ignored
    env = to_dm_env("CartPole-v1", seed=0)
    env.reset()
    while not (step := env.step(0)).last():
        pass
    assert step.discount == 0


def test_a_seed_replays_the_first_episode_and_the_next_differs():
    one, other = to_dm_env("CartPole-v1", seed=4), to_dm_env(adapters.make("CartPole-v1"), seed=4)
    first = one.reset().observation
    np.testing.assert_array_equal(first, other.reset().observation)
    assert (one.reset().observation != first).any()


def test_specs_tell_bounds():
    nested = spec_of(Dict(a=Tuple([Discrete(3), Discrete(3, start=1)]), b=MultiBinary(2), c=MultiDiscrete([2, 5])), "x")
    assert isinstance(nested["a"][0], specs.DiscreteArray) and nested["a"][0].num_values == 3
    assert (nested["a"][1].minimum, nested["a"][1].maximum, nested["a"][1].name) == (1, 3, "a_1")
    assert nested["b"].maximum == 1 and nested["c"].maximum.tolist() == [1, 4]
    assert type(spec_of(Box(-np.inf, np.inf, (2,)), "x")) is specs.Array
    assert spec_of(Box(-1, np.inf, (2,)), "x").minimum.tolist() == [-1, -1]
    env = to_dm_env("CartPole-v1")
    env.reward_spec().validate(np.float64(1))
    env.observation_spec().validate(env.reset().observation)
    assert isinstance(env, DmEnv) and env.info == {}
    env.close()


def test_bad_input_is_named(monkeypatch):
    with pytest.raises(TypeError, match=r"has no counterpart among the specs of dm_env; wrap the environment"):
        spec_of(Text(3), "x")
    with pytest.raises(TypeError, match=r"gravity: arguments need an id; got FunctionalEnv, which is made already"):
        to_dm_env(adapters.make("CartPole-v1"), gravity=1.6)
    monkeypatch.setitem(sys.modules, "dm_env", None)
    monkeypatch.delitem(sys.modules, "funcenv.interop.dm_env")
    with pytest.raises(ModuleNotFoundError, match=r'this needs dm_env: pip install "dm_env>=1.5"'):
        importlib.import_module("funcenv.interop.dm_env")

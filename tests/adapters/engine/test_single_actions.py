"""Actions and observations of every kind of space pass through the stateful interface in Gymnasium's form."""

import jax
import numpy as np
import pytest

from funcenv import spaces
from funcenv.adapters import FunctionalEnv
from tests.support.tiny_envs import Echo

KINDS = {
    "Box": spaces.Box(-1.0, 1.0, (2,)),
    "Discrete": spaces.Discrete(3, start=-1),
    "MultiDiscrete": spaces.MultiDiscrete([2, 3]),
    "MultiBinary": spaces.MultiBinary(4),
    "Tuple": spaces.Tuple([spaces.Discrete(2), spaces.Box(0.0, 1.0, (2,))]),
    "Dict": spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Text(4)}),
    "Text": spaces.Text(5),
    "Sequence": spaces.Sequence(spaces.Discrete(3), max_length=4),
    "OneOf": spaces.OneOf([spaces.Discrete(2), spaces.Box(0.0, 1.0, (2,))]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_action_comes_back_as_it_went_in(kind):
    env = FunctionalEnv(Echo(KINDS[kind]))
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    for _ in range(5):
        action = env.action_space.sample()
        observation, *_ = env.step(action)
        jax.tree.map(np.testing.assert_array_equal, observation, action)
        assert env.observation_space.contains(observation)

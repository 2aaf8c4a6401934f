"""Actions and observations of every kind of space pass through the stateful interface in Gymnasium's form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import spaces
from funcenv.adapters import FunctionalEnv

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


class Echo(funcenv.FuncEnv):
    """An environment whose observation is the last action."""

    space: spaces.Space = funcenv.field(pytree_node=False)

    @property
    def observation_space(self):
        return self.space

    @property
    def action_space(self):
        return self.space

    def initial(self, key):
        return jax.tree.map(jnp.asarray, self.space.sample(key))

    def transition(self, state, action, key):
        return jax.tree.map(lambda old, new: jnp.asarray(new, old.dtype), state, action)

    def observation(self, state, key):
        return state

    def reward(self, state, action, next_state):
        return 0.0

    def terminal(self, state):
        return False


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

"""An environment with a space of any kind."""

import jax.numpy as jnp
import pytest

from funcenv import FuncEnv, field, spaces


class Parrot(FuncEnv):
    """An environment whose observation is the last action."""

    space: spaces.Space = field(pytree_node=False)

    @property
    def observation_space(self):
        return self.space

    @property
    def action_space(self):
        return self.space

    def initial(self, key):
        return self.space.sample(key)

    def transition(self, state, action, key):
        return action

    def observation(self, state, key):
        return state

    def reward(self, state, action, next_state):
        return 0.0

    def terminal(self, state):
        return jnp.zeros((), bool)


@pytest.fixture
def parrot():
    return Parrot

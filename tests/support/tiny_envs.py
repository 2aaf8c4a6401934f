"""Tiny environments, each named by what it does, on which tests show a law.

`Tiny` fills in what most of them share; a test that needs one property more derives an environment from it.
"""

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.spaces import Box, Discrete, Space


class Tiny(funcenv.FuncEnv):
    """Two actions and unbounded numbers, of which the state is the observation; no rewards and no end."""

    observation_space = Box(-jnp.inf, jnp.inf, ())
    action_space = Discrete(2)

    def observation(self, state, key):
        return state

    def reward(self, state, action, next_state):
        return 0.0

    def terminal(self, state):
        return jnp.zeros((), bool)


class Counter(Tiny):
    """Counts up by the action; pays the number reached; ends at `goal`. Observations are noisy where asked for."""

    goal: int = 10
    noise: float = 0.0
    observation_space = Box(-jnp.inf, jnp.inf, (2,))
    action_space = Discrete(3)

    def initial(self, key):
        return jnp.int32(0)

    def transition(self, state, action, key):
        return state + jnp.asarray(action, jnp.int32)

    def observation(self, state, key):
        shown = jnp.stack([state, -state]).astype(jnp.float32)
        return shown + self.noise * jax.random.normal(key, (2,), jnp.float32)

    def reward(self, state, action, next_state):
        return next_state.astype(float)

    def terminal(self, state):
        return state >= self.goal

    def transition_info(self, state, action, next_state):
        return {"came_from": state, "action": jnp.asarray(action, jnp.int32)}

    def state_info(self, state):
        return {"number": state}


class Echo(Tiny):
    """Shows the last action; actions and observations are the members of a given space."""

    space: Space = funcenv.field(pytree_node=False)

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


class Sampler(Echo):
    """Shows random members of a given space, whatever the action; the state counts to 3."""

    def initial(self, key):
        return jax.random.randint(key, (), 0, 3)

    def transition(self, state, action, key):
        return (state + 1) % 3

    def observation(self, state, key):
        return self.space.sample(key)


class Walk(Tiny):
    """Walks at random in four dimensions; pays where it is; ends beyond 3."""

    observation_space = Box(-jnp.inf, jnp.inf, (4,))

    def initial(self, key):
        return jax.random.normal(key, (4,), jnp.float32)

    def transition(self, state, action, key):
        return state + jax.random.normal(key, (4,), jnp.float32)

    def reward(self, state, action, next_state):
        return next_state.sum()

    def terminal(self, state):
        return jnp.abs(state).max() > 3


class Screen(funcenv.Wrapper):
    """Shows a given image in every state."""

    image: object = funcenv.field(ndim=3)

    def observation(self, state, key):
        del state, key
        return self.image

    @property
    def observation_space(self):
        return Box(0, 255, np.shape(self.image), np.uint8)

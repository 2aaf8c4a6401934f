"""An environment with some of its work taken away, and policies to go with it.

What a part of a step costs is the difference between two programs, one with that part and one without. XLA fuses the
parts into each other, so that timing them one by one would measure something else.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, FuncEnv, Obs, State
from funcenv.rollout import RandomPolicy
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers import Wrapper


class Fixed:
    """Constants that stand in for what is drawn: a first state, an action, and a key; hashed by identity."""

    def __init__(self, env: FuncEnv[Any, Any, Any], key: jax.Array) -> None:
        reset_key, action_key, draw_key = jax.random.split(key, 3)
        self._impl = jax.random.key_impl(key)
        self._words = np.asarray(jax.random.key_data(draw_key))
        self.start = jax.tree.map(np.asarray, jax.jit(lambda env, key: env.reset(key)[0])(env, reset_key))
        self.action = jax.tree.map(np.asarray, env.action_space.sample(action_key))

    def key(self) -> jax.Array:
        """The same key every time."""
        return jax.random.wrap_key_data(jnp.asarray(self._words), impl=self._impl)


class Reduced(Wrapper[State, Action, Obs]):
    """The environment without its physics, its randomness, or its resets.

    Without `physics` the state never changes, nothing is rewarded, and nothing ends, although the flag still depends on
    the state, so that XLA leaves in what follows from it. Without `draws` the functions are
    given the same key every time, so that a batch draws once instead of once for each environment. Without `resets`
    every episode begins in the same, precomputed state.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> still = Reduced(env, Fixed(env, funcenv.key(0)), physics=False, draws=False, resets=False)
    >>> state, _ = still.reset(funcenv.key(1))
    >>> bool(still.step(state, 0, funcenv.key(2))[0].env_state.x == state.env_state.x)
    True
    """

    fixed: Fixed = field(pytree_node=False)
    physics: bool = field(pytree_node=False, default=True)
    draws: bool = field(pytree_node=False, default=True)
    resets: bool = field(pytree_node=False, default=True)

    def initial(self, key: jax.Array) -> State:
        """A drawn state, or the precomputed one."""
        if self.resets:
            return self.env.initial(key)
        start: State = jax.tree.map(jnp.asarray, self.fixed.start)
        return start

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """The dynamics, or the same state again."""
        if not self.physics:
            return state
        return self.env.transition(state, action, key if self.draws else self.fixed.key())

    def observation(self, state: State, key: jax.Array) -> Obs:
        """What the agent sees."""
        return self.env.observation(state, key if self.draws else self.fixed.key())

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """The reward, or 0."""
        if not self.physics:
            return jnp.zeros((), float)
        return self.env.reward(state, action, next_state)

    def terminal(self, state: State) -> Bool[Array, ""]:
        """The end, or never."""
        return self.env.terminal(state) if self.physics else _adds_up_to_something_unlikely(state)

    def truncated(self, state: State) -> Bool[Array, ""]:
        """The end, or never."""
        return self.env.truncated(state) if self.physics else jnp.zeros((), bool)


class ConstantPolicy(PyTreeNode):
    """Plays the same action always."""

    fixed: Fixed = field(pytree_node=False)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """The action."""
        del observation, key
        return jax.tree.map(jnp.asarray, self.fixed.action)


class LookingPolicy(PyTreeNode):
    """Plays random actions, but reads every number of the observation, so that it has to be made.

    The action is 0 if the numbers add up to one that they never add up to.
    """

    random: RandomPolicy

    def key_of_step(self, policy_key: jax.Array, number: jax.Array) -> jax.Array:
        """As the random policy's."""
        return self.random.key_of_step(policy_key, number)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """A random action."""
        unlikely = _adds_up_to_something_unlikely(observation)
        return jax.tree.map(lambda leaf: jnp.where(unlikely, jnp.zeros_like(leaf), leaf), self.random(observation, key))


def _adds_up_to_something_unlikely(tree: Any) -> jax.Array:
    """False, for all that XLA knows a bool that depends on every number in the tree."""
    total = sum((leaf.astype(jnp.float32).sum() for leaf in jax.tree.leaves(tree)), start=jnp.zeros((), jnp.float32))
    return total == np.float32(1.2345678e33)

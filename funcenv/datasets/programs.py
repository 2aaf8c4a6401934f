"""The programs that record datasets and that replay them: the same ones, so that results are equal bit for bit.

XLA may round a*b+c differently in programs of different shapes. Recording and verification therefore call the same two
compiled functions, which reset and step `NUM_ROWS` environments at a time, whatever the number of episodes.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.kept_jit import KeptJit
from funcenv.datasets.leaves import from_words, to_words
from funcenv.func_env import AnyEnv, Timestep
from funcenv.policy import key_of_step
from funcenv.random.generators import find_impl
from funcenv.struct import NDArray
from funcenv.vector_step import call_key, map_rows

NUM_ROWS = 16
"""The number of environments that each call steps."""


class Results(NamedTuple):
    """Results of resets or steps; every leaf has a leading axis `[NUM_ROWS]`."""

    state: Any  # with words in place of keys
    observation: Any
    reward: Any
    terminated: Any
    truncated: Any

    @classmethod
    def of(cls, state: Any, timestep: Timestep[Any]) -> Results:
        """Return the results of calls that led to these states and time steps."""
        return cls(to_words(state), timestep.observation, timestep.reward, timestep.terminated, timestep.truncated)


@functools.partial(KeptJit, static_argnames=["impl"])
def reset_rows(env: AnyEnv, key: Any, impl: str) -> Results:
    """Reset `NUM_ROWS` environments, given the words of the keys of the calls, `[NUM_ROWS, words]`."""
    return Results.of(*map_rows(lambda env, key: env.reset(key), env, NUM_ROWS, _keys(key, impl)))


@functools.partial(KeptJit, static_argnames=["impl"])
def step_rows(env: AnyEnv, state: Any, action: Any, key: Any, impl: str) -> Results:
    """Step `NUM_ROWS` environments from stored states, given the words of the keys of the calls."""
    template = jax.eval_shape(env.reset, jax.random.key(0))[0]
    args = from_words(state, template), action, _keys(key, impl)
    return Results.of(*map_rows(lambda env, *args: env.step(*args), env, NUM_ROWS, *args))


@functools.partial(KeptJit, static_argnames=["impl"])
def call_keys(env_key: Any, call: Any, impl: str) -> Any:
    """Return the words of the keys of calls, given the words of the environments' keys and the numbers of the calls."""
    return jax.random.key_data(jax.vmap(call_key)(_keys(env_key, impl), call))


@functools.partial(KeptJit, static_argnames=["impl"])
def choose_actions(env: AnyEnv, policy: Any, policy_key: Any, step_index: Any, observation: Any, impl: str) -> Any:
    """Return the action of a policy in each of `NUM_ROWS` environments, in the dtypes of the action space."""
    function = policy.func if isinstance(policy, jax.tree_util.Partial) else policy

    def act(policy_key: jax.Array, step_index: jax.Array, observation: Any) -> Any:
        return policy(observation, key_of_step(function, policy_key, step_index))

    actions = jax.vmap(act)(_keys(policy_key, impl), step_index, observation)
    return jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), actions, env.action_space.abstract_member())


def padded(rows: NDArray, start: int) -> NDArray:
    """Return `NUM_ROWS` rows from `start` on, the last one repeated where there are fewer.

    >>> padded(np.arange(20), 16).tolist()[:6]
    [16, 17, 18, 19, 19, 19]
    """
    return rows[np.minimum(np.arange(start, start + NUM_ROWS), len(rows) - 1)]


def _keys(words: Any, impl: str) -> jax.Array:
    return jax.random.wrap_key_data(words, impl=find_impl(impl))

"""Train small agents, compare train states, and stop runs."""

import signal

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.train import recurrent_ppo
from funcenv.train.loop import Learner


def same_states(a, b):
    """Assert that two trees are equal, bit for bit."""

    def data(leaf):
        return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf

    jax.tree.map(lambda x, y: np.testing.assert_array_equal(data(x), data(y)), a, b)


def stop_after_a_call(patch):
    """Send SIGINT after the first compiled call, which does one update."""
    advance = Learner.advance

    def advance_and_stop(self, state, num_updates, *donate):
        result = advance(self, state, num_updates, *donate)
        signal.raise_signal(signal.SIGINT)
        return result

    patch.setattr(Learner, "advance", advance_and_stop)


def with_memory(agent, observation):
    """Return the observation at the beginning of an episode: with an empty memory, if the agent has one."""
    if isinstance(agent, recurrent_ppo.Agent):
        return {"memory": agent.empty_memory(), "observation": observation}
    return observation


def learned(algorithm, config):
    """Train one agent, and return the last state and the mean return of 16 greedy episodes."""
    learner = Learner(algorithm, config)
    state, _ = learner.advance(learner.init(funcenv.key(0)), config.num_updates)
    return state, funcenv.evaluate(learner.env, learner.agent(state), 16, funcenv.key(1)).mean_return

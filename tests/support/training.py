"""Compares train states, and stops runs."""

import signal

import jax
import jax.numpy as jnp
import numpy as np

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

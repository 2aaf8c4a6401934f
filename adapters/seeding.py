"""From a seed to numpy's generator, and from the generator to a JAX key.

numpy's generator is the root: whoever steers `env.np_random` steers the whole environment. No two seeds alias, however
large, because numpy's `SeedSequence` reads all of their bits, and the key takes 64 of the bits that follow.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import numpy as np

from funcenv.random import default_impl


def np_random(seed: Any = None) -> tuple[np.random.Generator, int]:
    """A generator and the seed it was made from, as Gymnasium makes them; without a seed, from the system's entropy.

    >>> generator, seed = np_random(7)
    >>> seed, generator.random() == np_random(7)[0].random()
    (7, True)
    >>> np_random(-1)
    Traceback (most recent call last):
        ...
    ValueError: a seed must be a non-negative integer, got -1
    """
    if seed is not None:
        try:
            seed = operator.index(seed)
        except TypeError:
            raise TypeError(f"a seed must be an integer, got {seed!r} of type {type(seed).__name__}") from None
        if seed < 0:
            raise ValueError(f"a seed must be a non-negative integer, got {seed}")
    sequence = np.random.SeedSequence(seed)
    entropy: Any = sequence.entropy
    return np.random.Generator(np.random.PCG64(sequence)), int(entropy)


def draw_key(generator: np.random.Generator) -> jax.Array:
    """A key from the generator's next bits.

    >>> draw_key(np_random(7)[0]) == seed_to_key(7)
    Array(True, dtype=bool)
    """
    impl = default_impl()
    words = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=impl))).size
    return jax.random.wrap_key_data(jax.numpy.asarray(generator.integers(0, 2**32, words, np.uint32)), impl=impl)


def seed_to_key(seed: int) -> jax.Array:
    """The key that a stateful environment reset with this seed lives by, for `FuncVectorEnv.reset` and the like."""
    return draw_key(np_random(seed)[0])

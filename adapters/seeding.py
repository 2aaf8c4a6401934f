"""From a seed to numpy's generator, and from the generator to a JAX key.

numpy's generator is the root: whoever steers `env.np_random` steers the whole environment. No two seeds alias, however
large, because numpy's `SeedSequence` reads all of their bits, and the key takes 64 of the bits that follow.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.random import default_impl, require_seed, words_in_key


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
    sequence = np.random.SeedSequence(None if seed is None else require_seed(seed))
    entropy: Any = sequence.entropy
    return np.random.Generator(np.random.PCG64(sequence)), int(entropy)


def draw_key(generator: np.random.Generator) -> jax.Array:
    """A key from the generator's next bits.

    >>> draw_key(np_random(7)[0]) == seed_to_key(7)
    Array(True, dtype=bool)
    """
    impl = default_impl()
    words = generator.integers(0, 2**32, words_in_key(impl), np.uint32)
    return jax.random.wrap_key_data(jnp.asarray(words), impl=impl)


def seed_to_key(seed: int) -> jax.Array:
    """The key that a stateful environment reset with this seed lives by, for `FuncVectorEnv.reset` and the like."""
    return draw_key(np_random(seed)[0])

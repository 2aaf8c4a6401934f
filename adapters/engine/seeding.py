"""From a seed to NumPy's generator, and from the generator to a JAX key.

NumPy's generator is the root: whoever sets `env.np_random` determines all randomness of the environment. Different
seeds give different streams, however large they are, because NumPy's `SeedSequence` reads all bits of a seed.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from funcenv.random import default_impl, require_seed, words_in_key
from funcenv.struct import NDArray


class HasGenerator:
    """The attributes `np_random` and `np_random_seed` of environments and spaces."""

    _np_random: np.random.Generator | None = None
    _np_random_seed: Any = None
    _key_is_stale: bool = False  # `np_random` was set or seeded since the last draw

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that all randomness comes from.

        It is seeded with the system's entropy when it is first needed. A generator that is set takes effect at the
        next `reset` of an environment, and at the next `sample` of a space.
        """
        if self._np_random is None:
            self._np_random, self._np_random_seed = np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self._np_random, self._np_random_seed, self._key_is_stale = generator, -1, True

    @property
    def np_random_seed(self) -> Any:
        """The seed of `np_random`, which replays the same randomness; -1 if the generator was set."""
        _ = self.np_random
        return self._np_random_seed

    def _set_seed(self, seed: Any) -> None:
        self._np_random, self._np_random_seed = np_random(seed)
        self._key_is_stale = True


def np_random(seed: Any = None) -> tuple[np.random.Generator, int]:
    """Return a generator and its seed, as `gymnasium.utils.seeding.np_random` does.

    Args:
        seed: a non-negative integer; None takes the system's entropy.

    Raises:
        TypeError: the seed is not an integer.
        ValueError: the seed is negative.

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


def draw_key_words(generator: np.random.Generator, num_words: int) -> NDArray:
    """Draw the words of a key, `[num_words]` in uint32."""
    return generator.integers(0, 2**32, num_words, np.uint32)


def draw_key(generator: np.random.Generator) -> jax.Array:
    """Draw a typed key of the default implementation.

    >>> draw_key(np_random(7)[0]) == seed_to_key(7)
    Array(True, dtype=bool)
    """
    impl = default_impl()
    return jax.random.wrap_key_data(jax.device_put(draw_key_words(generator, words_in_key(impl))), impl=impl)


def seed_to_key(seed: int) -> jax.Array:
    """Return the key that a stateful environment uses after `reset(seed=seed)`, for `FuncVectorEnv.reset`, say.

    >>> seed_to_key(7).shape
    ()
    """
    return draw_key(np_random(seed)[0])

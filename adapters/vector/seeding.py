"""From seeds to the keys of many environments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import jax
import numpy as np

from funcenv.adapters.seeding import np_random


def parse_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """The seed of every environment: `seed + i`, or the members of a sequence, None for those that go on.

    Raises:
        ValueError: a negative seed, or a sequence that is not of length `num_envs`.
        TypeError: a seed that is not an integer.

    >>> parse_seeds(5, 3), parse_seeds([7, None], 2)
    ([5, 6, 7], [7, None])
    """
    if not isinstance(seed, (Sequence, np.ndarray)) or isinstance(seed, str):
        first = np_random(seed)[1]
        return [first + i for i in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"a sequence of seeds must have one for each of num_envs={num_envs}, got {len(seed)}")
    return [None if one is None else np_random(one)[1] for one in seed]


def root_of(seed: Any, seeds: Sequence[int | None]) -> tuple[np.random.Generator, int | tuple[int, ...]]:
    """The `np_random` and `np_random_seed` of a batch that was seeded as a whole with `seed`, which means `seeds`."""
    if np.ndim(seed) == 0:
        return np_random(seed)
    members = [one for one in seeds if one is not None]
    return np.random.default_rng(members), tuple(members)


def seed_words(seeds: Sequence[int | None], impl: Hashable) -> np.ndarray[Any, Any]:
    """Row i is the data of `seed_to_key(seeds[i])`; zeros for None.

    >>> from funcenv.adapters.seeding import seed_to_key
    >>> words = seed_words([3, 4], jax.random.key_impl(seed_to_key(0)))
    >>> bool((words[1] == jax.random.key_data(seed_to_key(4))).all())
    True
    """
    size = key_size(impl)
    words = np.zeros((len(seeds), size), np.uint32)
    for i, seed in enumerate(seeds):
        if seed is not None:
            words[i] = np_random(seed)[0].integers(0, 2**32, size, np.uint32)
    return words


def generator_words(generator: np.random.Generator, num_envs: int, impl: Hashable) -> np.ndarray[Any, Any]:
    """The data of one key after the other, as `draw_key(generator)` draws them."""
    size = key_size(impl)
    return np.stack([generator.integers(0, 2**32, size, np.uint32) for _ in range(num_envs)])


def require_mask(mask: Any, num_envs: int) -> np.ndarray[Any, Any]:
    """A bool array `[num_envs]` with at least one True: which environments to reset.

    Raises:
        TypeError: the mask is not bool.
        ValueError: it has another shape, or chooses nothing.
    """
    array = np.asarray(mask)
    if array.dtype != bool:
        raise TypeError(f"options['reset_mask'] must be a bool array, got {array.dtype}")
    if array.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] must have shape ({num_envs},), got {array.shape}")
    if not array.any():
        raise ValueError("options['reset_mask'] must choose at least one environment; leave out the call for none")
    return array


def key_size(impl: Hashable) -> int:
    """How many 32-bit words a key has."""
    return int(jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=impl))).size)

"""From seeds to the keys of many environments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from funcenv.adapters.engine.seeding import draw_key_words, np_random
from funcenv.random import words_in_key
from funcenv.struct import NDArray


def parse_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """Return the seed of each environment.

    Args:
        seed: an integer, which gives environment i the seed `seed + i`; or a sequence with an integer or None for each
            environment.
        num_envs: the number of environments.

    Raises:
        ValueError: a seed is negative, or the length of the sequence is not `num_envs`.
        TypeError: a seed is not an integer.

    >>> parse_seeds(5, 3), parse_seeds([7, None], 2)
    ([5, 6, 7], [7, None])
    """
    if not isinstance(seed, (Sequence, np.ndarray)) or isinstance(seed, str):
        first = np_random(seed)[1]
        return [first + i for i in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"a sequence of seeds must have one for each of num_envs={num_envs}, got {len(seed)}")
    return [None if one is None else np_random(one)[1] for one in seed]


def batch_np_random(seed: Any, seeds: Sequence[int | None]) -> tuple[np.random.Generator, int | tuple[int, ...]]:
    """Return the generator and the seed of a batch that `reset(seed=seed)` seeded with `seeds`."""
    if np.ndim(seed) == 0:
        return np_random(seed)
    members = [one for one in seeds if one is not None]
    return np.random.default_rng(members), tuple(members)


def seeds_to_key_words(seeds: Sequence[int | None], impl: Hashable) -> NDArray:
    """Return the words of the keys `seed_to_key(seed)`, `[num_envs, words_in_key]`; zeros for None.

    >>> import jax
    >>> from funcenv.adapters.engine.seeding import seed_to_key
    >>> words = seeds_to_key_words([3, 4], jax.random.key_impl(seed_to_key(0)))
    >>> bool((words[1] == jax.random.key_data(seed_to_key(4))).all())
    True
    """
    num_words = words_in_key(impl)
    nothing = np.zeros(num_words, np.uint32)
    return np.stack([nothing if seed is None else draw_key_words(np_random(seed)[0], num_words) for seed in seeds])


def require_mask(mask: Any, num_envs: int) -> NDArray:
    """Return `options["reset_mask"]` as an array.

    Raises:
        TypeError: the mask is not bool.
        ValueError: the shape is not `[num_envs]`, or no entry is True.
    """
    array = np.asarray(mask)
    if array.dtype != bool:
        raise TypeError(f"options['reset_mask'] must be a bool array, got {array.dtype}")
    if array.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] must have shape ({num_envs},), got {array.shape}")
    if not array.any():
        raise ValueError("options['reset_mask'] must choose at least one environment; leave out the call for none")
    return array

"""Seeds, generators and keys."""

import gymnasium.utils.seeding
import jax
import numpy as np
import pytest

from funcenv.adapters.engine.seeding import draw_key, np_random, seed_to_key


def test_generators_are_gymnasiums():
    ours, seed = np_random(123)
    theirs, _ = gymnasium.utils.seeding.np_random(123)
    assert seed == 123
    np.testing.assert_array_equal(ours.random(5), theirs.random(5))


def test_no_two_seeds_share_a_key():
    seeds = [0, 1, 5, 2**32, 2**32 + 5, 2**64 + 5, 10**30, np.int64(7), np.uint8(9)]
    keys = {tuple(np.asarray(jax.random.key_data(seed_to_key(seed))).tolist()) for seed in seeds}
    assert len(keys) == len(seeds)


def test_the_key_is_drawn_from_the_generator():
    generator, _ = np_random(5)
    first, second = draw_key(generator), draw_key(generator)
    assert first == seed_to_key(5) and first != second


def test_without_a_seed_the_entropy_is_told():
    generator, seed = np_random()
    assert seed > 2**32 and np_random(seed)[0].random() == generator.random()


@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), (1.5, TypeError), ("a", TypeError)])
def test_bad_seeds(seed, error):
    with pytest.raises(error, match="a seed must be"):
        np_random(seed)

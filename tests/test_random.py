"""Seeds become keys; no two seeds share one."""

import jax
import numpy as np
import pytest

import funcenv
from funcenv.random import default_impl


def test_small_seeds_give_the_keys_that_jax_gives():
    assert funcenv.key(7) == jax.random.key(7, impl=default_impl())
    assert funcenv.key(7, "threefry2x32") == jax.random.key(7, impl="threefry2x32")


def test_seeds_of_any_size_differ():
    seeds = [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**64, 2**64 + 1, 10**40, np.int64(5), np.uint64(2**63)]
    assert len({tuple(np.asarray(jax.random.key_data(funcenv.key(seed))).tolist()) for seed in seeds}) == len(seeds)


def test_the_default_generator_has_64_bit_keys():
    assert jax.random.key_data(funcenv.key(0)).size * 32 >= 64


@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), (1.5, TypeError), ("1", TypeError), (None, TypeError)])
def test_bad_seeds(seed, error):
    with pytest.raises(error, match="a seed must be"):
        funcenv.key(seed)


def test_a_default_that_the_user_chose_is_kept():
    with jax.default_prng_impl("rbg"):
        assert default_impl() == "rbg"

"""Feistel2x32: its definition, its uses kept apart, quick statistics; benchmarks/random_battery.py has long ones."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from funcenv.random import feistel2x32, find_impl

IMPL = find_impl("feistel2x32")
MASK = 2**32 - 1


def key(seed=0):
    return jax.random.key(seed, impl=IMPL)


def reference(k0, k1, a, b):
    """The definition, in Python's integers."""
    keys, halves = (k0, k1), [a, b]
    for i, (multiplier, word) in enumerate(zip(feistel2x32.MULTIPLIERS, feistel2x32.SCHEDULE, strict=True)):
        t = (halves[(i + 1) % 2] * multiplier + keys[word]) & MASK
        halves[i % 2] ^= t ^ (t >> 16)
    return tuple(halves)


def inverse(k0, k1, a, b):
    keys, halves = (k0, k1), [a, b]
    for i in reversed(range(len(feistel2x32.MULTIPLIERS))):
        t = (halves[(i + 1) % 2] * feistel2x32.MULTIPLIERS[i] + keys[feistel2x32.SCHEDULE[i]]) & MASK
        halves[i % 2] ^= t ^ (t >> 16)
    return tuple(halves)


def words(one):
    return tuple(int(word) for word in jax.random.key_data(one))


def pairs(keys):
    return np.asarray(jax.random.key_data(keys)).reshape(-1, 2).view(np.uint64)[:, 0]


def test_the_definition_and_that_it_is_a_permutation():
    rng = np.random.default_rng(0)
    for _ in range(50):
        numbers = [int(number) for number in rng.integers(0, 2**32, 4)]
        first, second = feistel2x32.block(*(tuple(map(jnp.uint32, half)) for half in (numbers[:2], numbers[2:])))
        assert (int(first), int(second)) == reference(*numbers)
        assert inverse(*numbers[:2], int(first), int(second)) == tuple(numbers[2:])


def test_each_use_has_blocks_of_its_own():
    root = words(key())
    assert root == reference(feistel2x32.SEED, 0, 0, 0)
    assert words(jax.random.fold_in(key(), 7)) == reference(*root, feistel2x32.FOLD, 7)
    assert words(jax.random.split(key(), (3, 4))[1, 2]) == reference(*root, feistel2x32.SPLIT, 6)
    assert int(jax.random.bits(key())) == reference(*root, feistel2x32.DRAW, 0)[0]
    uses = feistel2x32.DRAW, feistel2x32.SPLIT, feistel2x32.FOLD
    assert len(set(uses)) == 3


@pytest.mark.parametrize("shape", [(1,), (2,), (4,), (5,), (3, 1), (3, 5), (2, 3, 4), (40,)], ids=str)
def test_arrays_use_both_words_of_a_block(shape):
    half = -(-shape[-1] // 2)
    expected = np.zeros(shape, np.uint32)
    for row, index in enumerate(np.ndindex(shape[:-1])):
        blocks = [reference(*words(key()), feistel2x32.DRAW, row * half + i) for i in range(half)]
        expected[index] = ([first for first, _ in blocks] + [second for _, second in blocks])[: shape[-1]]
    np.testing.assert_array_equal(jax.random.bits(key(), shape), expected)
    np.testing.assert_array_equal(jax.random.bits(key(), shape, np.uint8), expected.astype(np.uint8))


def test_words_of_64_bits_and_seeds_under_x64():
    with jax.enable_x64(True):
        drawn = jax.random.bits(key(), (3,), np.uint64)
        for place, word in enumerate(drawn):
            first, second = reference(*words(key()), feistel2x32.DRAW, place)
            assert int(word) == first << 32 | second
        assert words(key(2**40 + 5)) == reference(feistel2x32.SEED, 0, 2**8, 5)
        narrow = jax.random.bits(key(), (4, 6), np.uint32)
    np.testing.assert_array_equal(narrow, jax.random.bits(key(), (4, 6)))


def test_empty_arrays():
    assert jax.random.bits(key(), (0,)).shape == (0,)
    assert jax.random.bits(key(), (3, 0, 2)).shape == (3, 0, 2)
    assert jax.random.split(key(), 0).shape == (0,)


def test_mapped_compiled_and_strict():
    def life(one, number):
        a, b = jax.random.split(jax.random.fold_in(one, number))
        return jax.random.uniform(a, (4,)), jax.random.bits(b), jax.random.randint(one, (), 0, 10)

    keys = jax.random.split(key(), (3, 2))
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        mapped = jax.jit(jax.vmap(jax.vmap(life, (0, None)), (1, None), out_axes=1))(keys, jnp.uint32(3))
        for i, j in itertools.product(range(3), range(2)):
            alone = life(keys[i, j], jnp.uint32(3))
            jax.tree.map(lambda many, one, i=i, j=j: np.testing.assert_array_equal(many[i, j], one), mapped, alone)


def leaves(depth):
    keys = key()[None]
    for _ in range(depth):
        keys = jax.vmap(lambda one: jax.random.split(one, 32))(keys).reshape(-1)
    return keys


def test_no_two_of_a_million_keys_coincide():
    split, folded = jax.random.split(key(), 500_000), jax.vmap(jax.random.fold_in, (None, 0))
    children = pairs(split), pairs(folded(key(), jnp.arange(500_000, dtype=jnp.uint32)))
    assert len(np.unique(np.concatenate(children))) == 1_000_000
    assert len(np.unique(pairs(jax.jit(leaves, static_argnums=0)(4)))) == 2**20


def test_every_bit_of_key_and_counter_flips_half_of_the_output():
    size = 4096
    rng = np.random.default_rng(1)
    sparse = np.uint32(1) << (np.arange(size, dtype=np.uint32) % 32)
    inputs = {
        "random": rng.integers(0, 2**32, (4, size), np.uint32),
        "counting": np.stack([sparse * 0, sparse * 0, sparse * 0 + np.uint32(feistel2x32.DRAW), np.arange(size)]),
        "few bits": np.stack([sparse, np.roll(sparse, 5) // 3, np.roll(sparse, 11), np.arange(size)]),
    }
    block = jax.jit(lambda four: jnp.stack(feistel2x32.block((four[0], four[1]), (four[2], four[3]))))
    for name, numbers in inputs.items():
        numbers = numbers.astype(np.uint32)
        plain = np.asarray(block(numbers))
        worst = 0.0
        for row, bit in itertools.product(range(4), range(32)):
            flipped = numbers.copy()
            flipped[row] ^= np.uint32(1 << bit)
            changed = np.unpackbits((np.asarray(block(flipped)) ^ plain).view(np.uint8).reshape(2, size, 4), axis=-1)
            worst = max(worst, abs(changed.mean(axis=1) - 0.5).max())
        # 8192 means of 4096 bits: 4.3 deviations by chance; pairs that flip into each other count double.
        assert worst < 6.5 * 0.5 / np.sqrt(size), f"{name}: {worst}"


def env_words(calls=512, num_envs=256):
    """What environments draw, as the vector environment derives it: [calls, num_envs, 4]."""

    def one(env_key, call):
        state_key, _ = jax.random.split(jax.random.fold_in(env_key, call))
        return jax.random.bits(state_key, (4,))

    env_keys = jax.random.split(key(3), num_envs)
    numbers = jnp.arange(calls, dtype=jnp.uint32)
    return jax.jit(jax.vmap(lambda call: jax.vmap(one, (0, None))(env_keys, call)))(numbers)


def seed_words(number=2**19):
    return jax.jit(jax.vmap(lambda seed: jax.random.bits(key(seed))))(jnp.arange(number, dtype=jnp.uint32))


def long_draw(number=2**19):
    return jax.random.bits(key(4), (number // 2, 2))


@pytest.mark.parametrize("stream", [env_words, seed_words, long_draw])
def test_bits_and_bytes_are_even(stream):
    drawn = np.asarray(stream()).reshape(-1)
    octets = drawn.view(np.uint8)
    ones = np.unpackbits(octets.reshape(-1, 4), axis=-1).mean(axis=0)
    assert abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(drawn.size)
    top = (drawn >> np.uint32(20)).astype(np.int64)
    for numbers, kinds in ((octets, 256), (top, 4096), (drawn & 4095, 4096), (octets[:-4:4] ^ octets[4::4], 256)):
        assert 1e-5 < stats.chisquare(np.bincount(numbers, minlength=kinds)).pvalue < 1 - 1e-5
    serial = octets[::4][:-1].astype(np.int64) // 4 * 64 + octets[::4][1:] // 4
    assert 1e-5 < stats.chisquare(np.bincount(serial, minlength=4096)).pvalue < 1 - 1e-5


def test_neighbours_are_not_correlated():
    """Environments, calls and elements next to each other, and each environment against all the others."""
    drawn = np.asarray(env_words()).astype(np.float64) / 2**32 - 0.5
    deviation = 12**0.5
    for axis, lag in itertools.product(range(3), (1, 2)):
        ahead, behind = np.split(np.moveaxis(drawn, axis, 0), [lag])[1], np.moveaxis(drawn, axis, 0)[:-lag]
        correlation = (ahead * behind).mean() * deviation**2
        assert abs(correlation) < 4.5 / np.sqrt(ahead.size)
    streams = drawn.transpose(1, 0, 2).reshape(256, -1) * deviation
    between = np.corrcoef(streams)[np.triu_indices(256, 1)]  # 32640 correlations of 2048 numbers
    assert abs(between).max() < 5.5 / np.sqrt(streams.shape[1])
    assert stats.kstest(between * np.sqrt(streams.shape[1]), "norm").pvalue > 1e-4

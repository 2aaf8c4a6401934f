"""Our threefry gives JAX's bits."""

import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.extend.random import threefry2x32_p

import funcenv
from funcenv.random import find_impl, impl_name, indexed_key, threefry
from funcenv.random._counter_based import Style
from funcenv.random.generators import with_style
from tests.support.jax_features import PICKLES_KEYS, has_generator

SHAPES = [(), (1,), (2,), (3,), (4,), (9,), (0,), (3, 0), (2, 2), (3, 5), (2, 3, 4), (1000,)]
SEEDS = [0, 1, 7, 2**31 - 1, -1, -(2**31), np.uint32(2**32 - 1), np.int8(-3), np.uint16(65535)]


def both(seed=5):
    return jax.random.key(seed, impl=find_impl("threefry")), jax.random.key(seed, impl="threefry2x32")


def data(key):
    return np.asarray(jax.random.key_data(key))


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_seeds(seed):
    ours, theirs = both(seed)
    np.testing.assert_array_equal(data(ours), data(theirs))


def test_seeds_of_64_bits():
    with jax.enable_x64(True):
        for seed in (2**40 + 17, 2**63 - 1, -1, -(2**40), np.uint64(2**64 - 1)):
            ours, theirs = both(seed)
            np.testing.assert_array_equal(data(ours), data(theirs))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_of_every_width(shape):
    ours, theirs = both()
    for width in (8, 16, 32):
        dtype = np.dtype(f"u{width // 8}")
        drawn = jax.random.bits(ours, shape, dtype)
        assert drawn.dtype == dtype and drawn.shape == shape
        np.testing.assert_array_equal(drawn, jax.random.bits(theirs, shape, dtype))
    with jax.enable_x64(True):
        np.testing.assert_array_equal(*(jax.random.bits(key, shape, np.uint64) for key in (ours, theirs)))
        np.testing.assert_array_equal(*(jax.random.bits(key, shape, np.uint32) for key in (ours, theirs)))


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape], ids=str)
def test_splits(shape):
    ours, theirs = (jax.random.split(key, shape) for key in both())
    np.testing.assert_array_equal(data(ours), data(theirs))


def test_folds():
    ours, theirs = both()
    for number in (0, 1, 77, 2**31, 2**32 - 1):
        folded = [jax.random.fold_in(key, np.uint32(number)) for key in (ours, theirs)]
        np.testing.assert_array_equal(data(folded[0]), data(folded[1]))


def test_what_is_made_of_bits():
    draws = [
        lambda key: jax.random.normal(key, (3, 5)),
        lambda key: jax.random.randint(key, (10,), -3, 1000),
        lambda key: jax.random.permutation(key, 20),
        lambda key: jax.random.categorical(key, jnp.zeros(5), shape=(4,)),
        lambda key: jax.random.bernoulli(key, 0.3, (17,)),
    ]
    for draw in draws:
        np.testing.assert_array_equal(*map(draw, both()))


def life(key, number):
    a, b, c = jax.random.split(jax.random.fold_in(key, number), 3)
    return jax.random.bits(a, (4,)), jax.random.bits(b), jax.random.bits(c, (2, 3), np.uint8)


def test_mapped_compiled_and_scanned():
    def lives(key):
        keys = jax.random.split(key, (6, 2))
        nested = jax.vmap(jax.vmap(life, (0, None)), (1, None), out_axes=1)(keys, jnp.uint32(3))
        scanned = jax.lax.scan(lambda carry, number: (carry, life(carry, number)), key, jnp.arange(5, dtype=np.uint32))
        return nested, scanned[1]

    ours, theirs = map(jax.jit(lives), both())
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4))
def test_the_block(numbers):
    words = [jnp.uint32(number) for number in numbers]
    ours = threefry.block((words[0], words[1]), (words[2], words[3]))
    assert [int(word) for word in ours] == [int(word) for word in threefry2x32_p.bind(*words)]


def test_the_known_answers():
    """Of the authors' Random123, `kat_vectors`, threefry2x32 with 20 rounds."""
    ones = jnp.uint32(2**32 - 1)
    key, counter = (0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3)
    assert [int(word) for word in threefry.block((ones, ones), (ones, ones))] == [0x1CB996FC, 0xBB002BE7]
    words = threefry.block(tuple(map(jnp.uint32, key)), tuple(map(jnp.uint32, counter)))
    assert [int(word) for word in words] == [0xC4923A9C, 0x483DF7A0]


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (9,)], ids=str)
def test_every_style_draws_the_same(shape):
    key = funcenv.key(3)

    def draw(key, style):
        keys = jax.random.split(with_style(key, style), 2)
        return jax.vmap(lambda key: jax.random.bits(key, shape, np.uint32))(keys)

    programs = {style: jax.jit(functools.partial(draw, style=style)).lower(key).compile() for style in Style}
    for program in programs.values():
        np.testing.assert_array_equal(program(key), programs[Style.CPU](key))
    if shape in ((4,), (2, 3)):
        flops = {style: program.cost_analysis()["flops"] for style, program in programs.items()}
        assert max(flops[Style.BATCHED_SINGLE_KERNEL], flops[Style.STATEFUL]) < flops[Style.CPU]


def test_a_style_is_passed_on_to_indexed_keys_and_taken_off_again():
    key = with_style(funcenv.key(3), Style.GPU)
    assert indexed_key(key, 1).dtype == with_style(indexed_key(funcenv.key(3), 1), Style.GPU).dtype
    assert with_style(key, None).dtype == funcenv.key(3).dtype != key.dtype


def test_too_many_words_are_refused():
    with pytest.raises(ValueError, match=r"at most 2\*\*32"):
        jax.jit(lambda: jax.random.split(both()[0], (2**17, 2**16))).lower()


def test_the_number_of_a_key_is_the_high_word_of_its_counters():
    key = both()[0]
    words = tuple(jax.random.key_data(key))
    for number in (0, 1, 2**32 - 1):
        nth = indexed_key(key, np.uint32(number))
        first, second = threefry.block(words, (jnp.full(5, number, np.uint32), jnp.arange(5, dtype=np.uint32)))
        np.testing.assert_array_equal(jax.random.bits(nth, (5,)), first ^ second)
        children = [jax.random.split(nth, 5), jax.vmap(jax.random.fold_in, (None, 0))(nth, jnp.arange(5))]
        expected = jnp.stack([first, second, jnp.zeros_like(first)], axis=-1)
        for keys in children:
            np.testing.assert_array_equal(jax.random.key_data(keys), expected)


def test_the_key_of_number_0_draws_what_the_key_does():
    for key in both():
        nth = indexed_key(key, 0)
        np.testing.assert_array_equal(jax.random.normal(nth, (3, 5)), jax.random.normal(key, (3, 5)))
        parts = jax.random.split(nth, 2), jax.random.split(key, 2)
        np.testing.assert_array_equal(*(jax.vmap(lambda part: jax.random.uniform(part, (4,)))(two) for two in parts))


def test_numbered_keys_share_nothing():
    key = both()[0]
    numbers = jnp.arange(1000, dtype=np.uint32)
    drawn = jax.vmap(lambda number: jax.random.bits(indexed_key(key, number), (1000,)))(numbers)
    assert len(np.unique(drawn)) > 10**6 * (1 - 2e-4)  # of 32 bits; 116 duplicates are expected


def test_other_generators_fold_the_number_in():
    for name in filter(has_generator, ("philox4x32", "rbg")):
        key = funcenv.key(1, name)
        np.testing.assert_array_equal(*(data(one) for one in (indexed_key(key, 7), jax.random.fold_in(key, 7))))


def test_bad_numbers():
    key = both()[0]
    for number in (-1, 2**32):
        with pytest.raises(ValueError, match=r"below 2\*\*32"):
            indexed_key(key, number)
    with pytest.raises(ValueError, match="a single key"):
        indexed_key(jax.random.split(key), 0)


def test_numbered_keys_survive_a_pickle_and_are_not_reused():
    nth = indexed_key(both()[0], 3)
    again = jax.random.wrap_key_data(data(nth), impl=find_impl(impl_name(nth)))
    assert again.dtype == nth.dtype and jax.random.bits(again) == jax.random.bits(nth)
    if PICKLES_KEYS:
        np.testing.assert_array_equal(data(pickle.loads(pickle.dumps(nth))), data(nth))
    with jax.debug_key_reuse(True), pytest.raises(jax.errors.KeyReuseError):
        jax.jit(lambda key: jax.random.bits(key) + jax.random.bits(key))(nth)

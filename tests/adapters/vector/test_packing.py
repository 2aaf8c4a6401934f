"""The layout of a batch: what is put comes back, for every kind of leaf, and what is left alone stays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.adapters.vector.packing import BatchPacking

RNG = np.random.default_rng(0)
NUM_ENVS = 5
DTYPES = ["float32", "float16", "bfloat16", "int32", "uint32", "int16", "uint16", "int8", "uint8", "bool"]
WIDE = ["float64", "int64", "uint64"]
SHAPES = [(), (4,)]
MORE = [(3,), (2, 4), (9, 9), (0,)]  # of some dtypes; 81 are enough for an environment's to lie in one piece


def example(dtypes, num_envs=NUM_ENVS):
    tree = {}
    for dtype in dtypes:
        for shape in SHAPES + MORE * (dtype in ("float32", "uint8", "bool")):
            values = RNG.normal(size=(num_envs, *shape)) * 50
            values = abs(values) if np.dtype(dtype if dtype != "bfloat16" else "f4").kind in "ub" else values
            tree[f"{dtype}{shape}"] = jnp.asarray(values).astype(dtype)
    return tree


def assert_same(actual, expected):
    for name, leaf in expected.items():
        assert actual[name].dtype == leaf.dtype and actual[name].shape == leaf.shape, name
        np.testing.assert_array_equal(np.asarray(actual[name], leaf.dtype), np.asarray(leaf), err_msg=name)


@pytest.mark.parametrize("x64", [False, True])
def test_packing_is_the_identity(x64):
    with jax.enable_x64(x64):
        tree = example([*DTYPES, *WIDE] if x64 else DTYPES)
        layout = BatchPacking(tree, NUM_ENVS)
        words = jax.jit(layout.pack)(tree)
        assert words.shape == (layout.num_words,) == (layout.words_per_env * NUM_ENVS,) and words.dtype == jnp.uint32
        assert_same(jax.jit(layout.unpack)(words), tree)
        assert_same(layout.read(words), tree)


def test_some_environments_are_replaced_and_the_others_and_other_leaves_are_not():
    tree, new = example(DTYPES), example(DTYPES, num_envs=2)
    layout = BatchPacking(tree, NUM_ENVS)
    kept = {name for name in tree if "int32" in name}
    partly = {name: None if name in kept else leaf for name, leaf in new.items()}
    words = jax.jit(layout.put)(layout.pack(tree), partly, jnp.int32(2))
    expected = {
        name: leaf if name in kept else jnp.concatenate([leaf[:2], new[name], leaf[4:]]) for name, leaf in tree.items()
    }
    assert_same(layout.read(words), expected)
    some = jax.jit(layout.take, static_argnums=2)(words, jnp.int32(1), 3)
    assert_same(some, {name: leaf[1:4] for name, leaf in expected.items()})
    rows = jnp.array([4, 0, 3, 3])
    assert_same(jax.jit(layout.take_rows)(words, rows), {name: leaf[rows] for name, leaf in expected.items()})


def test_shared_words_are_stored_once():
    tree = {"a": jnp.arange(6.0).reshape(3, 2), "b": jnp.array([1.0, 3.0, 5.0]), "c": jnp.ones(3, bool)}
    layout, apart = BatchPacking(tree, 3, shared={1: (0, 1)}), BatchPacking(tree, 3)
    words = layout.pack(tree)
    assert layout.num_words == apart.num_words - 3
    assert_same(layout.read(words), tree)
    assert_same(
        layout.take_rows(words, jnp.array([2, 0])), {name: leaf[jnp.array([2, 0])] for name, leaf in tree.items()}
    )
    of_two = {"a": jnp.array([[7.0, 8.0]]), "b": jnp.array([8.0]), "c": None}
    assert_same(
        layout.read(layout.put(words, of_two, 1)),
        {**tree, "a": jnp.array([[0, 1], [7, 8], [4, 5.0]]), "b": jnp.array([1, 8, 5.0])},
    )
    alone = layout.put(words, {"a": None, "b": jnp.array([9.0]), "c": None}, 2)
    assert layout.read(alone)["a"][2].tolist() == [4, 9]


def test_extreme_numbers_survive():
    tree = {
        "f": jnp.array([jnp.nan, jnp.inf, -0.0, 1e-45], jnp.float32),
        "i": jnp.array([-(2**31), 2**31 - 1, 0, 1], jnp.int32),
    }
    layout = BatchPacking(tree, 4)
    again = layout.read(layout.pack(tree))
    for name, leaf in tree.items():
        assert again[name].tobytes() == np.asarray(leaf).tobytes()


def test_keys_survive():
    keys = jax.random.split(funcenv.key(4), 3)
    layout = BatchPacking({"key": keys}, 3)
    words = layout.pack({"key": keys})
    assert (layout.unpack(words)["key"] == keys).all()
    assert (layout.take(words, 1, 2)["key"] == keys[1:]).all()


def test_a_leaf_of_few_numbers_is_read_without_a_copy():
    tree = {"x": jnp.arange(8.0).reshape(4, 2), "many": jnp.zeros((4, 100), jnp.uint8), "flag": jnp.ones(4, bool)}
    layout = BatchPacking(tree, 4)
    words = np.array(layout.pack(tree))
    read = layout.read(words)
    assert np.shares_memory(read["x"], words) and np.shares_memory(read["many"], words)
    assert read["x"].flags.writeable and not np.shares_memory(read["flag"], words)


def test_nothing_packs_to_nothing():
    assert BatchPacking({}, 3).pack({}).shape == (0,)

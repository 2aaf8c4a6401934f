"""Packing is the identity for every kind of leaf, also in part, for one environment and for a batch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.adapters.engine.packing import Packing

RNG = np.random.default_rng(0)
NUM_ENVS = 5
DTYPES = ["float32", "float16", "bfloat16", "int32", "uint32", "int16", "uint16", "int8", "uint8", "bool"]
WIDE = ["float64", "int64", "uint64"]
SHAPES = [(), (3,), (4,), (2, 4), (0,)]
FEW_SHAPES = [(), (4,)]
MORE_SHAPES = [(3,), (2, 4), (9, 9), (0,)]  # 81 words are too many for columns

each_size = pytest.mark.parametrize("num_envs", [None, 1, NUM_ENVS])


def example(dtypes, num_envs=NUM_ENVS):
    tree = {}
    for dtype in dtypes:
        shapes = FEW_SHAPES + MORE_SHAPES * (dtype in ("float32", "uint8", "bool")) if num_envs else SHAPES
        for shape in shapes:
            values = RNG.normal(size=(num_envs, *shape) if num_envs else shape) * 50
            values = abs(values) if np.dtype(dtype if dtype != "bfloat16" else "f4").kind in "ub" else values
            tree[f"{dtype}{shape}"] = jnp.asarray(values).astype(dtype)
    return tree


def assert_same(actual, expected):
    for name, leaf in expected.items():
        assert actual[name].dtype == leaf.dtype and actual[name].shape == leaf.shape, name
        np.testing.assert_array_equal(np.asarray(actual[name], leaf.dtype), np.asarray(leaf), err_msg=name)


def stacked(leaf, num_envs):
    return jnp.stack([leaf] * num_envs) if num_envs else leaf


@each_size
@pytest.mark.parametrize("x64", [False, True])
def test_packing_is_the_identity(num_envs, x64):
    with jax.enable_x64(x64):
        tree = example([*DTYPES, *WIDE] if x64 else DTYPES, num_envs)
        layout = Packing(tree, num_envs)
        words = jax.jit(layout.pack)(tree)
        assert words.shape == (layout.num_words,) == (layout.words_per_env * (num_envs or 1),)
        assert words.dtype == jnp.uint32
        assert_same(jax.jit(layout.unpack)(words), tree)
        assert_same(layout.read(words), tree)


@each_size
def test_extreme_numbers_survive(num_envs):
    tree = {
        "f": stacked(jnp.array([jnp.nan, jnp.inf, -0.0, 1e-45], jnp.float32), num_envs),
        "i": stacked(jnp.array([-(2**31), 2**31 - 1, 0, 1], jnp.int32), num_envs),
    }
    layout = Packing(tree, num_envs)
    again = layout.read(layout.pack(tree))
    for name, leaf in tree.items():
        assert again[name].tobytes() == np.asarray(leaf).tobytes()


@each_size
def test_keys_survive(num_envs):
    keys = jax.random.split(funcenv.key(4), (num_envs or 1, 3))
    tree = {"one": keys[:, 0], "many": keys} if num_envs else {"one": keys[0, 0], "many": keys[0]}
    layout = Packing(tree, num_envs)
    words = layout.pack(tree)
    again = layout.unpack(words)
    assert (again["one"] == tree["one"]).all() and (again["many"] == tree["many"]).all()
    if num_envs:
        assert (layout.unpack_slice(words, num_envs - 1, 1)["many"] == keys[-1:]).all()


@each_size
def test_what_is_read_is_fresh_and_writable(num_envs):
    tree = {"x": stacked(jnp.ones(3), num_envs), "b": stacked(jnp.zeros(4, jnp.uint8), num_envs)}
    layout = Packing(tree, num_envs)
    words = np.asarray(layout.pack(tree))
    first, second = layout.read(words), layout.read(words)
    for leaf in first.values():
        leaf[:] = 7
    assert (second["x"] == 1).all() and (second["b"] == 0).all()


@each_size
def test_leaves_of_words_are_views_of_the_packed_array(num_envs):
    tree = {"x": jnp.arange(2.0), "many": jnp.zeros(100, jnp.uint8), "flag": jnp.ones((), bool)}
    tree = {name: stacked(leaf, num_envs) for name, leaf in tree.items()}
    layout = Packing(tree, num_envs)
    words = np.array(layout.pack(tree))
    read = {name: reader(words) for name, reader in layout.readers().items()}
    assert np.shares_memory(read["x"], words) and np.shares_memory(read["many"], words)
    assert read["x"].flags.writeable and not np.shares_memory(read["flag"], words)


@each_size
def test_nothing_packs_to_nothing(num_envs):
    assert Packing({}, num_envs).pack({}).shape == (0,)


@pytest.mark.dear
def test_some_environments_are_replaced_and_the_others_and_other_leaves_are_not():
    tree, new = example(DTYPES), example(DTYPES, num_envs=2)
    layout = Packing(tree, NUM_ENVS)
    kept = {name for name in tree if "int32" in name}
    partly = {name: None if name in kept else leaf for name, leaf in new.items()}
    words = jax.jit(layout.write)(layout.pack(tree), partly, jnp.int32(2))
    expected = {
        name: leaf if name in kept else jnp.concatenate([leaf[:2], new[name], leaf[4:]]) for name, leaf in tree.items()
    }
    assert_same(layout.read(words), expected)
    some = jax.jit(layout.unpack_slice, static_argnums=2)(words, jnp.int32(1), 3)
    assert_same(some, {name: leaf[1:4] for name, leaf in expected.items()})
    rows = jnp.array([4, 0, 3, 3])
    assert_same(jax.jit(layout.unpack_rows)(words, rows), {name: leaf[rows] for name, leaf in expected.items()})


def test_aliases_are_stored_once():
    tree = {"a": jnp.arange(6.0).reshape(3, 2), "b": jnp.array([1.0, 3.0, 5.0]), "c": jnp.ones(3, bool)}
    layout, apart = Packing(tree, 3, aliases={1: (0, 1)}), Packing(tree, 3)
    words = layout.pack(tree)
    assert layout.num_words == apart.num_words - 3
    assert_same(layout.read(words), tree)
    rows = jnp.array([2, 0])
    assert_same(layout.unpack_rows(words, rows), {name: leaf[rows] for name, leaf in tree.items()})
    new = {"a": jnp.array([[7.0, 8.0]]), "b": jnp.array([8.0]), "c": None}
    assert_same(
        layout.read(layout.write(words, new, 1)),
        {**tree, "a": jnp.array([[0, 1], [7, 8], [4, 5.0]]), "b": jnp.array([1, 8, 5.0])},
    )
    alone = layout.write(words, {"a": None, "b": jnp.array([9.0]), "c": None}, 2)
    assert layout.read(alone)["a"][2].tolist() == [4, 9]

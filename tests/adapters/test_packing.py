"""Packing is the identity, for every kind of leaf."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.adapters.packing import Packing

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float16", "bfloat16", "int32", "uint32", "int16", "uint16", "int8", "uint8", "bool"]
WIDE = ["float64", "int64", "uint64"]


def example(dtypes):
    tree = {}
    for dtype in dtypes:
        for shape in ((), (3,), (4,), (2, 4), (0,)):
            values = RNG.normal(size=shape) * 50
            values = abs(values) if np.dtype(dtype if dtype != "bfloat16" else "f4").kind in "ub" else values
            tree[f"{dtype}{shape}"] = jnp.asarray(values).astype(dtype)
    return tree


@pytest.mark.parametrize("x64", [False, True])
def test_packing_is_the_identity(x64):
    with jax.enable_x64(x64):
        tree = example([*DTYPES, *WIDE] if x64 else DTYPES)
        layout = Packing(tree)
        words = jax.jit(layout.pack)(tree)
        assert words.shape == (layout.num_words,) and words.dtype == jnp.uint32
        for again in (jax.jit(layout.unpack)(words), layout.read(np.asarray(words))):
            for name, leaf in tree.items():
                assert again[name].dtype == leaf.dtype and again[name].shape == leaf.shape, name
                np.testing.assert_array_equal(np.asarray(again[name], leaf.dtype), np.asarray(leaf), err_msg=name)


def test_extreme_numbers_survive():
    tree = {
        "f": jnp.array([jnp.nan, jnp.inf, -0.0, 1e-45], jnp.float32),
        "i": jnp.array([-(2**31), 2**31 - 1], jnp.int32),
    }
    layout = Packing(tree)
    again = layout.read(np.asarray(layout.pack(tree)))
    for name, leaf in tree.items():
        assert again[name].tobytes() == np.asarray(leaf).tobytes()


def test_keys_survive():
    keys = {"one": funcenv.key(3), "many": jax.random.split(funcenv.key(4), 3)}
    layout = Packing(keys)
    again = layout.unpack(layout.pack(keys))
    assert again["one"] == keys["one"] and (again["many"] == keys["many"]).all()


def test_what_is_read_is_fresh_and_writable():
    tree = {"x": jnp.ones(3), "b": jnp.zeros(4, jnp.uint8)}
    layout = Packing(tree)
    words = np.asarray(layout.pack(tree))
    first, second = layout.read(words), layout.read(words)
    for leaf in first.values():
        leaf[:] = 7
    assert (second["x"] == 1).all() and (second["b"] == 0).all()


def test_nothing_packs_to_nothing():
    assert Packing({}).pack({}).shape == (0,)

"""Records: frozen, replaceable, pytrees whose static fields are part of the structure."""

import copy
import dataclasses
import pickle

import flax.struct
import jax
import jax.numpy as jnp
import pytest

import funcenv


class Pair(funcenv.PyTreeNode):
    first: float
    second: float = 2.0
    label: str = funcenv.field(pytree_node=False, default="a")


def test_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Pair(1.0).first = 3.0


def test_static_fields_are_structure_and_the_rest_are_leaves():
    assert jax.tree.leaves(Pair(1.0)) == [1.0, 2.0]
    assert jax.tree.structure(Pair(1.0)) != jax.tree.structure(Pair(1.0, label="b"))
    assert [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(Pair(1.0))] == [
        ".first",
        ".second",
    ]


def test_rebuilding_inside_jax_does_not_check_again():
    class Checked(funcenv.PyTreeNode):
        x: float

        def __post_init__(self):
            if self.x < 0:
                raise ValueError("x")

    assert jax.tree.map(lambda x: -x, Checked(1.0)).x == -1.0
    with pytest.raises(ValueError, match="x"):
        Checked(1.0).replace(x=-1.0)


def test_fields_of_flax_work():
    class Mixed(funcenv.PyTreeNode):
        x: float
        name: str = flax.struct.field(pytree_node=False, default="n")

    assert jax.tree.leaves(Mixed(1.0)) == [1.0]


def test_pickle_and_copy_keep_everything():
    pair = Pair(jnp.float32(1.5), label="b")
    for twin in (pickle.loads(pickle.dumps(pair)), copy.deepcopy(pair)):
        assert twin == pair and isinstance(twin, Pair)


def test_replace_names_the_unknown_field():
    with pytest.raises(TypeError, match="has no field 'third'; its fields are: first, second, label"):
        Pair(1.0).replace(third=1)

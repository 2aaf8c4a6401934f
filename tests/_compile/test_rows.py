"""Lists of rows, and the values that all new rows share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile.rows import IndexList, split_constants


def test_values_that_all_new_rows_share_are_split_off():
    """Numbers that are written down as such, and no others: equal by chance, or by a computation, is not shared."""

    def fresh(rows):
        shared = {"zero": jnp.zeros(rows.shape), "flag": jnp.zeros((rows.size, 2), bool), "large": rows * 0 + 7}
        return {**shared, "row": rows, "key": jax.random.split(funcenv.key(0), rows.size), "none": None}

    constants, rest = split_constants(fresh, 4)
    assert {name: float(value) for name, value in constants.items() if value is not None} == {"zero": 0, "flag": 0}
    made = jax.jit(rest)(jnp.array([3, 1, 0, 2]))
    assert made["zero"] is None and made["flag"] is None
    assert made["row"].tolist() == [3, 1, 0, 2] and made["large"].tolist() == [7] * 4 and made["key"].shape == (4,)


@pytest.mark.parametrize("sizes", [[5, 3], [40, 32, 100], [1]])
def test_a_list_grows_chunk_by_chunk(sizes):
    flags = np.random.default_rng(7).random(sum(sizes)) < 0.4
    listed, first = IndexList.empty(sum(sizes), block=4), 0
    for size in sizes:
        listed = jax.jit(IndexList.extend)(listed, flags[first : first + size], jnp.int32(first))
        first += size
    assert sorted(listed.indices[: int(listed.length)].tolist()) == np.flatnonzero(flags).tolist()

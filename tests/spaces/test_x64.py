"""A space has the dtypes that it declares, whether or not JAX computes in 64 bits."""

from __future__ import annotations

import jax

import funcenv


def test_dtypes_do_not_depend_on_x64(space, same):
    with jax.enable_x64(True):

        @jax.jit
        def program(key):
            member = space.sample(key)
            flat = space.flatten(member)
            return member, flat, space.unflatten(flat), space.contains(member) & space.flattened.contains(flat)

        member, flat, back, inside = program(funcenv.key(0))
        assert inside
        same(back, member)
    struct = jax.eval_shape(lambda: space.sample(funcenv.key(0)))
    for leaf, expected in zip(
        jax.tree.leaves((member, flat)), jax.tree.leaves((struct, jax.eval_shape(space.flatten, struct))), strict=True
    ):
        assert leaf.dtype == expected.dtype

"""The generators by name: ours, plugged into JAX by `jax.extend.random.define_prng_impl`, and JAX's own.

JAX knows its own generators by a string; a generator that is plugged in has no name in JAX's table, and is passed as
the object that describes it. So names are looked up here: `find_impl(name)` gives what JAX takes as `impl=`, and
`impl_name(key)` the name again, which is what configurations and checkpoints keep.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from types import ModuleType
from typing import Any

import jax
import jax.extend.random
import jax.numpy as jnp
from jaxtyping import Array, Key, UInt

from funcenv.random import feistel2x32, threefry
from funcenv.random._counter_based import joined

DEFAULT = "threefry"
"""The generator that `key` picks."""

COUNTED = "threefry with a counter"
"""The generator of `indexed_key`."""

OURS: dict[str, ModuleType] = {"threefry": threefry, "feistel2x32": feistel2x32}
"""A generator is a module with `seed`, `split`, `fold_in` and `random_bits`, on keys of two 32-bit words."""


def default_impl() -> Hashable:
    """The generator that `key` uses when it is not told, as JAX takes it.

    It is "threefry", unless `jax_default_prng_impl` was changed, by which a user has chosen.

    >>> with jax.default_prng_impl("rbg"):
    ...     default_impl()
    'rbg'
    """
    chosen: str = jax.config.jax_default_prng_impl  # type: ignore[attr-defined]  # JAX adds its options at run time
    return find_impl(DEFAULT if chosen == "threefry2x32" else chosen)


def find_impl(name: str) -> Hashable:
    """What JAX takes as `impl=` for the generator of this name.

    Args:
        name: "threefry", "feistel2x32", or the name of one of JAX's own, which is returned as it is.

    Raises:
        ValueError: neither we nor JAX know it.

    >>> jax.random.key(0, impl=find_impl("feistel2x32")).shape
    ()
    """
    if name in OURS:
        return _defined(name)
    if name == COUNTED:
        return counted_impl()
    try:
        words_in_key(name)
    except ValueError as error:
        ours = ", ".join(f'"{known}"' for known in OURS)
        raise ValueError(f"no generator is named {name!r}: funcenv has {ours}; and of JAX: {error}") from None
    return name


def impl_name(key: jax.Array) -> str:
    """The name of a key's generator, which `find_impl` understands, also of a batch of keys.

    >>> impl_name(jax.random.key(0, impl=find_impl("threefry"))), impl_name(jax.random.key(0, impl="threefry2x32"))
    ('threefry', 'threefry2x32')
    """
    return str(jax.random.key_impl(key))


def words_in_key(impl: Hashable) -> int:
    """How many 32-bit words a key of a generator has.

    >>> words_in_key("threefry2x32"), words_in_key(default_impl())
    (2, 2)
    """
    return int(jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=impl))).size)


def indexed_key(key: Key[Array, ""], number: int | UInt[Array, ""]) -> Key[Array, ""]:
    """A key for number `number` of many things that are drawn with one key, which then serves nothing else.

    With Threefry it costs nothing, where `jax.random.fold_in(key, number)` costs a block: the number becomes the high
    word of the counters. The key of number 0 draws what `key` does. Of other generators it is
    `jax.random.fold_in(key, number)`.

    Args:
        key: a typed key.
        number: below 2**32.

    Returns:
        A typed key, with Threefry of another dtype than `key`: of three words.

    Raises:
        ValueError: more than one key, or a number out of range.

    >>> import funcenv
    >>> root = funcenv.key(0)
    >>> bool(jax.random.bits(indexed_key(root, 0)) == jax.random.bits(root))
    True
    >>> bool(jax.random.bits(indexed_key(root, 1)) == jax.random.bits(root))
    False
    """
    if key.shape:
        raise ValueError(f"indexed_key takes a single key, got keys of shape {key.shape}; map it with jax.vmap")
    if isinstance(number, int) and not 0 <= number < 2**32:
        raise ValueError(f"number must be at least 0 and below 2**32, got {number}")
    if impl_name(key) not in ("threefry", "threefry2x32"):
        return jax.random.fold_in(key, number)
    first, second = jax.random.key_data(key)
    words = joined((first, second, jnp.asarray(number, jnp.uint32)), 0)
    return jax.random.wrap_key_data(words, impl=counted_impl())


@functools.cache
def _defined(name: str) -> Hashable:
    return _define(OURS[name], name, OURS[name].seed, num_words=2)


@functools.cache
def counted_impl() -> Hashable:
    """The generator of the keys of `indexed_key`: Threefry, with the high word of its counters in the key."""
    return _define(threefry, COUNTED, threefry.seed_with_counter, num_words=3)


def _define(module: ModuleType, name: str, seed: Any, num_words: int) -> Hashable:
    return jax.extend.random.define_prng_impl(
        key_shape=(num_words,),
        seed=seed,
        split=module.split,
        random_bits=module.random_bits,
        fold_in=module.fold_in,
        name=name,
        tag=name,  # what str() of a key's generator shows
    )

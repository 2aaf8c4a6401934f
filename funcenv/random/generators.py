"""The generators by name: ours, plugged into JAX by `jax.extend.random.define_prng_impl`, and JAX's own.

JAX knows its own generators by a string; a generator that is plugged in has no name in JAX's table, and is passed as
the object that describes it. So names are looked up here: `find_impl(name)` gives what JAX takes as `impl=`, and
`impl_name(key)` the name again, which is what configurations and checkpoints keep.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from types import ModuleType

import jax
import jax.extend.random

from funcenv.random import feistel2x32, threefry

DEFAULT = "threefry"
"""The generator that `key` picks."""

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


@functools.cache
def _defined(name: str) -> Hashable:
    module = OURS[name]
    return jax.extend.random.define_prng_impl(
        key_shape=(2,),
        seed=module.seed,
        split=module.split,
        random_bits=module.random_bits,
        fold_in=module.fold_in,
        name=name,
        tag=name,  # what str() of a key's generator shows
    )

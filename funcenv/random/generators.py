"""Random generators by name: funcenv's Threefry, which is plugged into JAX, and JAX's own.

JAX finds its own generators by a string. A generator defined with `jax.extend.random.define_prng_impl` is passed as an
object instead, so names are looked up here: `find_impl(name)` returns what JAX takes as `impl=`, and `impl_name(key)`
returns the name again, which configurations and checkpoints store.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, UInt

from funcenv._jax import config
from funcenv.random import threefry
from funcenv.random._counter_based import Style, stack_words

THREEFRY = "threefry"
"""The name of the default generator of `funcenv.key`."""

INDEXED_THREEFRY = "threefry with a counter"
"""The name of the generator that the keys of `indexed_key` belong to."""


def default_impl() -> Hashable:
    """Return the default generator of `funcenv.key`, as JAX takes it.

    It is "threefry" unless the user has changed `jax_default_prng_impl`.

    >>> with jax.default_prng_impl("rbg"):
    ...     default_impl()
    'rbg'
    """
    chosen: str = config.jax_default_prng_impl
    return find_impl(THREEFRY if chosen == "threefry2x32" else chosen)


def find_impl(name: str) -> Hashable:
    """Return what JAX takes as `impl=` for the generator of this name.

    Args:
        name: "threefry", or the name of one of JAX's own generators, which is returned unchanged.

    Raises:
        ValueError: Neither funcenv nor JAX knows the name.

    >>> jax.random.key(0, impl=find_impl("threefry")).shape
    ()
    """
    if not isinstance(name, str):
        raise TypeError(f'a generator is named by text, such as "{THREEFRY}", got {name!r}')
    if name in (THREEFRY, INDEXED_THREEFRY):
        return _define_threefry(name)
    try:
        words_in_key(name)
    except ValueError as error:
        raise ValueError(f'no generator is named {name!r}: funcenv has "{THREEFRY}"; JAX says: {error}') from None
    return name


def impl_name(key: jax.Array) -> str:
    """Return the name of a key's generator, which `find_impl` understands; `key` may be a batch of keys.

    >>> impl_name(jax.random.key(0, impl=find_impl("threefry"))), impl_name(jax.random.key(0, impl="threefry2x32"))
    ('threefry', 'threefry2x32')
    """
    return str(jax.random.key_impl(key))


def words_in_key(impl: Hashable) -> int:
    """Return the number of 32-bit words in a generator's key.

    >>> words_in_key("threefry2x32"), words_in_key(default_impl())
    (2, 2)
    """
    return int(jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=impl))).size)


def indexed_key(key: Key[Array, ""], index: int | UInt[Array, ""]) -> Key[Array, ""]:
    """Derive key number `index` from a key that serves no other purpose than to derive such keys.

    With Threefry this is free, because the index becomes the high word of the counters, whereas
    `jax.random.fold_in(key, index)` computes a block. Key number 0 draws what `key` draws. With other generators the
    result is `jax.random.fold_in(key, index)`.

    Args:
        key: a typed key.
        index: an integer from 0 to 2**32 - 1.

    Returns:
        A typed key. With Threefry it has three words, so its dtype differs from that of `key`.

    Raises:
        ValueError: `key` is an array of keys, or `index` is out of range.

    >>> import funcenv
    >>> root = funcenv.key(0)
    >>> bool(jax.random.bits(indexed_key(root, 0)) == jax.random.bits(root))
    True
    >>> bool(jax.random.bits(indexed_key(root, 1)) == jax.random.bits(root))
    False
    """
    if key.shape:
        raise ValueError(f"indexed_key takes a single key, got keys of shape {key.shape}; map it with jax.vmap")
    if isinstance(index, int) and not 0 <= index < 2**32:
        raise ValueError(f"index must be at least 0 and below 2**32, got {index}")
    if impl_name(key) not in (THREEFRY, "threefry2x32"):
        return jax.random.fold_in(key, index)
    words = (*jax.random.key_data(key), jnp.asarray(index, jnp.uint32))
    impl = _define_threefry(INDEXED_THREEFRY, _styles.get(jax.random.key_impl(key)))
    return jax.random.wrap_key_data(stack_words(words, 0), impl=impl)


def with_style(tree: Any, style: Style | None) -> Any:
    """Return a pytree whose Threefry keys draw the same numbers, computed in another style.

    Args:
        tree: any pytree. Leaves other than Threefry keys stay as they are.
        style: None for the style of `funcenv.sharding.target_platform`, which all keys have that a user sees.

    >>> key = jax.random.key(0, impl=find_impl("threefry"))
    >>> bool(jax.random.bits(with_style(key, Style.SINGLE_KERNEL)) == jax.random.bits(key))
    True
    """

    def restyle(leaf: Any) -> Any:
        if not jnp.issubdtype(jax.typeof(leaf).dtype, jax.dtypes.prng_key):
            return leaf
        name = impl_name(leaf)
        if name not in (THREEFRY, INDEXED_THREEFRY):
            return leaf
        return jax.random.wrap_key_data(jax.random.key_data(leaf), impl=_define_threefry(name, style))

    return jax.tree.map(restyle, tree)


_styles: dict[Hashable, Style] = {}
"""The style of each implementation that is not of the default style."""


@functools.cache
def _define_threefry(name: str, style: Style | None = None) -> Hashable:
    from jax.extend.random import define_prng_impl  # Its package takes longer to import than this one.

    num_words, seed = (3, threefry.seed_indexed) if name == INDEXED_THREEFRY else (2, threefry.seed)
    split, random_bits = threefry.split, threefry.random_bits
    if style is not None:  # Keys of the default style can be pickled, because all their functions are of a module.
        split, random_bits = (functools.partial(function, style=style) for function in (split, random_bits))
    impl: Hashable = define_prng_impl(
        key_shape=(num_words,),
        seed=seed,
        split=split,
        random_bits=random_bits,
        fold_in=threefry.fold_in,
        name=name,
        tag=name,  # str() of a key's generator shows it
    )
    if style is not None:
        _styles[impl] = style
    return impl

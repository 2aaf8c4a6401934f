"""Where keys come from: one function that makes the root of a random stream.

Environments draw with `jax.random` from whatever typed key they are given. `key` only chooses a good generator and
accepts a seed of any size. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) is
JAX's fastest counter-based generator with 64-bit keys on a CPU; `philox2x32` is faster still, but has 32-bit keys, of
which 65,536 drawn at random hold duplicates.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FAST_IMPL = "philox4x32"
"""The generator that `key` picks where this version of JAX has it."""


def key(seed: int, impl: str | None = None) -> jax.Array:
    """A typed key from a seed.

    Args:
        seed: any non-negative integer. Below 2**32 it gives the key that `jax.random.key(seed, impl=impl)` gives;
            larger seeds are hashed to a full-width key, so that no two seeds share a stream.
        impl: name of a JAX generator ("threefry2x32", "philox4x32", ...). By default the fastest one with 64-bit keys
            that this version of JAX has, or the one that `jax_default_prng_impl` names where that was changed.

    Returns:
        A scalar key array (`jax.dtypes.prng_key`).

    Raises:
        TypeError: the seed is not an integer.
        ValueError: the seed is negative, or JAX does not know `impl`.

    >>> key(0).shape
    ()
    >>> bool((jax.random.key_data(key(1)) == jax.random.key_data(key(1 + 2**32))).all())
    False
    >>> key(-1)
    Traceback (most recent call last):
        ...
    ValueError: a seed must be a non-negative integer, got -1
    """
    number, impl = require_seed(seed), impl or default_impl()
    if number < 2**32:
        return jax.random.key(np.uint32(number), impl=impl)
    words = np.random.SeedSequence(number).generate_state(words_in_key(impl))
    return jax.random.wrap_key_data(jnp.asarray(words), impl=impl)


def require_seed(seed: Any) -> int:
    """A non-negative integer of any kind and size, as an `int`.

    >>> require_seed(np.uint8(7))
    7
    >>> require_seed(0.5)
    Traceback (most recent call last):
        ...
    TypeError: a seed must be an integer, got 0.5 of type float
    """
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"a seed must be an integer, got {seed!r} of type {type(seed).__name__}") from None
    if number < 0:
        raise ValueError(f"a seed must be a non-negative integer, got {number}")
    return number


def words_in_key(impl: str) -> int:
    """How many 32-bit words a key of a generator has.

    >>> words_in_key("threefry2x32")
    2
    """
    return int(jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=impl))).size)


def default_impl() -> str:
    """Name of the generator that `key` uses when it is not told.

    >>> default_impl() in ("philox4x32", "threefry2x32")
    True
    """
    chosen: str = jax.config.jax_default_prng_impl  # type: ignore[attr-defined]  # JAX adds its options at run time
    return FAST_IMPL if chosen == "threefry2x32" and _has_fast_impl() else chosen


def require_typed_key(value: Any) -> None:
    """Refuse what `jax.random.PRNGKey` makes: a raw uint32 array could be any array.

    >>> require_typed_key(jax.numpy.zeros(2, "uint32"))
    Traceback (most recent call last):
        ...
    TypeError: a key must be a typed key, as funcenv.key(0) or jax.random.key(0) make them; got uint32[2]. Wrap a
        legacy key with jax.random.wrap_key_data
    """
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return
    shown = f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") and hasattr(value, "shape") else repr(value)
    raise TypeError(
        "a key must be a typed key, as funcenv.key(0) or jax.random.key(0) make them; "
        f"got {shown}. Wrap a legacy key with jax.random.wrap_key_data"
    )


@functools.cache
def _has_fast_impl() -> bool:
    try:
        jax.eval_shape(lambda: jax.random.key(0, impl=FAST_IMPL))
    except ValueError:  # a JAX before philox
        return False
    return True

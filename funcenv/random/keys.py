"""Typed keys from seeds, and checks of seeds and keys.

Environments draw with `jax.random` from any typed key. `key` chooses a fast generator and accepts seeds of any size.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checks import require_integer
from funcenv.random.generators import default_impl, find_impl, words_in_key
from funcenv.transfers import transferred


def key(seed: int, impl: str | None = None) -> jax.Array:
    """Create a typed key from a seed.

    Args:
        seed: a non-negative integer. A seed below 2**32 gives the key of `jax.random.key(seed, impl=...)`. Larger seeds
            are hashed to a full-width key, so different seeds have different streams.
        impl: the name of a generator: "threefry", which gives the bits of JAX's "threefry2x32" several times faster on
            a CPU, or one of JAX's own ("threefry2x32", "philox4x32", "rbg", ...). The default is "threefry", or what
            `jax_default_prng_impl` names if it has been changed.

    Returns:
        A scalar key array (`jax.dtypes.prng_key`).

    Raises:
        TypeError: The seed is not an integer.
        ValueError: The seed is negative, or no generator is named `impl`.

    >>> key(0).shape
    ()
    >>> jax.random.bits(key(7)) == jax.random.bits(jax.random.key(7, impl="threefry2x32"))
    Array(True, dtype=bool)
    >>> bool((jax.random.key_data(key(1)) == jax.random.key_data(key(1 + 2**32))).all())
    False
    >>> key(-1)
    Traceback (most recent call last):
        ...
    ValueError: a seed must be a non-negative integer, got -1
    """
    number, found = require_seed(seed), default_impl() if impl is None else find_impl(impl)
    if number < 2**32:
        with jax.transfer_guard_host_to_device("allow"):  # A seed lies on the host.
            return jax.random.key(np.uint32(number), impl=found)
    words = np.random.SeedSequence(number).generate_state(words_in_key(found))
    return jax.random.wrap_key_data(jnp.asarray(transferred(words)), impl=found)


def require_seed(seed: Any) -> int:
    """Return a non-negative integer of any type and size as an `int`.

    Raises:
        TypeError: `seed` is not an integer.
        ValueError: `seed` is negative.

    >>> require_seed(np.uint8(7))
    7
    """
    number = require_integer("a seed", seed)
    if number < 0:
        raise ValueError(f"a seed must be a non-negative integer, got {number}")
    return number


def is_key(value: Any) -> bool:
    """Return whether an array, or the shape of one, holds typed keys.

    >>> is_key(jax.random.key(0)), is_key(jax.numpy.zeros(2, "uint32")), is_key(3)
    (True, False, False)
    """
    dtype = getattr(value, "dtype", None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jax.dtypes.prng_key))


def require_typed_key(value: Any) -> None:
    """Raise `TypeError` unless `value` is a typed key. A legacy key of `jax.random.PRNGKey` is a plain uint32 array.

    >>> require_typed_key(jax.numpy.zeros(2, "uint32"))
    Traceback (most recent call last):
        ...
    TypeError: a key must be a typed key, as funcenv.key(0) or jax.random.key(0) make them; got uint32[2]. Wrap a
        legacy key with jax.random.wrap_key_data
    """
    if isinstance(value, jax.Array) and is_key(value):
        return
    is_array = isinstance(value, (jax.Array, np.ndarray, np.generic))
    shown = f"{value.dtype}{list(value.shape)}" if is_array else repr(value)
    is_seed = isinstance(value, int) and not isinstance(value, bool)
    remedy = "Wrap a legacy key with jax.random.wrap_key_data" if is_array else "Write funcenv.key(seed)"
    remedy = f"Write funcenv.key({value})" if is_seed else remedy
    raise TypeError(
        f"a key must be a typed key, as funcenv.key(0) or jax.random.key(0) make them; got {shown}. {remedy}"
    )

"""Random streams: keys from seeds, and the generators that `jax.random` uses with them."""

from funcenv.random.generators import default_impl, find_impl, impl_name, indexed_key, words_in_key
from funcenv.random.keys import key, require_seed, require_typed_key

__all__ = [
    "default_impl",
    "find_impl",
    "impl_name",
    "indexed_key",
    "key",
    "require_seed",
    "require_typed_key",
    "words_in_key",
]

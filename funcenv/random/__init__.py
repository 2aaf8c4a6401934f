"""Random streams: seeds, and generators that env code draws from through `jax.random`."""

from funcenv.random.generators import default_impl, find_impl, impl_name, indexed_key, words_in_key
from funcenv.random.keys import key, require_seed, require_typed_key

__all__ = [
    "default_impl",
    "find_impl",
    "impl_name",
    "key",
    "indexed_key",
    "require_seed",
    "require_typed_key",
    "words_in_key",
]

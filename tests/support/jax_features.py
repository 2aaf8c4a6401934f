"""Features that not every supported JAX has."""

import pickle

import jax


def has_generator(name):
    """Return whether JAX has a generator."""
    try:
        jax.random.key(0, impl=name)
    except ValueError:
        return False
    return True


def pickles_keys():
    """Return whether JAX pickles an array of keys."""
    try:
        pickle.dumps(jax.random.key(0))
    except TypeError:
        return False
    return True


OTHER_GENERATOR = "philox4x32" if has_generator("philox4x32") else "threefry2x32"
"""A generator of JAX's own, beside ours."""
PICKLES_KEYS = pickles_keys()
KERNELS_SCATTER = jax.__version_info__ < (0, 12)
"""True if XLA writes a scatter as a loop of a kernel: the emitter that does so has an option, which JAX 0.12 lacks."""
SHARDS_ARE_EXACT = jax.__version_info__ < (0, 12)
"""True if a rollout that is divided among threads equals the whole in every bit."""
assert jax.__version_info__ < (0, 10, 2) or (OTHER_GENERATOR == "philox4x32" and PICKLES_KEYS)

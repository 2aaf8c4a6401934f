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
"""Whether XLA can write a scatter as a loop of a kernel: as long as it has the option of the emitter that does."""
assert jax.__version_info__ < (0, 10, 2) or (OTHER_GENERATOR == "philox4x32" and PICKLES_KEYS)
